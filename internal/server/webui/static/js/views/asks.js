// The asks that wait, each with the reason, the longest wait first.
import { h } from '../dom.js';
import { get, optional, escape } from '../api.js';
import * as f from '../format.js';
import { vlist } from '../vlist.js';
import { head, filterInput, state, badge, age } from '../parts.js';

const shownAtOnce = 2000;
const reasonsAtOnce = 4;
const reasonAge = 15_000;

// pendingAsks reads the asks: from the list of waiting asks, or where the server has none, from the applications.
async function pendingAsks(ctx) {
  const query = new URLSearchParams({ limit: shownAtOnce });
  if (ctx.params.queue) query.set('queue', ctx.params.queue);
  let list;
  try {
    list = ctx.local.noList ? undefined : await optional(get(`${ctx.base}/asks?${query}`, ctx.signal));
  } catch (error) {
    if (error.status !== 400) throw error; // it has other parameters
  }
  const rows = Array.isArray(list) ? list : list?.asks;
  if (rows) return { total: list.total ?? rows.length, rows: rows.map(normal) };
  ctx.local.noList = true;
  const apps = await get(`${ctx.base}/applications/active`, ctx.signal);
  const found = [];
  for (const a of apps) for (const x of a.requests ?? []) found.push(normal({ ...x, queueName: a.queueName, user: a.user, applicationID: a.applicationID }));
  const wanted = ctx.params.queue ? found.filter((x) => x.queue === ctx.params.queue || x.queue.startsWith(`${ctx.params.queue}.`)) : found;
  wanted.sort((a, b) => a.since - b.since);
  return { total: wanted.length, rows: wanted.slice(0, shownAtOnce) };
}

// normal is an ask of either list.
function normal(x) {
  return {
    key: x.allocationKey, app: x.applicationID ?? x.applicationId, queue: x.queueName ?? x.queue ?? '', user: x.user ?? '', resource: x.resource, priority: Number(x.priority ?? 0),
    since: x.requestTime ?? x.since ?? 0, nominated: x.nominatedNode, reserved: x.reservedNode, gang: x.taskGroupName,
    reason: x.message ?? x.reason ?? x.verdict?.message, code: x.code ?? x.verdict?.code, permanent: x.permanent ?? x.verdict?.permanent,
  };
}

// explainSeen asks why for the rows that are seen, a few at a time, and keeps the answers for a while.
function explainSeen(ctx, rows) {
  const known = (ctx.local.reasons ??= new Map());
  const queue = (ctx.local.queue = rows.filter((r) => r.reason === undefined && !(known.get(r.key)?.at > Date.now() - reasonAge)));
  ctx.local.busy ??= 0;
  const next = async () => {
    const row = ctx.local.queue.shift();
    if (!row || document.hidden) { ctx.local.busy--; return; }
    known.set(row.key, { ...known.get(row.key), at: Date.now() });
    try {
      const e = await get(`${ctx.base}/ask/${escape(row.key)}/explain`);
      known.set(row.key, { at: Date.now(), text: reasonOf(e), permanent: e.verdict?.permanent, code: e.verdict?.code });
      ctx.redraw();
    } catch (error) {
      if (error.status === 404) known.set(row.key, { at: Date.now(), text: 'It does not wait any more.' });
    }
    next();
  };
  while (queue.length && ctx.local.busy < reasonsAtOnce) { ctx.local.busy++; next(); }
  if (known.size > 5000) known.delete(known.keys().next().value);
}

export const reasonOf = (e) => e.message.replace(/; nodes: .*$/, '');

function row(x, ctx) {
  const known = ctx.local.reasons?.get(x.key);
  const text = x.reason ?? known?.text;
  const permanent = x.permanent ?? known?.permanent;
  return [
    h('div', { class: 'ellipsis', role: 'gridcell' }, h('a', { class: 'strong', href: ctx.href('ask', { key: x.key }), title: x.key }, x.key), h('div', { class: 'faint small ellipsis' }, x.queue.replace(/^root\./, ''))),
    h('div', { class: 'ellipsis', role: 'gridcell' }, h('a', { class: 'link', href: ctx.href('application', { app: x.app }) }, x.app), h('div', { class: 'faint small' }, x.user)),
    h('div', { class: 'ellipsis', role: 'gridcell', title: f.exactAmounts(x.resource) }, f.amounts(x.resource)),
    h('div', { class: 'right', role: 'gridcell' }, f.count(x.priority)),
    h('div', { class: 'right', role: 'gridcell' }, age(x.since)),
    h('div', { class: 'row', role: 'gridcell', title: text }, permanent && badge('never', 'bad', 'It cannot run as things are: no end of an allocation can help'), x.nominated && badge(`nominated: ${x.nominated}`, 'violet'), x.reserved && badge(`reserved: ${x.reserved}`, 'info'), x.gang && badge(x.gang, ''), text ? h('span', { class: 'muted reason clamp' }, text.replace(/^it can never run as things are: /, '')) : h('span', { class: 'faint' }, '…')),
  ];
}

export default {
  title: 'Waiting asks', menu: 'Waiting', topics: ['queues'], closes: ['queue'], filters: true, keepsData: true,
  key: (ctx) => ctx.params.queue,
  load: pendingAsks,
  render(data, ctx) {
    const { params } = ctx;
    const query = params.q?.toLowerCase();
    const sorts = { __proto__: null, wait: (a, b) => a.since - b.since, priority: (a, b) => b.priority - a.priority || a.since - b.since, size: (a, b) => (b.resource?.vcore ?? 0) - (a.resource?.vcore ?? 0) || a.since - b.since };
    const rows = data.rows.filter((x) => !query || [x.key, x.app, x.queue, x.user].some((text) => text?.toLowerCase().includes(query))).sort(sorts[params.sort] ?? sorts.wait);
    return h('div', { class: 'page fill' },
      head('Waiting asks', [f.count(data.total), data.total > data.rows.length ? `, the first ${f.count(data.rows.length)} are listed` : ''].join(''),
        params.queue && h('button', { class: 'btn', title: 'Show all queues', onclick: () => ctx.set({ queue: undefined }) }, params.queue, ' ×'),
        filterInput(params.q, 'Filter by name, queue or user', (q) => ctx.set({ q })),
        h('select', { class: 'input', 'aria-label': 'Order', value: params.sort ?? 'wait', onchange: (event) => ctx.set({ sort: event.target.value }) }, [['wait', 'Longest wait first'], ['priority', 'Priority first'], ['size', 'Largest first']].map(([id, text]) => h('option', { value: id, selected: id === (params.sort ?? 'wait') }, text)))),
      h('section', { class: 'card list-card', 'aria-label': 'Waiting asks' },
        h('div', { class: 'vhead cols-asks' }, h('span', {}, 'Ask'), h('span', {}, 'Application'), h('span', {}, 'Asks for'), h('span', { class: 'right' }, 'Priority'), h('span', { class: 'right' }, 'Waits'), h('span', {}, 'Why')),
        rows.length === 0
          ? state(data.total ? 'empty' : 'check', data.total ? 'No ask matches' : 'Nothing waits', data.total ? 'Change the filter.' : 'Every ask has been placed.')
          : vlist({ label: 'Waiting asks', rows, height: 52, columns: 'cols-asks', id: (x) => x.key, render: (x) => row(x, ctx), onOpen: (x) => { location.hash = ctx.href('ask', { key: x.key }); }, onSeen: (seen) => explainSeen(ctx, seen), rowAttrs: (x) => ({ 'data-ask': x.key }) })));
  },
};
