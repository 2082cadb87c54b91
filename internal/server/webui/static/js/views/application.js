// One application: its states, and when its tasks waited and ran.
import { h } from '../dom.js';
import { get, escape } from '../api.js';
import * as f from '../format.js';
import { gantt } from '../chart.js';
import { actions } from '../actions.js';
import { card, head, facts, appState, amounts, age, badge, state } from '../parts.js';

const mostLines = 60;

function lines(a, now) {
  const asked = (x) => f.millis(x.requestTime ?? 0);
  const rows = [
    ...(a.allocations ?? []).map((x) => ({ name: x.allocationKey, asked: asked(x), placed: f.millis(x.allocationTime ?? x.requestTime), preempting: x.preempted, tip: `${x.allocationKey} on ${x.nodeId}\nwaited ${f.duration(f.millis((x.allocationTime ?? x.requestTime) - x.requestTime))}, runs for ${f.duration(now - f.millis(x.allocationTime ?? now * 1e6))}${x.preempted ? '\nis being preempted' : ''}` })),
    ...(a.requests ?? []).map((x) => ({ name: x.allocationKey, asked: asked(x), tip: `${x.allocationKey}\nwaits for ${f.duration(now - asked(x))}` })),
  ];
  return rows.sort((x, y) => x.asked - y.asked || (x.name < y.name ? -1 : 1));
}

async function find(ctx) {
  const name = ctx.params.app ?? '';
  try {
    return await get(`${ctx.base}/application/${escape(name)}`, ctx.signal);
  } catch (error) {
    if (error.status !== 404) throw error;
    for (const kind of ['completed', 'rejected']) { // ended ones are in lists only
      const all = await get(`${ctx.base}/applications/${kind}`, ctx.signal);
      const found = all.findLast((a) => a.applicationID === name);
      if (found) return found;
    }
    throw error;
  }
}

function tasks(title, list, columns) {
  return card(title, h('div', { class: 'scroll-x scroll', style: { 'max-height': '420px' } }, h('table', { class: 't' }, h('thead', {}, h('tr', {}, columns.map(([name, , kind]) => h('th', { class: kind ?? '' }, name)))), h('tbody', {}, list.slice(0, 500).map((x) => h('tr', { key: x.allocationKey }, columns.map(([, cell, kind]) => h('td', { class: kind ?? '' }, cell(x)))))))), { sub: f.count(list.length) });
}

export default {
  title: 'Application', topics: ['applications'],
  key: (ctx) => ctx.params.app,
  load: find,
  render(a, ctx) {
    const now = Date.now();
    const rows = lines(a, now);
    const log = (a.stateLog ?? []).map((s) => ({ at: f.millis(s.time), name: s.applicationState, reason: s.reason }));
    const from = Math.min(f.millis(a.submissionTime ?? now * 1e6), ...rows.map((r) => r.asked), ...log.map((s) => s.at));
    const to = a.finishedTime ? f.millis(a.finishedTime) : now;
    const link = (x) => h('a', { class: 'link', href: ctx.href('ask', { key: x.allocationKey }) }, x.allocationKey);
    return h('div', { class: 'page' },
      h('nav', { class: 'crumbs', 'aria-label': 'Where' }, h('a', { href: ctx.href('applications') }, 'Applications'), '›', h('a', { href: ctx.href('queues', { queue: a.queueName }) }, a.queueName)),
      head(a.applicationID, undefined, appState(a.applicationState), a.onHold && badge('on hold', 'warn'), a.placeholderData && badge('gang', 'violet'), a.hasReserved && badge(`reserves ${f.plural(a.reservations?.length ?? 1, 'node')}`, 'info')),
      a.rejectedMessage && h('div', { class: 'notice bad' }, a.rejectedMessage),
      !a.finishedTime && !['Completed', 'Failed', 'Rejected'].includes(a.applicationState) && actions(ctx, 'application', a.applicationID, [a.onHold ? 'release' : 'hold', a.applicationState !== 'Failing' && 'move', a.applicationState !== 'Failing' && 'cancel']),
      h('div', { class: 'grid cols-2' },
        card('Facts', h('div', { class: 'body' }, facts([['User', h('a', { class: 'link', href: ctx.href('users', { name: a.user }) }, a.user)], ['Groups', a.groups?.join(', ')], ['Submitted', age(a.submissionTime)], ['Moved from', a.movedFrom], ['Used', a.usageOverTime && f.usage(a.usageOverTime)], ['Ended', a.finishedTime && age(a.finishedTime)], ['Uses', a.finishedTime ? undefined : amounts(a.usedResource, { pods: true })], ['Pending', a.finishedTime ? undefined : amounts(a.pendingResource, { none: 'nothing' })], ['Most used', amounts(a.maxUsedResource)], ['Highest priority pending', a.maxRequestPriority > -2147483648 ? a.maxRequestPriority : undefined]]))),
        card('States', log.length ? h('table', { class: 't' }, h('tbody', {}, log.map((s, i) => h('tr', {}, h('td', { class: 'shrink' }, appState(s.name)), h('td', { class: 'muted' }, s.reason), h('td', { class: 'num faint', title: f.dateTime(s.at) }, i ? `+${f.duration(s.at - log[0].at)}` : f.clock(s.at)))))) : h('div', { class: 'body muted' }, 'No state is recorded.'))),
      rows.length > 0 && card('Time line', h('div', { class: 'body stack' }, gantt(rows.slice(0, mostLines), { from, to, states: log, width: innerWidth < 700 ? 440 : 1000 }), h('div', { class: 'legend' }, h('span', {}, h('i', { style: { background: 'var(--pending)', opacity: '.5' } }), 'waits'), h('span', {}, h('i', {}), 'runs'), h('span', {}, h('i', { style: { background: 'var(--danger)' } }), 'is being preempted'), rows.length > mostLines && h('span', {}, `the first ${mostLines} of ${f.count(rows.length)}`))), { key: 'timeline' }),
      a.placeholderData && card('Gang', h('div', { class: 'scroll-x' }, h('table', { class: 't' }, h('thead', {}, h('tr', {}, ['Task group', 'Members', 'Replaced', 'Timed out', 'Each at least'].map((t, i) => h('th', { class: i > 0 && i < 4 ? 'num' : '' }, t)))), h('tbody', {}, a.placeholderData.map((g) => h('tr', {}, h('td', {}, g.taskGroupName), [g.count, g.replaced, g.timedout].map((n) => h('td', { class: 'num' }, f.count(n))), h('td', {}, amounts(g.minResource)))))))),
      a.requests && tasks('Waiting asks', a.requests, [['Ask', link], ['Asks for', (x) => amounts(x.resource)], ['Priority', (x) => x.priority, 'num'], ['Nominated for', (x) => x.nominatedNode ?? x.reservedNode ?? '–'], ['Waits', (x) => age(x.requestTime), 'num']]),
      a.allocations && tasks('Allocations', a.allocations, [['Allocation', link], ['Node', (x) => h('a', { class: 'link', href: ctx.href('nodes', { node: x.nodeId }) }, x.nodeId)], ['Has', (x) => amounts(x.resource)], ['Priority', (x) => x.priority, 'num'], ['State', (x) => (x.preempted ? badge('preempting', 'bad') : x.placeholder ? badge('placeholder', 'violet') : badge('runs', 'good'))], ['Waited', (x) => f.duration(f.millis((x.allocationTime ?? 0) - (x.requestTime ?? 0))), 'num'], ['Runs', (x) => age(x.allocationTime), 'num']]),
      !rows.length && !a.finishedTime && state('wait', 'It has no task now', 'It completes if none is submitted.'));
  },
};
