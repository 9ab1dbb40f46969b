#!/usr/bin/env python3
"""gen_csk.py BASE [SKILLS] [PROJECTS] [FILES]: generate skill repositories and projects for measuring csk.

Half of the skills have a manifest and a script tree, a fifth have locales, the others only have plain files.
"""
import json
import os
import random
import shutil
import subprocess
import sys

AGENTS = ["claude_code", "codex_cli"]


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def main(base, skills=50, projects=20, files=20):
    shutil.rmtree(base, ignore_errors=True)
    gitconfig = os.path.join(base, "gitconfig")
    write(gitconfig, "[user]\n\tname=t\n\temail=t@t\n[init]\n\tdefaultBranch=main\n")
    env = dict(os.environ, GIT_CONFIG_GLOBAL=gitconfig, GIT_AUTHOR_DATE="2026-01-01T00:00:00Z",
               GIT_COMMITTER_DATE="2026-01-01T00:00:00Z")
    rng = random.Random(1)

    def git(folder, *arguments):
        subprocess.run(["git", "-C", folder, *arguments], check=True, env=env, stdout=subprocess.DEVNULL)

    def text(lines):
        return "".join(f"{rng.getrandbits(256):x}\n" for _ in range(lines))

    def commit(folder):
        git(folder, "init", "-q")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "i")

    names = [f"skill-{number:03d}" for number in range(skills)]
    for number, name in enumerate(names):
        folder = os.path.join(base, "skills", name)
        write(f"{folder}/SKILL.md", f"---\nname: {name}\ndescription: skill {number}\n---\n{text(60)}")
        left = files - 2
        if number % 2 == 0:
            command = f"cmd-{number:03d}"
            manifest = {"schema_version": 2, "runtime_roots": ["scripts"],
                        "commands": {command: {"type": "script", "unix_path": f"scripts/{command}"}}}
            write(f"{folder}/csk-skill.json", json.dumps(manifest, indent=1))
            write(f"{folder}/scripts/{command}", f"#!/bin/sh\necho {name}\n")
            for module in range(4):
                write(f"{folder}/scripts/lib/m{module}.py", text(40))
            left -= 6
        if number % 5 == 0:
            locales = {"locales": {"ru": {"description": f"описание {number}"}, "en": {"description": "d"}}}
            write(f"{folder}/locales/metadata.json", json.dumps(locales))
            write(f"{folder}/.skill_triggers/ru.md", "- триггер\n")
            write(f"{folder}/.skill_triggers/en.md", "- trigger\n")
            left -= 3
        write(f"{folder}/README.md", "readme\n")
        for item in range(max(left, 0)):
            place = ("references", "assets", "examples", "templates")[item % 4]
            write(f"{folder}/{place}/f{item:02d}.md", text(60))
        commit(folder)
        git(folder, "tag", "v1.0.0")

    config = {"schema_version": 1, "skills_root": f"{base}/skills", "preferred_locale": "ru",
              "default_agents": AGENTS, "adapter_mode": "auto", "projects": {}}
    for number in range(projects):
        name = f"proj-{number:02d}"
        folder = os.path.join(base, "proj", name)
        skillfile = {"schema_version": 1, "project": {"alias": name}, "agents": AGENTS,
                     "skills": [{"name": skill, "tag": "v1.0.0"} for skill in names]}
        write(f"{folder}/Skillfile.json", json.dumps(skillfile, indent=2) + "\n")
        write(f"{folder}/.gitignore", "# CocoaSkill\n.agents/\n.claude/skills/\n.codex/skills/\n")
        commit(folder)
        config["projects"][name] = {"path": folder, "agents": AGENTS, "project_alias": name, "checkout_alias": name}
    write(f"{base}/home/.cocoaskills/config.json", json.dumps(config, indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:5]))
