// The frame of the page: navigation, the partition, search, the theme, and one view at a time.
import { h, morph, announce, followTips } from './dom.js';
import { icon, logo } from './icons.js';
import { parse, link, change } from './route.js';
import { get, partitionPath, optional } from './api.js';
import { Live } from './live.js';
import { plural, count } from './format.js';
import { state as statePart } from './parts.js';
import overview from './views/overview.js';
import queues from './views/queues.js';
import asks from './views/asks.js';
import ask from './views/ask.js';
import applications from './views/applications.js';
import application from './views/application.js';
import nodes from './views/nodes.js';
import users from './views/users.js';
import preemptions from './views/preemptions.js';
import events from './views/events.js';
import config from './views/config.js';
import health from './views/health.js';

const views = { __proto__: null, overview, queues, asks, ask, applications, application, nodes, users, preemptions, events, config, health };
const menu = ['overview', 'queues', 'asks', 'applications', 'nodes', 'users', 'preemptions', '', 'events', 'config', 'health'];
const keys = { __proto__: null, o: 'overview', q: 'queues', w: 'asks', a: 'applications', n: 'nodes', u: 'users', p: 'preemptions', e: 'events', c: 'config', h: 'health' };

const app = document.getElementById('app');
const live = new Live();
const shown = { view: undefined, name: '', key: '', data: undefined, error: undefined, local: {}, loading: false, slow: false };
const frame = { partitions: [], failed: undefined, theme: document.documentElement.dataset.theme ?? 'auto' };
let loads = 0;
let loader;

// context is what a view gets: parameters of the address, its data, and its own state between updates.
function context() {
  const { params, path } = parse();
  const partition = params.partition ?? frame.partitions[0]?.name ?? 'default';
  return {
    path, params, partition, base: partitionPath(partition), partitionBody: frame.partitions.find((p) => p.name === partition),
    local: shown.local, live, signal: loader?.signal,
    set: (next, push) => change(next, push), redraw: draw, reload: () => load(true),
    href: (to, more = {}) => link(to, { partition: frame.partitions.length > 1 || params.partition ? partition : undefined, ...more }),
  };
}

async function loadFrame() {
  try {
    frame.partitions = await get('partitions');
    frame.failed = undefined;
  } catch (error) {
    frame.failed = error;
  }
}

function onRoute() {
  const { path } = parse();
  const name = path in views ? path : 'overview';
  const ctx = context();
  const key = `${name} ${ctx.partition} ${views[name].key?.(ctx) ?? ''}`;
  if (shown.name !== name) {
    Object.assign(shown, { view: views[name], name, local: {}, data: undefined, error: undefined });
    document.querySelector('main')?.scrollTo(0, 0);
    announce(views[name].title);
  }
  if (shown.key !== key) {
    shown.key = key;
    if (!views[name].keepsData) shown.data = undefined;
    load();
  }
  document.title = `${views[name].title} · Canopy`;
  draw();
}

// load reads the data of the view. What is shown stays until it has come.
async function load(again = false) {
  const mine = ++loads;
  loader?.abort();
  loader = new AbortController();
  shown.loading = true;
  shown.slow = false;
  const began = performance.now();
  const timer = setTimeout(() => { if (mine === loads) { shown.slow = true; draw(); } }, 180);
  try {
    if (frame.partitions.length === 0) await loadFrame();
    const data = await shown.view.load(context());
    if (mine !== loads) return;
    shown.data = data;
    shown.error = undefined;
  } catch (error) {
    if (mine !== loads || error.name === 'AbortError') return;
    if (!(error.status >= 0)) console.error(error);
    shown.error = error;
  } finally {
    clearTimeout(timer);
    if (mine === loads) {
      shown.loading = false;
      refresh.took = performance.now() - began;
      refresh.last = performance.now();
      draw();
    }
  }
  return again;
}

// refresh loads again when what is shown has changed, and spends a fifth of the time on that at most.
const refresh = {
  timer: undefined, last: 0, took: 0,
  changed(detail) {
    const wanted = shown.view?.topics ?? [];
    const partition = context().partition;
    if (!detail.all && !wanted.some((topic) => detail.topics.has(topic) || detail.topics.has(`${topic}:${partition}`))) return;
    if (this.timer || shown.local.paused) return;
    const wait = Math.max(0, this.last + Math.max(900, 4 * this.took, shown.view.restMillis ?? 0) - performance.now());
    this.timer = setTimeout(() => {
      this.timer = undefined;
      if (!document.hidden && !shown.loading) load(true);
    }, wait);
  },
};

live.addEventListener('changed', (event) => {
  refresh.changed(event.detail);
  frameRefresh();
});
live.addEventListener('state', draw);

// frameRefresh keeps the counts of the navigation up to date, at most every five seconds.
let frameTimer;
function frameRefresh() {
  frameTimer ??= setTimeout(async () => {
    frameTimer = undefined;
    if (!document.hidden) {
      await loadFrame();
      draw();
    }
  }, 5000);
}

function draw() {
  draw.frame ??= requestAnimationFrame(() => {
    draw.frame = undefined;
    const ctx = context();
    morph(app, [brand(), top(ctx), nav(ctx), h('main', { id: 'content', key: 'main', tabindex: -1 }, content(ctx))]);
  });
}

const brand = () => h('a', { class: 'brand', key: 'brand', href: '#/overview' }, logo(), 'Canopy');

function nav(ctx) {
  const section = { ask: 'asks', application: 'applications' }[shown.name] ?? shown.name;
  const total = ctx.partitionBody;
  const counts = { nodes: total?.totalNodes, applications: total?.applications?.Running };
  return h('nav', { class: 'nav', key: 'nav', 'aria-label': 'Views' }, menu.map((name) => (name === ''
    ? h('hr', {})
    : h('a', { key: name, href: ctx.href(name), 'aria-current': name === section ? 'page' : undefined }, icon(name), views[name].menu ?? views[name].title, counts[name] !== undefined && h('span', { class: 'count' }, count(counts[name]))))),
  h('div', { class: 'foot' }, h('kbd', {}, '?'), ' shows the keys'));
}

function top(ctx) {
  const states = { live: ['good', 'Live'], polling: ['warn', 'Every 5 s'], offline: ['bad', 'Offline'], starting: ['', 'Connecting'] };
  const [kind, text] = states[frame.failed ? 'offline' : live.state];
  return h('header', { class: 'top', key: 'top' },
    h('form', { class: 'search', role: 'search', onsubmit: onSearch }, icon('search'),
      h('input', { class: 'input', id: 'search', type: 'search', autocomplete: 'off', spellcheck: 'false', placeholder: 'Find a queue, application, ask or node', 'aria-label': 'Find a queue, application, ask or node' }), h('kbd', { 'aria-hidden': 'true' }, '/')),
    h('span', { class: 'grow' }),
    frame.partitions.length > 1 && h('select', { class: 'input', 'aria-label': 'Partition', value: ctx.partition, onchange: (event) => change({ partition: event.target.value }, true) }, frame.partitions.map((p) => h('option', { value: p.name, selected: p.name === ctx.partition }, p.name))),
    h('span', { class: 'live', title: text === 'Every 5 s' ? 'The server has no stream of changes for this page, so it asks again every five seconds.' : undefined }, h('span', { class: `dot ${kind}` }), text),
    h('button', { class: 'btn icon', type: 'button', id: 'theme', 'aria-label': `Theme: ${frame.theme}. Switch it`, title: `Theme: ${frame.theme}`, onclick: nextTheme }, icon({ auto: 'auto', dark: 'moon', light: 'sun' }[frame.theme])),
    h('button', { class: 'btn icon', type: 'button', 'aria-label': 'Keys', title: 'Keys', onclick: showKeys }, icon('help')));
}

function content(ctx) {
  const { view, data, error } = shown;
  if (!view) return [];
  if (data === undefined && error) {
    const unknown = error.status === 404;
    return h('div', { class: 'page', key: 'error' }, statePart(unknown ? 'empty' : 'cross', unknown ? 'Not here' : error.status ? 'The scheduler has refused that' : 'The scheduler does not answer', error.message,
      h('div', { class: 'row' }, h('button', { class: 'btn', onclick: () => load(true) }, 'Try again'), h('a', { class: 'btn', href: ctx.href('overview') }, 'Overview'))));
  }
  if (data === undefined) {
    return h('div', { class: 'page', key: 'loading', 'aria-busy': 'true' }, shown.slow && [h('div', { class: 'skeleton', style: { height: '32px', width: '220px' } }), h('div', { class: 'skeleton', style: { height: '92px' } }), h('div', { class: 'skeleton', style: { height: '340px' } })]);
  }
  const drawn = view.render(data, ctx);
  drawn.key = `view ${shown.name}`;
  if (error) drawn.prepend(h('div', { class: 'notice bad', role: 'alert', key: 'notice' }, `Not up to date: ${error.message}`));
  return drawn;
}

async function onSearch(event) {
  event.preventDefault();
  const input = document.getElementById('search');
  const text = input.value.trim();
  if (text === '') return;
  const ctx = context();
  input.blur();
  if (/^root(\.|$)/i.test(text)) { location.hash = ctx.href('queues', { queue: text.toLowerCase() }); return; }
  const name = encodeURIComponent(encodeURIComponent(text));
  const [found, node, key] = await Promise.all([
    optional(get(`${ctx.base}/application/${name}`)), optional(get(`${ctx.base}/node/${name}`)), optional(get(`${ctx.base}/ask/${name}/explain`)),
  ].map((p) => p.catch(() => undefined)));
  if (found) location.hash = ctx.href('application', { app: text });
  else if (node) location.hash = ctx.href('nodes', { node: text });
  else if (key) location.hash = ctx.href('ask', { key: text });
  else location.hash = ctx.href(shown.view.filters ? shown.name : 'queues', { q: text });
}

function nextTheme() {
  frame.theme = { auto: 'dark', dark: 'light', light: 'auto' }[frame.theme];
  if (frame.theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = frame.theme;
  try { localStorage.setItem('canopy-theme', frame.theme); } catch { /* it lasts until the page is closed */ }
  draw();
}

function showKeys() {
  const rows = [['/', 'search'], ['g then o q w a n u p e c h', 'go to a view: its first letter, w for waiting asks'], ['↑ ↓', 'move in a list or tree'], ['→ ←', 'open and close a queue'], ['Enter', 'show details'], ['Esc', 'close details'], ['t', 'switch the theme'], ['?', 'this list']];
  const dialog = h('dialog', { 'aria-label': 'Keys', onclose: () => dialog.remove(), onclick: (event) => event.target === dialog && dialog.close() }, h('h2', {}, 'Keys'), h('dl', { class: 'facts' }, rows.map(([k, text]) => [h('dt', {}, h('kbd', {}, k)), h('dd', {}, text)])), h('div', { class: 'actions' }, h('button', { class: 'btn', onclick: () => dialog.close() }, 'Close')));
  document.body.append(dialog);
  dialog.showModal();
}

let afterG = 0;
addEventListener('keydown', (event) => {
  const typing = event.target.closest?.('input, textarea, select, dialog');
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === 'Escape') {
    if (typing?.matches('input')) return typing.blur();
    const open = shown.view?.closes?.find((name) => parse().params[name]);
    if (open && !typing) { change({ [open]: undefined }); document.querySelector('.vlist')?.focus(); }
    return;
  }
  if (typing) return;
  if (performance.now() - afterG < 1200 && keys[event.key]) { afterG = 0; location.hash = context().href(keys[event.key]); event.preventDefault(); return; }
  if (event.key === 'g') afterG = performance.now();
  else if (event.key === '/') { document.getElementById('search').focus(); event.preventDefault(); }
  else if (event.key === 't') nextTheme();
  else if (event.key === '?') showKeys();
});

setInterval(() => { if (!document.hidden && shown.data !== undefined) draw(); }, 1000); // ages grow
addEventListener('hashchange', onRoute);
followTips(document.body);
await loadFrame();
onRoute();
live.start();
if (frame.failed) announce('The scheduler does not answer');
else announce(plural(frame.partitions.length, 'partition'));
