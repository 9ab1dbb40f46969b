"""The crates that the two programs consist of, according to cargo. Used by `sbom` and `notices`."""

import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAMS = ["csk", "openskills"]
# The first argument of both scripts.
TARGET = sys.argv[1] if len(sys.argv) > 1 else "x86_64-unknown-linux-gnu"


def cargo(*arguments):
    return subprocess.run(
        ["cargo", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE, encoding="utf-8"
    ).stdout


def tree(edges):
    """Returns name and version of every crate that the programs reach over these kinds of edges.

    `cargo metadata` alone would name too many: it switches on what any crate of the workspace asks for, tests included.
    """
    selection = [word for name in PROGRAMS for word in ("-p", name)]
    text = cargo(
        "tree", "--locked", *selection, "--edges", edges, "--target", TARGET, "--prefix", "none", "--format", "{p}"
    )
    # A line is `name v1.2.3`, or `name v1.2.3 (where)`.
    words = (line.split() for line in text.splitlines() if line.strip())
    return {(word[0], word[1][1:]) for word in words}


def packages():
    """Returns the crates that are needed to build the programs, sorted.

    Each is a pair: what `cargo metadata` says of the crate, and the ids of the crates it depends on.
    """
    metadata = json.loads(cargo("metadata", "--locked", "--format-version", "1", "--filter-platform", TARGET))
    needed = tree("normal,build")
    found = {p["id"]: p for p in metadata["packages"] if (p["name"], p["version"]) in needed}
    depends = {}
    for node in metadata["resolve"]["nodes"]:
        depends[node["id"]] = sorted(
            dep["pkg"]
            for dep in node["deps"]
            if dep["pkg"] in found and any(kind["kind"] != "dev" for kind in dep["dep_kinds"])
        )
    ordered = sorted(found.values(), key=lambda p: (p["name"], p["version"], p["id"]))
    return [(package, depends[package["id"]]) for package in ordered]
