// What was preempted for what, and why not something else.
import { h } from '../dom.js';
import { get } from '../api.js';
import * as f from '../format.js';
import { card, head, badge, facts, amounts, time, age, state } from '../parts.js';

const reasons = {
  __proto__: null,
  node: 'it requires the node', guarantee: 'its queue is below its guarantee', priority: 'it has a higher priority', quota: 'a queue is above its max', pressure: 'the node lacks a resource', operator: 'an operator ordered it',
};
const victimKinds = { __proto__: null, preempting: 'warn', terminating: 'warn', released: '', confirmed: '' };

const who = (p) => p.ask?.allocationKey ?? p.quotaViolation?.queueName ?? p.nodeID;

function flow(p, ctx) {
  const nomination = p.nomination;
  return h('div', { class: 'pre-flow' },
    card('For', h('div', { class: 'body stack' }, p.ask
      ? [h('a', { class: 'link strong', href: ctx.href('ask', { key: p.ask.allocationKey }) }, p.ask.allocationKey), facts([['Application', h('a', { class: 'link', href: ctx.href('application', { app: p.ask.applicationID }) }, p.ask.applicationID)], ['Queue', h('a', { class: 'link', href: ctx.href('queues', { queue: p.ask.queueName }) }, p.ask.queueName)], ['User', p.ask.user], ['Priority', p.ask.priority], ['Asks for', amounts(p.ask.resource)], ['Reason', reasons[p.preemptionReason] ?? p.preemptionReason], ['Tried before', p.triedReasons?.join(', ')], ['Nominated for', p.nodeID && `${p.nodeID}: ${nomination?.state}`], ['Lost to', nomination?.lostTo], ['Placed', p.placed && `on ${p.placed.nodeID} after ${f.duration(p.placed.afterSeconds * 1000)}`], ['Cancelled', p.cancelled && age(p.cancelled)]])]
      : facts([['Reason', reasons[p.preemptionReason]], ['Queue', p.quotaViolation?.queueName], ['Above by', p.quotaViolation && amounts(p.quotaViolation.excess)], ['Lacks', p.shortfall && amounts(p.shortfall)]]))),
    h('div', { class: 'arrow', 'aria-hidden': 'true' }, '→'),
    card('Preempted', h('div', { class: 'body' }, p.victims.map((v) => h('div', { class: 'stack victim', key: v.allocationKey, style: { gap: '4px' } },
      h('div', { class: 'row wrap' }, h('b', {}, v.allocationKey), badge(v.state, victimKinds[v.state] ?? '')),
      h('div', { class: 'muted small' }, h('a', { class: 'link', href: ctx.href('queues', { queue: v.queueName }) }, v.queueName), ` · priority ${v.priority} · ${f.amounts(v.resource)} · on ${v.nodeID}`),
      h('div', { class: 'muted small', title: 'resource times the time that it had run' }, `had run for ${f.duration(v.runtimeSeconds * 1000)}, so ${f.quantity('vcore', v.lostWork?.vcore ?? 0)} core-seconds are lost`))), p.moreVictims && h('p', { class: 'muted' }, `and ${f.count(p.moreVictims)} more`)), { sub: f.plural(p.victims.length + (p.moreVictims ?? 0), 'allocation') }));
}

function detail(p, ctx) {
  const n = p.nodes;
  return [
    h('nav', { class: 'crumbs' }, h('a', { href: ctx.href('preemptions') }, 'Preemptions'), '›', h('span', {}, `number ${p.number}`)),
    head(`${who(p)} on ${p.nodeID ?? 'several nodes'}`, time(p.time), badge(p.preemptionReason, 'violet')),
    flow(p, ctx),
    n && card('Nodes compared', h('div', { class: 'body hist' }, [['compared', 'could have been freed', ''], ['noPlan', 'no set of victims is enough', 'occupied'], ['rejected', 'refused by predicates', 'full']].map(([k, text, kind]) => h('div', { class: 'line' }, h('span', { class: 'muted' }, text), h('div', { class: 'bar' }, h('i', { class: kind, style: { width: `${f.percent(n[k], n.compared + n.noPlan + n.rejected)}%` } })), h('b', {}, f.count(n[k])))))),
    p.candidates && card(`What else runs on ${p.nodeID}`, h('div', { class: 'scroll-x' }, h('table', { class: 't' }, h('thead', {}, h('tr', {}, ['Allocation', 'Queue', 'Priority', '', 'Why, or why not'].map((t, i) => h('th', { class: i === 2 ? 'num' : '' }, t)))), h('tbody', {}, p.candidates.map((c) => h('tr', { key: c.allocationKey }, h('td', {}, c.allocationKey), h('td', { class: 'muted' }, c.queueName), h('td', { class: 'num' }, c.priority), h('td', {}, c.victim ? badge('victim', 'bad') : badge('stays', 'good')), h('td', { class: 'muted' }, c.reason, c.youngUntil ? `, until ${f.dateTime(f.millis(c.youngUntil))}` : '')))))), { sub: p.moreCandidates ? `and ${f.count(p.moreCandidates)} more` : f.count(p.candidates.length) }),
  ];
}

export default {
  title: 'Preemptions', topics: ['events'], closes: ['number'], restMillis: 2000,
  key: (ctx) => `${ctx.params.number ?? ''} ${ctx.params.reason ?? ''} ${ctx.params.queue ?? ''}`,
  async load(ctx) {
    const { number, reason, queue } = ctx.params;
    if (number) return { one: await get(`${ctx.base}/preemptions/${encodeURIComponent(number)}`, ctx.signal) };
    const query = new URLSearchParams({ limit: 200 });
    if (reason) query.set('reason', reason);
    if (queue) query.set('queue', queue);
    return get(`${ctx.base}/preemptions?${query}`, ctx.signal);
  },
  render(d, ctx) {
    if (d.one) return h('div', { class: 'page' }, detail(d.one, ctx));
    const { params } = ctx;
    return h('div', { class: 'page' },
      head('Preemptions', [f.count(d.total), d.remembered < d.total ? `, the last ${f.count(d.remembered)} are kept` : ''].join(''),
        h('select', { class: 'input', 'aria-label': 'Reason', value: params.reason ?? '', onchange: (event) => ctx.set({ reason: event.target.value }, true) }, [['', 'Any reason'], ...Object.entries(reasons)].map(([id, text]) => h('option', { value: id, selected: id === (params.reason ?? '') }, text)))),
      d.coolDowns.length > 0 && card('Cool-downs', h('div', { class: 'body stack' }, d.coolDowns.map((c) => h('p', {}, c.queueNames[0] === c.queueNames[1] ? `${c.queueNames[0]} does not preempt its own allocations` : `${c.queueNames.join(' and ')} do not preempt each other`, h('span', { class: 'muted' }, ` until ${f.clock(f.millis(c.until))}: they did so in a cycle`))))),
      h('section', { class: 'card', 'aria-label': 'Preemptions' }, d.preemptions.length === 0
        ? state('bolt', 'Nothing was preempted', params.reason || params.queue ? 'for this reason or in this queue.' : 'since the scheduler has started.')
        : h('div', { class: 'scroll-x' }, h('table', { class: 't' }, h('thead', {}, h('tr', {}, ['When', 'For', 'Because', 'Victims', 'Node', 'Outcome'].map((t) => h('th', {}, t)))),
          h('tbody', {}, d.preemptions.map((p) => h('tr', { key: p.number },
            h('td', { class: 'shrink' }, h('a', { class: 'link', href: ctx.href('preemptions', { number: p.number }) }, time(p.time))),
            h('td', {}, h('a', { class: 'strong', href: ctx.href('preemptions', { number: p.number }) }, who(p)), p.ask && h('div', { class: 'faint small nowrap' }, `${p.ask.queueName.replace(/^root\./, '')} · priority ${p.ask.priority}`)),
            h('td', { class: 'muted nowrap' }, reasons[p.preemptionReason] ?? p.preemptionReason),
            h('td', {}, p.victims.slice(0, 2).map((v) => h('div', { class: 'small' }, v.allocationKey, h('span', { class: 'faint' }, ` ${v.queueName.replace(/^root\./, '')}`))), p.victims.length > 2 && h('div', { class: 'faint small' }, `and ${f.count(p.victims.length - 2 + (p.moreVictims ?? 0))} more`)),
            h('td', { class: 'nowrap' }, p.nodeID ?? '–'),
            h('td', { class: 'nowrap' }, p.placed ? badge(`placed after ${f.duration(p.placed.afterSeconds * 1000)}`, 'good') : p.cancelled ? badge('cancelled') : badge(p.nomination?.state ?? 'done', 'warn')))))))));
  },
};
