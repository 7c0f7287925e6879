#!/usr/bin/env python3
"""tour.py README.md: runs the ```console blocks and compares the output.

A line that starts with "$ " is a command; what follows is its output, with the placeholders of
compare_output.py. All commands run in one shell, so variables and functions last.
"""
import re
import subprocess
import sys

from compare_output import matches

END = "-- end of a command of the tour --"


def commands(text):
    """Yields [command, expected output]."""
    for block in re.findall(r"^```console\n(.*?)^```", text, re.M | re.S):
        found = []
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append([line[2:], ""])
            else:
                found[-1][1] += line + "\n"
        yield from found


def main():
    shell = subprocess.Popen(["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, encoding="utf-8")
    for command, expected in commands(open(sys.argv[1], encoding="utf-8").read()):
        shell.stdin.write(f"{command}\nstatus=$?; printf '\\n%s %s\\n' '{END}' $status\n")
        shell.stdin.flush()
        got = ""
        for line in shell.stdout:
            if line.startswith(END):
                break
            got += line
        status = int(line.split()[-1])
        if status != 0 or not (matches(expected, got[:-1]) if expected else not got.strip()):
            print(f"$ {command}\n--- expected\n{expected}--- got (exit code {status})\n{got}---")
            return 1
    shell.stdin.close()
    return shell.wait()


if __name__ == "__main__":
    sys.exit(main())
