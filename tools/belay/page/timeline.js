// The picture of a group: its lanes from top to bottom, its columns from left to right. Only what is in view is
// drawn; from afar events are bars, nearer boxes, and then boxes with words.

const LANE = 52, BOX = 34, TOP = 26, GUTTER = 116;
const LETTER = 7.9, WIDEST = 220;            // pixels of a letter, and at most of a column
const BOXES_FROM = 14, WORDS_FROM = 44;      // pixels of a column

class Timeline {
  constructor(svg, { onChoose, onReport }) {
    Object.assign(this, { svg, onChoose, onReport, group: null, from: 0, scale: 1, chosen: null, found: new Set() });
    svg.addEventListener('wheel', event => this.wheel(event), { passive: false });
    svg.addEventListener('keydown', event => this.key(event));
    svg.addEventListener('pointerdown', event => this.drag(event));
    this.measure();
    new ResizeObserver(() => { this.measure(); if (this.group) this.move(this.from, this.scale); }).observe(svg);
  }

  // --- where things are

  // Once, since the browser would lay the page out anew for each question.
  measure() { this.width = Math.max(this.svg.clientWidth - GUTTER, 50); }
  get least() { return Math.min(this.width / this.group.columns, WIDEST); }
  x(column) { return GUTTER + (column - this.from) * this.scale; }
  get height() { return TOP + this.group.rows.length * LANE; }
  y(lane) { return this.yOfRow(this.group.rowOf.get(lane)); }
  yOfRow(row) { return TOP + row * LANE + LANE / 2; }
  middle(event) { return [this.x(event.column + 0.5), this.y(event.lane)]; }
  inView(a, b) { return Math.max(a, b) + 1 >= this.from && Math.min(a, b) <= this.from + this.width / this.scale; }

  // --- what is in view

  show(group) {
    this.group = group;
    this.chosen = null;
    this.svg.setAttribute('height', this.height);
    this.all();
  }
  move(from, scale) {
    this.scale = Math.min(Math.max(scale, this.least), WIDEST);
    this.from = Math.max(0, Math.min(from, this.group.columns - this.width / this.scale));
    this.draw();
  }
  all() { this.move(0, 0); }
  pan(pixels) { this.move(this.from + pixels / this.scale, this.scale); }
  // What is under the pixel stays there.
  zoom(factor, pixel = GUTTER + this.width / 2) {
    const column = this.from + (pixel - GUTTER) / this.scale;
    const scale = Math.min(Math.max(this.scale * factor, this.least), WIDEST);
    this.move(column - (pixel - GUTTER) / scale, scale);
  }
  bring(events, widest = 150) {
    const columns = events.map(event => event.column);
    const low = Math.min(...columns), high = Math.max(...columns), margin = Math.max(2, (high - low) / 6);
    const scale = Math.min(this.width / (high - low + 1 + 2 * margin), widest);
    this.move((low + high + 1) / 2 - this.width / Math.max(scale, this.least) / 2, scale);
  }
  choose(event) {
    this.chosen = event;
    if (event && !(this.x(event.column) >= GUTTER && this.x(event.column + 1) <= GUTTER + this.width)) {
      this.move(event.column + 0.5 - this.width / this.scale / 2, this.scale);
    }
    this.draw();
    this.onChoose(event);
  }

  // --- by hand

  wheel(event) {
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return this.pan(event.deltaX || event.deltaY);
    this.zoom(2 ** (-event.deltaY / 300), event.clientX - this.svg.getBoundingClientRect().left);
  }
  drag(down) {
    const from = this.from;
    let moved = false;
    const move = event => {
      moved ||= Math.abs(event.clientX - down.clientX) > 3;
      if (moved) this.move(from - (event.clientX - down.clientX) / this.scale, this.scale);
    };
    const up = event => {
      removeEventListener('pointermove', move);
      removeEventListener('pointerup', up);
      removeEventListener('pointercancel', up);
      if (!moved && event.type === 'pointerup') this.click(event);
    };
    addEventListener('pointermove', move);
    addEventListener('pointerup', up);
    addEventListener('pointercancel', up);
  }
  click({ clientX, clientY }) {
    const { left, top } = this.svg.getBoundingClientRect();
    const row = this.group.rows[Math.floor((clientY - top - TOP) / LANE)];
    const column = this.from + (clientX - left - GUTTER) / this.scale;
    const reach = Math.max(1, 6 / this.scale);
    const near = (row?.events ?? []).filter(e => Math.abs(e.column + 0.5 - column) <= reach)
      .sort((a, b) => Math.abs(a.column + 0.5 - column) - Math.abs(b.column + 0.5 - column));
    this.choose(near[0] ?? null);
  }
  key(event) {
    const act = {
      '+': () => this.zoom(1.5), '=': () => this.zoom(1.5), '-': () => this.zoom(1 / 1.5), 0: () => this.all(),
      ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1),
      ArrowUp: () => this.cross(-1), ArrowDown: () => this.cross(1),
      PageUp: () => this.pan(-this.width * 0.8), PageDown: () => this.pan(this.width * 0.8),
      Home: () => this.choose(this.group.events[0]), End: () => this.choose(this.group.events.at(-1)),
      Escape: () => this.choose(null),
    }[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  }
  // To the event before or after, of any lane.
  step(by) {
    const { events } = this.group;
    const at = this.chosen ? events.indexOf(this.chosen) + by : events.findIndex(e => e.column >= this.from);
    this.choose(events[Math.min(Math.max(at, 0), events.length - 1)]);
  }
  // To the nearest event of the next row that has any.
  cross(by) {
    if (!this.chosen) return this.step(0);
    const distance = event => Math.abs(event.column - this.chosen.column);
    const { rows, rowOf } = this.group;
    for (let at = rowOf.get(this.chosen.lane) + by; rows[at]; at += by) {
      const { events } = rows[at];
      if (events.length > 0) return this.choose(events.reduce((a, b) => (distance(b) < distance(a) ? b : a)));
    }
  }

  // --- the picture

  add(tag, attributes, text = '') {
    const element = document.createElementNS(this.svg.namespaceURI, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.textContent = text;
    this.svg.append(element);
    return element;
  }
  draw() {
    this.svg.replaceChildren();
    this.drawLanes();
    const near = this.scale >= BOXES_FROM;
    const { events } = this.group;
    const visible = events.slice(firstFrom(events, this.from - 1), firstFrom(events, this.from + this.width / this.scale));
    if (near) visible.forEach(event => this.drawBox(event)); else this.drawBars(visible);
    this.drawTicks(visible);
    this.drawEdges(near);
    this.drawReports(near);
    if (!near) this.drawSpecks(visible);
    this.drawGutter();
  }
  drawLanes() {
    this.group.rows.forEach((row, i) => this.add('line',
      { class: 'lane', x1: GUTTER, x2: GUTTER + this.width, y1: this.yOfRow(i), y2: this.yOfRow(i) }));
    for (const { column, missed } of this.group.gaps) {
      if (!this.inView(column, column)) continue;
      const x = this.x(column + 0.5);
      this.add('line', { class: 'gap', x1: x, x2: x, y1: 16, y2: this.height });
      this.add('text', { x, y: 12, 'text-anchor': 'middle' }, `… ${missed} not kept`);
    }
  }
  drawBox(event) {
    const x = this.x(event.column) + 1, y = this.y(event.lane) - BOX / 2, width = this.scale - 2;
    const states = [event.kind, this.found.has(event) && 'found', event === this.chosen && 'chosen'];
    const box = this.add('rect',
      { class: ['box', ...states].filter(Boolean).join(' '), x, y, width, height: BOX, rx: 3 });
    const title = document.createElementNS(this.svg.namespaceURI, 'title');
    title.textContent = [event.name, event.call && `by ${event.call}`, ...event.frames].filter(Boolean).join('\n');
    box.append(title);
    if (this.scale < WORDS_FROM) return;
    const letters = Math.floor((width - 6) / LETTER);
    const fitted = words => (words.length <= letters ? words : `${words.slice(0, letters - 1)}…`);
    this.add('text', { class: 'word', x: x + 4, y: y + 14 }, fitted(event.name));
    this.add('text', { class: 'word', x: x + 4, y: y + 29 }, fitted(event.call));
  }
  // One path for a lane; what falls on one pixel is drawn once.
  drawBars(visible) {
    const paths = new Map();
    for (const event of visible) {
      const x = Math.round(this.x(event.column + 0.5));
      const path = paths.get(event.lane) ?? paths.set(event.lane, { d: '', last: null }).get(event.lane);
      if (path.last === x) continue;
      path.last = x;
      path.d += `M${x} ${this.y(event.lane) - BOX / 2}v${BOX}`;
    }
    for (const { d } of paths.values()) {
      this.add('path', { class: 'bars', d, 'stroke-width': Math.max(1, this.scale - 2) });
    }
  }
  // Where a thread gave work to a stream.
  drawTicks(visible) {
    let d = '', last = null;
    for (const event of visible) {
      const x = Math.round(this.x(event.column + 0.5));
      if (event.lane[0] === 't' || x === last || !this.group.laneEvents.has(event.thread)) continue;
      last = x;
      d += `M${x} ${this.y(event.thread) - 4}v8`;
      if (event === this.chosen) d += `M${x} ${this.y(event.thread)}V${this.y(event.lane) - BOX / 2}`;
    }
    this.add('path', { class: 'tick', d });
  }
  drawEdges(near) {
    let lines = '', heads = '';
    for (const { from, to } of this.group.edges) {
      if (!this.inView(from.column, to.column)) continue;
      const [x1, y1] = this.middle(from), [x2, y2] = this.middle(to), down = y2 > y1 ? 1 : -1;
      const end = y2 - down * BOX / 2;
      lines += `M${x1} ${y1 + down * BOX / 2}L${x2} ${end}`;
      if (near) heads += `M${x2} ${end}l-4 ${-7 * down}h8z`;
    }
    this.add('path', { class: near ? 'order' : 'order far', d: lines });
    this.add('path', { class: 'order-head', d: heads });
  }
  drawReports(near) {
    for (const report of this.group.reports) {
      const [first, second] = report.accesses;
      if (!first || !this.inView(first.column, (second ?? first).column)) continue;
      for (const event of near ? report.accesses.slice(0, 2) : []) {
        this.add('rect', { class: 'accused', x: this.x(event.column) + 1, y: this.y(event.lane) - BOX / 2,
          width: this.scale - 2, height: BOX, rx: 3, fill: 'none', 'pointer-events': 'none' });
      }
      this.drawMissing(report, first, second ?? first, near);
    }
  }
  // From box to box where there are any, and its number in the middle of what is in view.
  drawMissing({ number, kind }, first, second, near) {
    const [x1, top] = this.middle(first), [x2, bottom] = this.middle(second);
    const down = Math.sign(bottom - top) * BOX / 2, y1 = top + down, y2 = bottom - down;
    this.add('line', { class: 'missing', x1, y1, x2, y2 });
    if (near) this.add('path', { class: 'head', d: `M${x2} ${y2}l-5 ${down > 0 ? -9 : 9}h10z` });
    const x = Math.min(Math.max((x1 + x2) / 2, GUTTER + 12), GUTTER + this.width - 12);
    const along = x2 === x1 ? 0.5 : Math.min(Math.max((x - x1) / (x2 - x1), 0), 1);
    const y = y1 + (y2 - y1) * along;
    const label = this.add('g', { class: 'number', role: 'link', 'aria-label': `report ${number + 1}, ${kind}` });
    for (const [tag, attributes, text] of [
      ['circle', { class: 'head', cx: x, cy: y, r: 10 }, ''],
      ['text', { class: 'of-report', x, y: y + 4, 'text-anchor': 'middle' }, `${number + 1}`],
      ['title', {}, `report ${number + 1}: ${kind}`]]) label.append(this.add(tag, attributes, text));
    label.addEventListener('pointerdown', event => event.stopPropagation());
    label.addEventListener('click', () => this.onReport(number));
  }
  // What was found or chosen, from afar.
  drawSpecks(visible) {
    for (const event of visible) {
      const kind = event === this.chosen ? 'chosen' : this.found.has(event) ? 'found' : '';
      if (kind === '') continue;
      const x = this.x(event.column + 0.5), y = this.y(event.lane) - BOX / 2;
      this.add('path', { class: `speck ${kind}`, d: `M${x} ${y - 6}v${BOX + 12}` });
    }
  }
  drawGutter() {
    this.add('rect', { class: 'gutter', x: 0, y: 0, width: GUTTER - 2, height: this.height });
    this.group.rows.forEach(({ kind, lanes }, i) => {
      const seen = lanes.length === 1 ? lanes : lanes.filter(({ first, last }) => this.inView(first, last));
      const name = seen.length === 1 ? laneName(seen[0].lane, this.group.process)
        : seen.length > 1 ? `${seen.length} ${kind === 's' ? 'streams' : 'threads'}` : '';
      this.add('text', { class: 'lane-name', x: 4, y: this.yOfRow(i) + 4 }, name);
    });
  }
}
