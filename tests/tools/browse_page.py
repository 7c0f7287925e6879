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
const svg = document.querySelector('article svg'), view = document.getElementById('view');
const seen = selector => [...view.querySelectorAll(selector)];
const chosen = () => document.getElementById('chosen').textContent, found = () => document.getElementById('found').textContent;
const press = key => { view.dispatchEvent(new KeyboardEvent('keydown', { key })); return chosen(); };
const pointer = (type, clientX, clientY) => new PointerEvent(type, { clientX, clientY });
function inAll() {
  document.getElementById('all').click();
  return { boxes: seen('.box').map(box), words: seen('.word').map(box), accused: seen('.accused').length,
           missing: seen('.missing').length, edges: seen('.order')[0].getAttribute('d').split('M').length - 1,
           lanes: seen('.lane-name').map(lane => lane.textContent) };
}
// How wide a box is before and after the wheel and the button, and how far one goes that is dragged.
function zoomAndPan() {
  const { left, top } = view.getBoundingClientRect(), first = () => box(seen('.box')[0]);
  const width = () => first().right - first().left, widths = [width()];
  view.dispatchEvent(new WheelEvent('wheel', { deltaY: -200, clientX: left + 300, clientY: top + 40, cancelable: true }));
  widths.push(width());
  const from = first().left;
  view.dispatchEvent(pointer('pointerdown', left + 500, top + 50));
  dispatchEvent(pointer('pointermove', left + 450, top + 50));
  dispatchEvent(pointer('pointerup', left + 450, top + 50));
  const dragged = first().left - from;
  document.getElementById('farther').click();
  return { widths: [...widths, width()], dragged };
}
function choose() {
  const keys = [press('Home'), press('ArrowRight'), press('ArrowDown')];
  document.getElementById('all').click();
  const { left, top } = box(seen('.box')[1]);
  view.dispatchEvent(pointer('pointerdown', left + 5, top + 5));
  dispatchEvent(pointer('pointerup', left + 5, top + 5));
  return { keys, clicked: chosen() };
}
function findTasks() {
  shownFor('aclrtsynchronizestream');
  const at_first = [found(), seen('.found').length];
  document.getElementById('next').click();
  document.getElementById('next').click();
  const later = [...at_first, found(), chosen()];
  shownFor('');
  return later;
}
document.title = 'seen:' + JSON.stringify({
  wrong,
  all: shownFor(''), none: shownFor('memset nonsense'), some: shownFor('RACE memcpy'),
  page: [document.documentElement.scrollWidth, innerWidth],
  boxes: [...svg.querySelectorAll('rect')].map(box),
  words: [...svg.querySelectorAll('rect + text')].map(box),
  edge: box(svg.querySelector('.missing')),
  timeline: { all: inAll(), moved: zoomAndPan(), chosen: choose(), found: findTasks() },
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

# The timeline, of "missing_wait": fill and record on stream 1, the copy on stream 2, two waits and a copy of the host.
timeline = seen["timeline"]
every = timeline["all"]
assert every["lanes"] == ["main thread", "stream 1", "stream 2"], every["lanes"]
assert (len(every["boxes"]), len(every["words"]), every["accused"], every["missing"], every["edges"]) == (6, 12, 2, 1, 2), every
for i, words in enumerate(every["words"]):
    box = every["boxes"][i // 2]
    assert box["left"] < words["left"] and words["right"] < box["right"], "words that leave their box"
for box, later in zip(every["boxes"], every["boxes"][1:]):
    assert box["right"] < later["left"], "in the order of the calls"
plain, near, farther = timeline["moved"]["widths"]
assert near > 1.3 * plain and plain <= farther < near, timeline["moved"]
assert abs(timeline["moved"]["dragged"] + 50) < 1, timeline["moved"]
for words, name in zip(timeline["chosen"]["keys"], ("memset stream 1", "event record stream 1", "memcpy stream 2"), strict=True):
    assert words.startswith(name) and "main.cc:" in words, timeline["chosen"]
assert timeline["chosen"]["clicked"].startswith("event record stream 1"), timeline["chosen"]
*counts, words = timeline["found"]
assert counts == ["2 tasks found", 2, "2 of 2 tasks found"], counts
assert words.startswith("work is over main thread, by aclrtSynchronizeStream"), words
