// What joins the list of reports, the search field and the timeline.

const byId = id => document.getElementById(id);
const articles = [...document.querySelectorAll('article')];

function findReports(words) {
  for (const article of articles) {
    const text = article.textContent.toLowerCase();
    article.hidden = !words.every(word => text.includes(word));
  }
  byId('shown').textContent = articles.filter(article => !article.hidden).length;
}

function openReport(number) {
  const article = byId(`report-${number}`);
  article.hidden = false;
  article.querySelector('details').open = true;
  article.scrollIntoView({ block: 'start' });
}

// The timeline, with what steers it; null where the page has none.
function timelineOfPage() {
  if (!byId('history')) return null;
  const { groups: raw, sites } = JSON.parse(byId('history').textContent);
  const groups = raw.map(one => groupOf(one, sites));
  const timeline = new Timeline(byId('view'), { onChoose: describe, onReport: openReport });
  let found = [], at = -1;

  function describe(event) {
    const words = byId('chosen');
    words.replaceChildren();
    if (!event) return;
    const line = (tag, text) => words.append(Object.assign(document.createElement(tag), { textContent: text }));
    line('b', event.name);
    const by = event.call ? `, by ${event.call}` : '';
    const from = event.thread && event.lane[0] === 's' ? `, from the ${laneName(event.thread, timeline.group.process)}` : '';
    line('span', ` ${event.where}${event.lane[0] === 's' ? `, task ${event.place}` : ''}${by}${from}${event.kind === 'lost' ? '; what was around it is not kept' : ''}`);
    for (const frame of event.frames) line('div', frame);
  }
  function enter(group) {
    byId('group').value = groups.indexOf(group);
    if (timeline.group !== group) timeline.show(group);
    timeline.found = new Set(found.filter(hit => hit.group === group).map(hit => hit.event));
  }
  function goTo(step) {
    if (found.length === 0) return;
    at = (at + step + found.length) % found.length;
    enter(found[at].group);
    if (timeline.scale < WORDS_FROM) timeline.scale = 100;
    timeline.choose(found[at].event);
    tell();
  }
  function tell() {
    const count = `${found.length} ${found.length === 1 ? 'task' : 'tasks'} found`;
    byId('found').textContent = found.length === 0 ? '' : at < 0 ? count : `${at + 1} of ${count}`;
  }
  function find(words) {
    found = [];
    at = -1;
    for (const group of words.length === 0 ? [] : groups) {
      for (const event of group.events) {
        if (words.every(word => event.text.includes(word))) found.push({ group, event });
      }
    }
    enter(timeline.group);
    timeline.draw();
    tell();
  }
  function showReport(number) {
    const group = groups.find(one => one.reports.some(report => report.number === number));
    enter(group);
    const { accesses } = group.reports.find(report => report.number === number);
    timeline.bring(accesses);
    timeline.choose(accesses.at(-1));
  }

  groups.forEach((group, i) => byId('group').append(new Option(group.name, i)));
  byId('group').hidden = groups.length === 1;
  byId('group').addEventListener('change', event => { enter(groups[event.target.value]); timeline.draw(); });
  const press = (id, act) => byId(id).addEventListener('click', act);
  press('nearer', () => timeline.zoom(1.5));
  press('farther', () => timeline.zoom(1 / 1.5));
  press('all', () => timeline.all());
  press('next', () => goTo(1));
  press('previous', () => goTo(-1));
  for (const button of document.querySelectorAll('button.show')) {
    const number = Number(button.dataset.report);
    button.hidden = !groups.some(group => group.reports.some(report => report.number === number));
    button.addEventListener('click', () => {
      showReport(number);
      byId('timeline').scrollIntoView({ block: 'start' });
      byId('view').focus({ preventScroll: true });
    });
  }
  enter(groups[0]);
  const first = groups.flatMap(group => group.reports).sort((a, b) => a.number - b.number)[0];
  if (first) showReport(first.number);
  return { find, timeline };
}

const ofPage = timelineOfPage();
byId('find').addEventListener('input', event => {
  const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
  findReports(words);
  ofPage?.find(words);
});
