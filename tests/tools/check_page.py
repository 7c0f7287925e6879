#!/usr/bin/env python3
"""Looks at the page that belay check wrote of examples/missing_wait: check_page.py PAGE SOURCE."""
import html.parser
import json
import pathlib
import sys

VOID = {"meta", "input"}


class Page(html.parser.HTMLParser):
    """What stands in which elements; every element ends where it should."""

    def __init__(self):
        super().__init__()
        self.open, self.texts, self.tags = [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        if data.strip():
            self.texts.append((self.open[-1] if self.open else "", data.strip()))


def check_history(text, line_of):
    """The timeline holds what the program did, in order, with the waits of the host and both accesses."""
    held = json.loads(text)
    group, = held["groups"]
    names = [(held["sites"][event["site"]]["name"], event["spot"].split(":")[0][0]) for event in group["events"]]
    assert names == [("memset", "s"), ("event record", "s"), ("memcpy", "s"), ("work is over", "t"),
                     ("work is over", "t"), ("memcpy", "t")], names
    assert [event["number"] for event in group["events"]] == list(range(6))
    fill, record, copy, *learned = group["events"]
    assert [event["after"] for event in learned] == [[record["spot"]], [copy["spot"]], []], learned
    assert len({event["thread"] for event in group["events"]}) == 1
    report, = group["reports"]
    assert [place["spot"] for place in report["places"]] == [fill["spot"], copy["spot"]], report
    for event, call in ((fill, "aclrtMemsetAsync"), (copy, "aclrtMemcpyAsync")):
        site = held["sites"][event["site"]]
        assert site["call"] == call and site["frames"][0].endswith(f"main.cc:{line_of(call)[0]} Run"), site


path, source = map(pathlib.Path, sys.argv[1:])
text = path.read_text()
page = Page()
page.feed(text)
page.close()
assert not page.open, page.open
places = {attributes.get("id") for _, attributes in page.tags}
links = [attributes["href"] for _, attributes in page.tags if "href" in attributes]
assert "://" not in text and "default-src 'none'" in text and not any("src" in attributes for _, attributes in page.tags), "not alone"
assert links == ["#kind-race"] and {link[1:] for link in links} <= places, links
assert ("b", "Meaning.") in page.texts and ("b", "Mend.") in page.texts and "**" not in text.replace("** (", ""), "explained"
tags = [tag for tag, _ in page.tags]
assert tags.count("article") == 1 and tags.count("svg") == 2 and tags.count("script") == 2  # history, and what draws it
assert ("b", "RACE") in page.texts
lanes = [data for tag, data in page.texts if tag == "text"]
assert "stream 1" in lanes and "stream 2" in lanes and "nothing orders these" in lanes, lanes
assert sum(attributes.get("class") == "missing" for _, attributes in page.tags) == 1
marked = [data for tag, data in page.texts if tag == "mark"]


def line_of(call):
    return next((i, line) for i, line in enumerate(source.read_text().splitlines(), 1) if call + "(" in line)


for call in ("aclrtMemsetAsync", "aclrtMemcpyAsync"):
    number, line = line_of(call)
    assert any(data.startswith(str(number)) and data.endswith(line.strip()) for data in marked), marked
assert any(data.startswith("To mend it: record an event on stream 1") for _, data in page.texts)
assert any(data.endswith("missing_wait <&>") for tag, data in page.texts if tag == "code"), page.texts[:6]
check_history(next(data for tag, data in page.texts if tag == "script"), line_of)
