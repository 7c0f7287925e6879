#!/usr/bin/env python3
"""compare_output.py expected.txt got.txt: line by line, with placeholders in the expected text.

<number> stands for one number, <word> for anything without a blank, and a line <anything> for any
number of lines. Blanks at line ends and runs of blanks before a placeholder do not matter.
"""
import re
import sys

PLACEHOLDERS = {"number": r"[-+]?[0-9][0-9.,e+-]*", "word": r"\S+"}


def pattern_of(line):
    if line.strip() == "<anything>":
        return r"(?:.*\n)*?"
    parts = re.split(r"(\s*<(?:number|word)>)", line.rstrip())
    text = ""
    for part in parts:
        name = part.strip()[1:-1]
        if part.strip().startswith("<") and name in PLACEHOLDERS:
            text += (r"\s*" if part[0].isspace() else "") + PLACEHOLDERS[name]
        else:
            text += re.escape(part)
    return text + r"[ \t]*\n"


def matches(expected, got):
    pattern = "".join(pattern_of(line) for line in expected.splitlines())
    if not got.endswith("\n"):
        got += "\n"
    return re.fullmatch(pattern, got) is not None


def main():
    expected, got = (open(name, encoding="utf-8").read() for name in sys.argv[1:3])
    if matches(expected, got):
        return 0
    print(f"--- expected\n{expected}--- got\n{got}---")
    return 1


if __name__ == "__main__":
    sys.exit(main())
