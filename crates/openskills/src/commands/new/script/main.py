#!/usr/bin/env python3
"""Counts the words in a text.

Reads JSON from standard input, writes JSON to standard output.
"""

import json
import sys


def count_words(request):
    """Returns the number of words in the request's text."""
    return {"words": len(str(request.get("text", "")).split())}


def main():
    try:
        request = json.load(sys.stdin)
    except json.JSONDecodeError as error:
        sys.exit(f"the input is not valid JSON: {error}")
    if not isinstance(request, dict):
        sys.exit('the input must be a JSON object, such as {"text": "..."}')
    json.dump(count_words(request), sys.stdout)
    print()


if __name__ == "__main__":
    main()
