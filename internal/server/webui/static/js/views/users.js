// What users and groups use, against their limits, queue by queue.
import { h } from '../dom.js';
import { get } from '../api.js';
import * as f from '../format.js';
import { card, head, meter, segments, filterInput, state, badge } from '../parts.js';

// entries are the queues in which a user or a group has a limit, and the leaves that it uses.
function entries(q, out = []) {
  if (q.maxResources || q.maxApplications || !q.children) out.push(q);
  for (const child of q.children ?? []) entries(child, out);
  return out;
}

function limits(q, ctx) {
  const names = f.sortResources(new Set([...Object.keys(q.maxResources ?? {}), ...Object.keys(q.resourceUsage ?? {})])).filter((r) => r !== 'pods' || q.maxResources?.pods !== undefined).slice(0, 4);
  const running = q.runningApplications?.length ?? 0;
  return h('tr', { key: q.queuePath },
    h('td', {}, h('a', { class: 'link', href: ctx.href('queues', { queue: q.queuePath }) }, q.queuePath), q.maxResources || q.maxApplications ? '' : h('div', { class: 'faint small' }, 'no limit')),
    h('td', {}, h('div', { class: 'grid', style: { 'grid-template-columns': 'repeat(auto-fill, minmax(150px, 1fr))', gap: '4px 16px' } }, names.map((r) => h('div', {}, h('span', { class: 'faint small' }, f.titleOf(r)), meter(r, { used: q.resourceUsage?.[r], max: q.maxResources?.[r], scale: ctx.partitionBody?.capacity?.capacity?.[r], label: q.maxResources?.[r] === undefined ? 'of the cluster' : 'of its limit' }))))),
    h('td', { class: 'num' }, q.maxApplications ? `${f.count(running)} / ${f.count(q.maxApplications)}` : f.count(running), q.maxApplications && running >= q.maxApplications ? badge('full', 'bad') : ''));
}

export default {
  title: 'Users and groups', menu: 'Users', topics: ['queues'], restMillis: 2000, filters: true,
  key: (ctx) => ctx.params.kind ?? 'users',
  load: (ctx) => get(`${ctx.base}/usage/${ctx.params.kind === 'groups' ? 'groups' : 'users'}`, ctx.signal),
  render(list, ctx) {
    const { params } = ctx;
    const groups = params.kind === 'groups';
    const query = (params.name ?? params.q)?.toLowerCase();
    const all = list.map((u) => ({ name: u.userName ?? u.groupName, body: u })).filter((u) => !query || u.name.toLowerCase().includes(query));
    const weight = (u) => u.body.queues?.resourceUsage?.vcore ?? 0;
    all.sort((a, b) => weight(b) - weight(a) || (a.name < b.name ? -1 : 1));
    return h('div', { class: 'page' },
      head(groups ? 'Groups' : 'Users', f.count(all.length), filterInput(params.name ?? params.q, groups ? 'Filter by group' : 'Filter by user', (q) => ctx.set({ q, name: undefined })), segments('Kind', [['users', 'Users'], ['groups', 'Groups']], groups ? 'groups' : 'users', (kind) => ctx.set({ kind, name: undefined }, true))),
      all.length === 0 ? h('section', { class: 'card' }, state('users', list.length ? 'No name matches' : groups ? 'No group has a limit or uses anything' : 'Nobody uses anything', list.length ? 'Change the filter.' : groups ? 'Applications count for a group where a limit names it.' : undefined))
        : all.slice(0, 200).map((u) => card(u.name, h('div', { class: 'scroll-x' }, h('table', { class: 't' }, h('thead', {}, h('tr', {}, h('th', { style: { width: '30%' } }, 'Queue'), h('th', {}, 'Uses of its limit'), h('th', { class: 'num' }, 'Running'))), h('tbody', {}, entries(u.body.queues ?? { queuePath: 'root' }).map((q) => limits(q, ctx))))), { key: u.name, sub: f.amounts(u.body.queues?.resourceUsage, { none: 'nothing runs' }), tools: !groups && u.body.groups && [...new Set(Object.values(u.body.groups))].map((g) => badge(g)) })),
      all.length > 200 && h('p', { class: 'muted' }, `200 of ${f.count(all.length)} are shown: filter by name for the others.`));
  },
};
