#!/usr/bin/env python3
"""Looks at the timeline in the page that belay check wrote of a long program (belay_check.sh): check_timeline.py PAGE."""
import json
import pathlib
import re
import sys

BEFORE, BEHIND = 2048, 256  # what is kept around a report (src/layers/race/window.h)

held = json.loads(re.search('id="history">(.*?)</script>', pathlib.Path(sys.argv[1]).read_text())[1])
calls, graph = sorted(held["groups"], key=lambda group: "captured" in group["name"])
events = {event["spot"]: event for event in calls["events"]}
name = {spot: held["sites"][event["site"]]["name"] for spot, event in events.items()}
numbers = [event["number"] for event in calls["events"]]
assert numbers == sorted(set(numbers)), "each once, in order"
far, near, free = calls["reports"]
assert (far["kind"], near["kind"], free["kind"]) == ("race", "race", "free-while-used")

# Of the first race the earlier access is long gone; what is kept around the later one is bounded, and begins before it.
first, second = (place["spot"] for place in far["places"])
assert first not in events and name[second] == "memset", far
at = events[second]["number"]
assert numbers[0] == at - BEFORE + 1 and set(range(numbers[0], at + BEHIND + 1)) <= set(numbers), (numbers[0], at)
assert max(numbers) > at + BEHIND + 1000 and at + BEHIND + 1 not in numbers, "nothing is left out"

# The second is whole, with the wait that came before it.
first, second = (place["spot"] for place in near["places"])
assert name[first] == name[second] == "memset"
wait = calls["events"][numbers.index(events[second]["number"]) - 1]
assert name[wait["spot"]] == "event wait", wait
source, = wait["after"]
assert name[source] == "event record" and source.split(":")[0] not in (first.split(":")[0], second.split(":")[0])

# The host frees what a stream writes.
freed, used = (place["spot"] for place in free["places"])
assert freed.startswith("t") and name[freed] == "aclrtFree" and name[used] == "memset", free

# Nodes of the graph: the third needs the others, which nothing orders.
assert len(graph["events"]) == 3 and len(graph["reports"]) == 1, graph
nodes = [event["spot"] for event in graph["events"]]
assert [event["after"] for event in graph["events"]] == [[], [], nodes[:2]], graph["events"]
assert {place["spot"] for place in graph["reports"][0]["places"]} < set(nodes)
