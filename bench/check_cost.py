#!/usr/bin/env python3
"""What belay check costs the submitting thread, beside belay run: both in turns, of each row the least.

    check_cost.py [--turns N] BELAY PROGRAM
"""
import argparse
import subprocess


def measure(belay, command, program):
    out = subprocess.run([belay, command, "--", program], check=True, text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL).stdout
    return {name: float(ns) for name, ns in (line.split("\t") for line in out.splitlines())}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("belay")
    parser.add_argument("program")
    asked = parser.parse_args()
    least = {"run": {}, "check": {}}
    for _ in range(asked.turns):
        for command, rows in least.items():
            for name, ns in measure(asked.belay, command, asked.program).items():
                rows[name] = min(ns, rows.get(name, ns))
    for name, run in least["run"].items():
        check = least["check"][name]
        print(f"{name:30} {run:10.1f} {check:10.1f} {check / run:6.2f}")


if __name__ == "__main__":
    main()
