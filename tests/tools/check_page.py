#!/usr/bin/env python3
"""Looks at the page that belay check wrote of examples/missing_wait: check_page.py PAGE SOURCE."""
import html.parser
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


path, source = map(pathlib.Path, sys.argv[1:])
text = path.read_text()
page = Page()
page.feed(text)
page.close()
assert not page.open, page.open
assert "http" not in text and not any({"src", "href"} & set(attributes) for _, attributes in page.tags), "not alone"
tags = [tag for tag, _ in page.tags]
assert tags.count("article") == 1 and tags.count("svg") == 1 and tags.count("script") == 1
assert ("b", "RACE") in page.texts
lanes = [data for tag, data in page.texts if tag == "text"]
assert "stream 1" in lanes and "stream 2" in lanes and "nothing orders these" in lanes, lanes
missing, = [attributes for tag, attributes in page.tags if attributes.get("class") == "missing"]
assert missing["stroke-dasharray"]
marked = [data for tag, data in page.texts if tag == "mark"]
for call in ("aclrtMemsetAsync(", "aclrtMemcpyAsync("):
    number, line = next((i, line) for i, line in enumerate(source.read_text().splitlines(), 1) if call in line)
    assert any(data.startswith(str(number)) and data.endswith(line.strip()) for data in marked), marked
assert any(data.startswith("To mend it: record an event on stream 1") for _, data in page.texts)
assert any(data.endswith("missing_wait <&>") for tag, data in page.texts if tag == "code"), page.texts[:6]
