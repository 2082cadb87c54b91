// The applications, active or ended.
import { h } from '../dom.js';
import { get } from '../api.js';
import * as f from '../format.js';
import { vlist } from '../vlist.js';
import { head, filterInput, state, appState, age, segments } from '../parts.js';

const row = (a, ctx) => [
  h('div', { class: 'ellipsis', role: 'gridcell' }, h('a', { class: 'strong', href: ctx.href('application', { app: a.applicationID }), title: a.applicationID }, a.applicationID)),
  h('div', { role: 'gridcell' }, appState(a.applicationState)),
  h('div', { class: 'ellipsis muted', role: 'gridcell', title: a.queueName }, a.queueName),
  h('div', { class: 'ellipsis', role: 'gridcell' }, a.user),
  h('div', { class: 'ellipsis', role: 'gridcell', title: f.exactAmounts(a.usedResource) }, a.finishedTime ? f.amounts(a.maxUsedResource) : f.amounts(a.usedResource)),
  h('div', { class: 'ellipsis', role: 'gridcell', title: a.rejectedMessage ?? f.exactAmounts(a.pendingResource) }, a.rejectedMessage ?? f.amounts(a.pendingResource)),
  h('div', { class: 'right', role: 'gridcell' }, age(a.finishedTime ?? a.submissionTime)),
];

export default {
  title: 'Applications', topics: ['applications'], filters: true, restMillis: 2000,
  key: (ctx) => ctx.params.state ?? '',
  load: (ctx) => get(`${ctx.base}/applications/${ctx.params.state ?? 'active'}`, ctx.signal),
  render(list, ctx) {
    const { params } = ctx;
    const query = params.q?.toLowerCase();
    const ended = params.state !== undefined;
    const rows = list.filter((a) => (!params.queue || a.queueName === params.queue || a.queueName.startsWith(`${params.queue}.`)) && (!query || [a.applicationID, a.queueName, a.user, a.applicationState].some((text) => text?.toLowerCase().includes(query))));
    rows.sort((a, b) => (b.finishedTime ?? b.submissionTime ?? 0) - (a.finishedTime ?? a.submissionTime ?? 0) || (a.applicationID < b.applicationID ? -1 : 1));
    return h('div', { class: 'page fill' },
      head('Applications', f.count(rows.length),
        params.queue && h('button', { class: 'btn', title: 'Show all queues', onclick: () => ctx.set({ queue: undefined }) }, params.queue, ' ×'),
        filterInput(params.q, 'Filter by name, queue or user', (q) => ctx.set({ q })),
        segments('State', [['', 'Active'], ['completed', 'Completed'], ['rejected', 'Rejected']], params.state ?? '', (id) => ctx.set({ state: id }, true))),
      h('section', { class: 'card list-card', 'aria-label': 'Applications' },
        h('div', { class: 'vhead cols-apps' }, ['Application', 'State', 'Queue', 'User', ended ? 'Most used' : 'Uses', params.state === 'rejected' ? 'Why' : 'Pending', ended ? 'Ended' : 'Age'].map((t, i) => h('span', { class: i === 6 ? 'right' : '' }, t))),
        rows.length === 0 ? state('empty', list.length ? 'No application matches' : 'There is none', list.length ? 'Change the filter.' : undefined)
          : vlist({ label: 'Applications', rows, height: 40, columns: 'cols-apps', id: (a) => `${a.applicationID} ${a.submissionTime}`, render: (a) => row(a, ctx), onOpen: (a) => { location.hash = ctx.href('application', { app: a.applicationID }); } })));
  },
};
