#!/usr/bin/env python3
"""Records the verdict of the reference library on every case of the corpus.

    python3 -m venv /tmp/ref && /tmp/ref/bin/pip install skills-ref==0.1.1
    /tmp/ref/bin/python scripts/reference_verdicts.py

Reads crates/skill/tests/corpus/cases.toml and writes reference.json next to it. The tests compare our strict verdicts
with it; they do not need Python.
"""
import json
import tempfile
import tomllib
from pathlib import Path

from skills_ref import validate

CORPUS = Path(__file__).resolve().parent.parent / "crates/skill/tests/corpus"


def content(case):
    if "hex" in case:
        return bytes.fromhex(case["hex"])
    text = case["text"].replace("{x}", "x" * case.get("repeat", 0))
    text = text.replace("{lines}", "line\n" * case.get("lines", 0))
    return text.encode("utf-8")


def verdict(case):
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / case.get("dir", "pdf")
        name = case.get("file", "SKILL.md")
        kind = case.get("kind", "skill")
        if kind == "plain-file":
            folder.write_bytes(content(case))
        elif kind != "no-folder":
            folder.mkdir()
            if kind == "directory":
                (folder / name).mkdir()
            elif name:
                (folder / name).write_bytes(content(case))
        try:
            errors = validate(folder)
        except Exception as crash:  # The library crashes on some input; record that as a verdict.
            return {"verdict": "crash", "says": [type(crash).__name__]}
    says = [error.replace(scratch, "").split("\n")[0] for error in errors]
    return {"verdict": "invalid" if errors else "valid", "says": says}


cases = tomllib.loads((CORPUS / "cases.toml").read_text("utf-8"))
answers = {name: verdict(case) for name, case in sorted(cases.items())}
text = json.dumps(answers, indent=2, ensure_ascii=False) + "\n"
(CORPUS / "reference.json").write_text(text, "utf-8")
print(f"{len(answers)} cases: " + ", ".join(
    f"{sum(a['verdict'] == v for a in answers.values())} {v}" for v in ("valid", "invalid", "crash")))
