#!/usr/bin/env python3
"""Opens the page that belay check wrote of one race in headless Chromium: browse_page.py CHROMIUM PAGE."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

BEFORE = """<script>
const wrong = [];
addEventListener('error', event => wrong.push(event.message));
console.error = console.warn = text => wrong.push(text);
</script>"""
AFTER = """<script>
function shownFor(words) {
  const field = document.getElementById('find');
  field.value = words;
  field.dispatchEvent(new Event('input'));
  const visible = [...document.querySelectorAll('article')].filter(article => article.offsetHeight > 0).length;
  return [visible, +document.getElementById('shown').textContent];
}
const box = element => { const { left, right, top, bottom } = element.getBoundingClientRect(); return { left, right, top, bottom }; };
const svg = document.querySelector('svg');
document.title = 'seen:' + JSON.stringify({
  wrong,
  all: shownFor(''), none: shownFor('memset nonsense'), some: shownFor('RACE memcpy'),
  page: [document.documentElement.scrollWidth, innerWidth],
  boxes: [...svg.querySelectorAll('rect')].map(box),
  words: [...svg.querySelectorAll('rect + text')].map(box),
  edge: box(svg.querySelector('.missing')),
}).replaceAll('<', '');
</script>"""

chromium, page = sys.argv[1], pathlib.Path(sys.argv[2]).read_text()
with tempfile.TemporaryDirectory() as folder:
    copy = pathlib.Path(folder, "page.html")
    copy.write_text(page.replace("<head>", "<head>" + BEFORE).replace("</body>", AFTER + "</body>"))
    done = subprocess.run([chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile",
                           "--window-size=1200,1000", "--dump-dom", copy.as_uri()],
                          capture_output=True, text=True, timeout=120)
found = re.search("<title>seen:(.*?)</title>", done.stdout)
assert found, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
seen = json.loads(found[1])
assert not seen["wrong"], seen["wrong"]
assert (seen["all"], seen["none"], seen["some"]) == ([1, 1], [0, 0], [1, 1]), seen
assert seen["page"][0] <= seen["page"][1], "wider than the window"
first, second = seen["boxes"]
assert first["bottom"] < second["top"] and first["left"] < second["left"], "two lanes"
for box, words in zip(seen["boxes"], seen["words"]):
    assert box["left"] < words["left"] and words["right"] < box["right"], "words that leave their box"
edge = seen["edge"]
assert abs(edge["top"] - first["bottom"]) < 2 and abs(edge["bottom"] - second["top"]) < 8, "an edge between the boxes"
