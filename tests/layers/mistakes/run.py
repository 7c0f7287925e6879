#!/usr/bin/env python3
"""The kept set of small wrong programs, each with its mended twin: belay check tells the first with the right lines,
and says nothing of the second.

    run.py [--cores all|one] [--times N] BELAY PROGRAM [NAME...]
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HANG = 7
# Found only where the system lets plain loads and stores be seen: a file of C++, names of Python.
HOST_ACCESSES = {"host_accesses.cc", "a_result_is_read_too_early", "a_file_is_read_into_an_upload"}

# What is told only where it is asked for. Not in all runs: the programs wait once more than they need, at their ends.
OPTIONS_OF = {"nothing-awaited": ["--notes"], "first-nan": ["--nan"]}


def marks_of(path, line):
    """The lines of a mistake, from its head to its end, and those of each mark."""
    marks = {}
    for number, text in enumerate(pathlib.Path(path).read_text().splitlines()[line - 1:], line):
        if number > line and re.match(r"\}|@mistake", text):
            break
        if found := re.search(r"(//|#) \[(\d)\]$", text.rstrip()):
            marks.setdefault(int(found[2]), set()).add(number)
    return range(line, number), [marks[i] for i in sorted(marks)]


def line_in(place, mistake):
    """The first line of the mistake itself in the stack: not that of what it calls."""
    return next((frame["line"] for frame in place["frames"] if frame.get("line") in mistake["lines"]
                 and os.path.basename(frame["file"]) == os.path.basename(mistake["file"])), None)


def what_is_wrong(mistake, twin, code, reports):
    if twin == "mended":
        return f"ended with {code}" if code else f"is told of: {reports}" if reports else None
    if code != (HANG if mistake["kind"] == "hang" else 0):
        return f"ended with {code}"
    kinds = mistake["kind"].split()  # what the marks are of comes first
    if sorted(report["kind"] for report in reports) != sorted(kinds):
        return f"is told of as {[(r['kind'], r['message']) for r in reports]}"
    report = next(report for report in reports if report["kind"] == kinds[0])
    lines = [line_in(place, mistake) for place in report["places"]]
    for wanted, line in zip(mistake["marks"], lines + [None] * len(mistake["marks"])):
        if line not in wanted:
            return f"has its places at {lines}, not at {mistake['marks']}"
    return None


def run(belay, program, mistakes, names, one_core, options):
    with tempfile.TemporaryDirectory() as folder:
        found = pathlib.Path(folder, "found.json")
        cores = {min(os.sched_getaffinity(0))} if one_core else os.sched_getaffinity(0)
        done = subprocess.run(
            [belay, "check", *options, "--leaks", "--undefined", "--hang-after", "0.1",
             "--error-exitcode", str(HANG), "--devices", "2", "--json",
             found, "--", *program, "run", *names], text=True, capture_output=True, timeout=280,
            preexec_fn=lambda: os.sched_setaffinity(0, cores))
        reports = json.loads(found.read_text())["reports"] if found.exists() else []
    failed, seen = 0, set()
    for line in done.stdout.splitlines():
        process, name, twin, code = line.split("\t")
        seen.add((name, twin))
        mine = [report for report in reports if report["process"] == int(process)]
        if wrong := what_is_wrong(mistakes[name], twin, int(code), mine):
            failed += 1
            print(f"{name}, {twin}: {wrong}")
    missing = {(name, twin) for name in names for twin in ("wrong", "mended")} - seen
    # What is only noted is not what --error-exitcode is for.
    wanted = HANG if any(report["level"] == "error" for report in reports) else 0
    if done.returncode != wanted:
        failed += 1
        print(f"belay check ended with {done.returncode}, not with {wanted}")
    if failed or missing:
        print(f"missing: {sorted(missing)}")
        print("\n".join(line for line in done.stderr.splitlines() if " gave " in line or " succeeds " in line))
    return not failed and not missing


def sees_what_threads_do():
    """Whether the system says what threads wait for: without, most hangs are not certain."""
    try:
        return bool(pathlib.Path("/proc/self/syscall").read_text())
    except OSError:
        return False


def why_host_is_not_seen(belay, program, name):
    """Why plain loads and stores are not seen here; None: they are."""
    told = subprocess.run([belay, "check", "--host-accesses", "--", *program, "run", name], text=True,
                          capture_output=True, timeout=100).stderr
    found = re.search(r"loads and stores of the host are not seen: (.*)", told)
    return found and found[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cores", choices=["all", "one"], default="all")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("belay")
    parser.add_argument("program")
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    program = [sys.executable, asked.program] if asked.program.endswith(".py") else [asked.program]
    listed = subprocess.run([asked.belay, "run", "--", *program, "list"], text=True, capture_output=True, check=True)
    mistakes = {}
    for line in listed.stdout.splitlines():
        name, kind, file, number = line.split("\t")
        lines, marks = marks_of(file, int(number))
        assert marks, f"{name} has no marks"
        assert name not in mistakes, f"there are two of {name}"
        mistakes[name] = {"kind": kind, "file": file, "lines": lines, "marks": marks}
    names = asked.names
    if not sees_what_threads_do():
        names = [name for name in names or mistakes if mistakes[name]["kind"] != "hang"]
        print("without hangs: /proc/self/syscall cannot be read")
    of_host = [name for name in names or mistakes
               if HOST_ACCESSES & {name, os.path.basename(mistakes[name]["file"])}]
    if of_host and (why := why_host_is_not_seen(asked.belay, program, of_host[0])):
        by_call = [name for name in names or mistakes if name not in of_host]
        print(f"without {len(names or mistakes) - len(by_call)} of plain loads and stores: {why}")
        names = by_call
    groups = {}
    for name in names or mistakes:
        groups.setdefault(tuple(OPTIONS_OF.get(mistakes[name]["kind"], [])), []).append(name)
    good = all([run(asked.belay, program, mistakes, group, asked.cores == "one", options)
                for options, group in groups.items() for _ in range(asked.times)])
    print(f"{len(names or mistakes)} mistakes with their twins: {'as they should be' if good else 'FAILED'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
