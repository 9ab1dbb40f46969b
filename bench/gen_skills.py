#!/usr/bin/env python3
"""gen_skills.py N ROOT [BODY_BYTES]: generate N skill folders under ROOT, deterministically."""
import os
import random
import sys

WORDS = (
    "extract parse convert table report invoice deploy kubernetes review security image audio "
    "transcript ledger policy schema metrics query index render"
).split()


def words(rng, count):
    return " ".join(rng.choice(WORDS) for _ in range(count))


def main(count, root, body_bytes=4096):
    rng = random.Random(7)
    for number in range(count):
        name = f"skill-{number:05d}"
        folder = os.path.join(root, name)
        os.makedirs(folder, exist_ok=True)
        body = f"# Skill {number}\n\n"
        while len(body) < body_bytes:
            body += words(rng, 14) + ".\n"
        with open(os.path.join(folder, "SKILL.md"), "w") as file:
            file.write(
                f"---\nname: {name}\ndescription: {words(rng, 28)}. Use when asked.\nlicense: MIT\n"
                f"allowed-tools: Read, Grep, Bash\nmetadata:\n  author: gen\n---\n\n{body}"
            )
        if number % 10 == 0:
            os.makedirs(os.path.join(folder, "scripts"), exist_ok=True)
            with open(os.path.join(folder, "scripts", "run.py"), "w") as file:
                file.write("print('{}')\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:4]))
