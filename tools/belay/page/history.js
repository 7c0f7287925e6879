// What the program did, as the page holds it: groups (the calls of a process, the nodes of a captured graph) of
// events, in the order of the calls. An event lies in a lane, of a stream (s5) or of a thread of the host (t41),
// and has a column of its own.

const MOST_OWN_ROWS = 12;

const laneOf = spot => spot.slice(0, spot.lastIndexOf(':'));
const placeOf = spot => Number(spot.slice(spot.lastIndexOf(':') + 1));

function laneName(lane, process) {
  const number = Number(lane.slice(1));
  if (lane[0] === 's') return `stream ${number}`;
  return number === process ? 'main thread' : `thread ${number}`;
}

// Of the events of a lane the last one up to a place in it: who waits for the place waits for that.
function lastUpTo(events, place) {
  let low = 0, high = events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (events[middle].place <= place) low = middle + 1; else high = middle;
  }
  return events[low - 1] ?? null;
}

// The place of the first event whose column is at least this.
function firstFrom(events, column) {
  let low = 0, high = events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (events[middle].column < column) low = middle + 1; else high = middle;
  }
  return low;
}

// One call of the host may hear of several streams: that is one event.
function eventsOf(raw, sites) {
  const events = [];
  for (const { spot, number, site, thread, after } of raw.events) {
    const latest = events.at(-1);
    if (latest?.kind === 'learned' && latest.site === site && latest.lane === laneOf(spot) && latest.last === number - 1) {
      latest.after.push(...after);
      latest.last = number;
      continue;
    }
    events.push({ kind: 'task', name: '?', call: '', frames: [], ...sites[site], site, after: [...after],
      lane: laneOf(spot), place: placeOf(spot), number, last: number, thread: `t${thread}` });
  }
  return events;
}

// What a report names and the history has no more stands where its place in the lane says.
function addLost(events, { spot, role }) {
  const lane = laneOf(spot), place = placeOf(spot);
  if (events.some(event => event.lane === lane && event.place === place)) return;
  const later = events.findIndex(event => event.lane === lane && event.place > place);
  const name = role.replace(/^(writes|reads|used by|freed by) +/, '').split(', ')[0];
  const [, call = ''] = role.split(', by ');
  events.splice(Math.max(later, 0), 0,
    { kind: 'lost', name, call, frames: [], lane, place, number: -1, thread: '', after: [] });
}

// Columns, with one for each place where something was left out.
function setColumns(group) {
  let column = 0, next = 0;
  for (const event of group.events) {
    if (event.number > next) group.gaps.push({ column: column++, missed: event.number - next });
    if (event.number >= 0) next = event.last + 1;
    event.column = column++;
  }
  group.columns = column;
}

// Threads, and below them streams; a thread that has given work has a lane, too.
function setLanes(group) {
  const lanes = new Map();
  const lane = name => lanes.get(name) ?? lanes.set(name, []).get(name);
  const hasHost = group.events.some(event => event.lane[0] === 't');
  for (const event of group.events) {
    lane(event.lane).push(event);
    if (hasHost && event.thread) lane(event.thread);
  }
  const before = ([a], [b]) => (a[0] === b[0] ? a.slice(1) - b.slice(1) : a[0] === 't' ? -1 : 1);
  group.laneEvents = new Map([...lanes].sort(before));
}

// Each lane has a row of its own. Where there are many, those that lie one after another share one, but for the main
// thread's and those that reports name.
function setRows(group) {
  const ends = new Map();
  for (const { lane, thread, column } of group.events) {
    for (const used of [lane, thread]) {
      if (group.laneEvents.has(used)) ends.set(used, [ends.get(used)?.[0] ?? column, column]);
    }
  }
  const own = new Set(group.reports.flatMap(report => report.accesses.map(event => event.lane))).add(`t${group.process}`);
  for (const [lane, events] of group.laneEvents) {
    const [first, last] = ends.get(lane);
    const shares = group.laneEvents.size > MOST_OWN_ROWS && !own.has(lane);
    let row = shares && group.rows.find(one => one.free < first && one.kind === lane[0]);
    if (!row) group.rows.push(row = { kind: lane[0], lanes: [], events: [] });
    row.free = shares ? last : Infinity;
    row.lanes.push({ lane, first, last });
    row.events.push(...events);
    group.rowOf.set(lane, group.rows.indexOf(row));
  }
}

function setEdges(group) {
  for (const event of group.events) {
    for (const spot of event.after) {
      if (laneOf(spot) === event.lane) continue;
      const from = lastUpTo(group.laneEvents.get(laneOf(spot)) ?? [], placeOf(spot));
      if (from !== null) group.edges.push({ from, to: event });
    }
  }
}

function setReports(group, reports) {
  for (const { number, kind, places } of reports) {
    const accesses = places.map(({ spot }) => lastUpTo(group.laneEvents.get(laneOf(spot)) ?? [], placeOf(spot)));
    group.reports.push({ number, kind, accesses: accesses.filter(event => event !== null) });
  }
}

function groupOf(raw, sites) {
  const events = eventsOf(raw, sites);
  const group = { name: raw.name, process: raw.process, events, gaps: [], edges: [], reports: [], rows: [], rowOf: new Map() };
  for (const report of raw.reports) report.places.forEach(place => addLost(events, place));
  setColumns(group);
  setLanes(group);
  setEdges(group);
  setReports(group, raw.reports);
  setRows(group);
  for (const event of events) {
    event.where = laneName(event.lane, group.process);
    event.text = [event.name, event.call, event.where, ...event.frames].join(' ').toLowerCase();
  }
  return group;
}
