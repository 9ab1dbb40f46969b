#!/usr/bin/env python3
"""Counts the words of a text.

Reads JSON from standard input, writes JSON to standard output.
"""

import json
import sys


def answer(question):
    """Returns the answer to a question."""
    return {"words": len(str(question.get("text", "")).split())}


def main():
    try:
        question = json.load(sys.stdin)
    except json.JSONDecodeError as error:
        sys.exit(f"the input is not JSON: {error}")
    if not isinstance(question, dict):
        sys.exit('the input must be an object, such as {"text": "..."}')
    json.dump(answer(question), sys.stdout)
    print()


if __name__ == "__main__":
    main()
