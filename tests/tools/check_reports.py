#!/usr/bin/env python3
"""Looks at what belay check wrote of examples/missing_wait: the JSON, and the SARIF as code scanning reads it."""
import json
import pathlib
import sys
import urllib.parse

json_file, sarif_file, source = sys.argv[1:]
pages = pathlib.Path(__file__).parents[2] / "docs/check.md"  # each kind has a section there
lines = pathlib.Path(source).read_text().splitlines()
line_of = {name: 1 + next(i for i, line in enumerate(lines) if name + "(" in line)
           for name in ("aclrtMemsetAsync", "aclrtMemcpyAsync")}

report, = json.loads(pathlib.Path(json_file).read_text())["reports"]
assert report["kind"] == "race" and report["mend"] and report["process"] > 0, report
assert report["page"] == "docs/check.md#race", report
*accesses, allocated = report["places"]
assert allocated["role"] == "allocated by aclrtMalloc" and allocated["frames"][0]["file"].endswith(source), allocated
for place, role, call in zip(accesses, ("writes", "reads"), line_of, strict=True):
    assert place["role"].startswith(role) and place["role"].endswith(call), place
    frame = place["frames"][0]
    assert frame["function"] == "Run" and frame["file"].endswith(source) and frame["line"] == line_of[call], frame


def check_texts(value, path="sarif"):
    """No text is empty."""
    if isinstance(value, dict):
        for name, member in value.items():
            check_texts(member, f"{path}.{name}")
    elif isinstance(value, list):
        for i, member in enumerate(value):
            check_texts(member, f"{path}[{i}]")
    else:
        assert value != "", path


def check_place(location, call):
    place = location["physicalLocation"]
    assert urllib.parse.unquote(place["artifactLocation"]["uri"]) == source, place
    assert " " not in place["artifactLocation"]["uri"]
    region = place["region"]
    assert region["startLine"] == region["endLine"] == line_of[call], place
    assert 0 < region["startColumn"] < region["endColumn"], place


sarif = json.loads(pathlib.Path(sarif_file).read_text())
check_texts(sarif)
assert sarif["version"] == "2.1.0" and sarif["$schema"].endswith("sarif-2.1.0.json")
run, = sarif["runs"]
rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
assert run["tool"]["driver"]["name"] and len(rules) > 5
for rule in rules.values():
    for text in ("shortDescription", "fullDescription", "help"):
        assert 0 < len(rule[text]["text"]) <= 1024, rule
for name, rule in rules.items():
    assert f"docs/check.md#{name} " in rule["help"]["text"] and f"belay explain {name}" in rule["help"]["text"], rule
    for part in ("**Meaning.** ", "\n```\n", "**Mend.** "):
        assert part in rule["help"]["markdown"] and "\n## " not in rule["help"]["markdown"], (name, part)
headings = {line[3:].strip().lower().replace(" ", "-") for line in pages.read_text().splitlines() if line[:3] == "## "}
assert set(rules) <= headings, set(rules) - headings
result, = run["results"]
assert result["ruleId"] in rules and result["level"] == "error" and result["message"]["text"]
assert result["partialFingerprints"]["primaryLocationLineHash"]
location, = result["locations"]
check_place(location, "aclrtMemsetAsync")
related, allocated = result["relatedLocations"]
check_place(related, "aclrtMemcpyAsync")
flow, = result["codeFlows"][0]["threadFlows"]
assert [step["location"] for step in flow["locations"]] == [location, related, allocated]
