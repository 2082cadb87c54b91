// The last events, the newest first.
import { h } from '../dom.js';
import { get } from '../api.js';
import * as f from '../format.js';
import { vlist } from '../vlist.js';
import { head, filterInput, state, badge, dot, segments } from '../parts.js';
import { eventText, eventKind, where } from '../eventtext.js';

const kept = 5000;
const kinds = [['', 'All'], ['APP', 'Applications'], ['REQUEST', 'Asks'], ['NODE', 'Nodes'], ['QUEUE', 'Queues']];

// read reads what is new since the last time, and at first the last records.
async function read(ctx) {
  const known = (ctx.local.records ??= []);
  const edge = await get('events/batch?count=1', ctx.signal);
  if (edge.InstanceUUID !== ctx.local.instance) { known.length = 0; ctx.local.instance = edge.InstanceUUID; ctx.local.next = undefined; }
  if (edge.HighestID === 0 && edge.EventRecords?.length === 0) return { records: known };
  let next = ctx.local.next ?? Math.max(edge.LowestID, edge.HighestID - kept + 1);
  if (next < edge.LowestID) next = edge.LowestID;
  while (next <= edge.HighestID) {
    const page = await get(`events/batch?start=${next}&count=${kept}`, ctx.signal);
    if (!page.EventRecords?.length) break;
    page.EventRecords.forEach((r, i) => { r.id = next + i; known.push(r); });
    next += page.EventRecords.length;
  }
  ctx.local.next = next;
  if (known.length > kept) known.splice(0, known.length - kept);
  return { records: known };
}

const row = (r, ctx) => {
  const to = where(r);
  return [
    h('span', { class: 'faint', role: 'gridcell', title: f.dateTime(f.millis(r.timestampNano)) }, f.clock(f.millis(r.timestampNano))),
    h('span', { class: 'row', role: 'gridcell' }, dot(eventKind(r)), h('span', { class: 'small muted' }, { __proto__: null, APP: 'application', REQUEST: 'ask', NODE: 'node', QUEUE: 'queue' }[r.typeName] ?? r.typeName)),
    h('span', { class: 'ellipsis', role: 'gridcell', title: r.objectID }, to ? h('a', { class: 'link', href: ctx.href(...to) }, r.objectID) : r.objectID),
    h('span', { class: 'ellipsis muted', role: 'gridcell', title: r.referenceID }, r.referenceID ?? ''),
    h('span', { class: 'ellipsis', role: 'gridcell', title: r.message }, eventText(r)),
  ];
};

export default {
  title: 'Events', topics: ['events'], filters: true,
  key: (ctx) => ctx.partition,
  load: read,
  render(data, ctx) {
    const { params, local } = ctx;
    const query = params.q?.toLowerCase();
    const rows = data.records.filter((r) => (!r.partition || r.partition === ctx.partition) && (!params.type || r.typeName === params.type) && (!query || [r.objectID, r.referenceID, r.message].some((t) => t?.toLowerCase().includes(query)))).reverse();
    return h('div', { class: 'page fill' },
      head('Events', `${f.count(rows.length)} of the last ${f.count(data.records.length)}`, filterInput(params.q, 'Filter by name or text', (q) => ctx.set({ q })), segments('Type', kinds, params.type ?? '', (type) => ctx.set({ type })),
        h('button', { class: 'btn', type: 'button', 'aria-pressed': local.paused ? 'true' : 'false', onclick: () => { local.paused = !local.paused; ctx.redraw(); if (!local.paused) ctx.reload(); } }, local.paused ? 'Follow' : 'Pause')),
      local.paused && badge('paused', 'warn'),
      h('section', { class: 'card list-card', 'aria-label': 'Events' },
        h('div', { class: 'vhead cols-events' }, ['Time', 'About', 'Name', 'Reference', 'What'].map((t) => h('span', {}, t))),
        rows.length === 0 ? state('events', 'No event', data.records.length ? 'Change the filter.' : 'Nothing has happened yet, or the event history is switched off.') : vlist({ label: 'Events', rows, height: 36, columns: 'cols-events', id: (r) => r.id, render: (r) => row(r, ctx) })));
  },
};
