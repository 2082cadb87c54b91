// Why one ask waits: the verdict, every bound with its figures, the nodes by what they are to it, and what would help.
import { h } from '../dom.js';
import { get, escape } from '../api.js';
import * as f from '../format.js';
import { card, badge, head, facts, amounts, age, mark, state } from '../parts.js';

const nodeKinds = [
  ['fitting', 'fit', 'good', 'It would be placed there.'], ['tooFull', 'too full', 'pend', 'Large enough, and not free enough now.'], ['tooSmall', 'too small', 'full', 'Smaller than the ask, even when empty.'],
  ['reserved', 'reserved', 'over', 'Reserved for another ask.'], ['unschedulable', 'drained', 'occupied', 'Takes no new allocation.'], ['notSelected', 'not selected', 'occupied', 'Its node selector or node affinity does not admit it.'],
  ['refusedBefore', 'refused it before', 'occupied', 'Its binding failed there, or that of asks like it; it is tried again after a back-off.'],
  ['tainted', 'tainted', 'occupied', 'A taint that the ask does not tolerate.'], ['notRequired', 'not the required one', 'occupied', 'The ask requires another node.'], ['portTaken', 'host port taken', 'full', ''], ['spread', 'topology spread', 'full', ''], ['affinity', 'no pod affinity', 'full', ''], ['antiAffinity', 'anti-affinity', 'full', ''], ['othersAntiAffinity', 'anti-affinity of others', 'full', ''],
];

function headrooms(e) {
  const cell = (r, x) => (x ? h('td', { class: 'num', title: `${f.exact(r.resource, x.free)} free of ${f.exact(r.resource, x.max)}` }, h('span', { class: x.free < r.requested ? 'strong' : '', style: x.free < r.requested ? { color: 'var(--danger)' } : {} }, f.quantity(r.resource, x.free)), h('span', { class: 'faint' }, ` / ${f.quantity(r.resource, x.max)}`), x.boundBy && h('div', { class: 'faint small' }, x.boundBy)) : h('td', { class: 'num faint' }, 'no bound'));
  const plain = (r, n) => h('td', { class: 'num', title: f.exact(r.resource, n) }, h('span', { class: n < r.requested ? 'strong' : '', style: n < r.requested ? { color: 'var(--danger)' } : {} }, f.quantity(r.resource, n)));
  return card('Headroom', h('div', { class: 'scroll-x' }, h('table', { class: 't tight', id: 'headroom' }, h('thead', {}, h('tr', {}, ['Resource', 'Asks for', 'Queues', 'User or group', 'Cluster', 'Most free on a node', 'Largest node'].map((t, i) => h('th', { class: i ? 'num' : '' }, t)))),
    h('tbody', {}, e.resources.map((r) => h('tr', {}, h('td', { class: 'strong' }, f.titleOf(r.resource)), h('td', { class: 'num', title: f.exact(r.resource, r.requested) }, f.quantity(r.resource, r.requested)), cell(r, r.queue), cell(r, r.limit), cell(r, r.cluster), plain(r, r.maxFreeOnNode), plain(r, r.largestNode)))))), { sub: 'free / max, by what leaves the least' });
}

function nodeHistogram(nodes) {
  const seen = nodeKinds.filter(([k]) => nodes[k] > 0 || k === 'fitting');
  return card('Nodes', h('div', { class: 'body hist' }, seen.map(([k, text, kind, title]) => h('div', { class: 'line', title }, h('span', { class: 'muted' }, text), h('div', { class: 'bar' }, h('i', { class: kind === 'good' ? '' : kind, style: { width: `${f.percent(nodes[k], nodes.total)}%` } })), h('b', {}, f.count(nodes[k])))), nodes.reasons?.map((r) => h('div', { class: 'muted small' }, r.message ?? JSON.stringify(r)))), { sub: `of ${f.count(nodes.total)}, each by the first reason` });
}

const gateTitles = {
  __proto__: null,
  resourceManager: 'Resource manager', recovery: 'Recovery', placementRate: 'Placement rate', victims: 'Victims', hold: 'Hold', stoppedQueue: 'Stopped queue', recoveryQueue: 'Recovery queue', replacement: 'Replacement', placeholders: 'Placeholders', members: 'Gang members', startOrder: 'Start order',
  limitMaxApplications: 'Max applications', queueMaxApplications: 'Max applications', limitMaxResources: 'Limit', queueMaxResources: 'Queue max', clusterCapacity: 'Cluster', nodes: 'Nodes', otherAllocations: 'Affinity and ports', gang: 'Gang', predicates: 'Predicates',
};

// gates are all conditions, the closed ones first.
function gates(list) {
  const ordered = [...list.filter((g) => g.closed), ...list.filter((g) => !g.closed)];
  return card('Every gate', h('div', { class: 'body' }, ordered.map((g) => h('div', { class: 'gate' },
    g.closed ? mark('cross', 'bad', 'closed') : mark('check', 'plain', 'open'), h('span', { class: g.closed ? 'strong' : '' }, gateTitles[g.kind] ?? g.kind), h('span', { class: g.closed ? '' : 'muted' }, g.message)))),
  { sub: `${list.filter((g) => g.closed).length} of ${list.length} closed` });
}

// changes are what opens the closed gates: one of each is needed, but for those that another one opens, too.
function changes(e) {
  const closed = e.gates.filter((g) => g.closed);
  if (closed.length === 0) return undefined;
  const several = closed.length > 1;
  return card('Smallest changes that would let it run', h('div', { class: 'body stack', id: 'changes' },
    closed.map((g) => h('div', { class: 'stack' }, several && h('h3', { class: 'small strong' }, gateTitles[g.kind] ?? g.kind, g.subject && g.kind !== 'clusterCapacity' ? ` ${g.subject}` : ''),
      (g.changes ?? []).map((c, i) => h('div', { class: 'change' }, h('span', { class: 'n' }, i + 1), h('span', {}, c.message, c.alsoOpens?.length > 0 && h('span', { class: 'faint' }, ` opens ${c.alsoOpens.map((k) => gateTitles[k] ?? k).join(', ')}, too`)))),
      !g.changes?.length && h('p', { class: 'muted small' }, 'No change helps: it has to be waited for.'))),
    e.largestRequest && h('p', { class: 'muted' }, `Or ${e.largestRequest.message}.`)), { sub: several ? 'one of each group' : 'any one of them' });
}

// order is the place of the ask at each level of the selection order at which there is anything to compare.
function order(levels) {
  const shown = levels.filter((l) => l.of > 1);
  if (shown.length === 0) return undefined;
  const raised = (m) => m.raisedBy ? ` (${f.count(m.raisedBy)} by waiting)` : '';
  const used = (u) => u ? f.usage(u) : 'nothing';
  const why = (l, a) => ({ __proto__: null, priority: `priority ${a.priority}${raised(a)}, above ${l.member.priority}${raised(l.member)}`, share: `share ${a.share.toPrecision(3)}, below ${l.member.share.toPrecision(3)}`, usage: `used ${used(a.usage)}, below ${used(l.member.usage)}`, submission: 'submitted before', creation: 'created before' }[a.by] ?? `by ${a.by}`);
  return card('Selection order', h('div', { class: 'scroll-x' }, h('table', { class: 't tight', id: 'order' }, h('thead', {}, h('tr', {}, h('th', {}, 'Compared in'), h('th', { class: 'num' }, 'Place'), h('th', {}, 'First ahead'))),
    h('tbody', {}, shown.map((l) => h('tr', {}, h('td', {}, h('span', { class: 'strong' }, l.member.name), h('div', { class: 'faint small' }, `${l.kind} of ${l.in}${l.member.raisedBy ? `; priority ${l.member.priority}${raised(l.member)}` : ''}`)), h('td', { class: 'num' }, `${f.count(l.position)} of ${f.count(l.of)}`),
      h('td', {}, l.ahead?.length ? l.ahead.map((a) => h('div', {}, a.name, h('span', { class: 'faint small' }, ` ${why(l, a)}`))) : h('span', { class: 'faint' }, 'nothing'))))))), { sub: 'what comes first is tried first' });
}

// preemption says for which reasons the ask may preempt, and what it would preempt or lacks.
function preemption(e) {
  const later = e.searchedAt > e.time;
  const victims = (p) => `${p.victims.map((v) => v.allocationKey).join(', ')}${p.moreVictims ? ` and ${p.moreVictims} more` : ''}`;
  const lacks = (s) => [
    ...(s.blockingQuotas ?? []).map((q) => h('div', {}, q.quota, h('span', { class: 'muted' }, `: victims would have to give back `), amounts(q.shortfall))),
    ...Object.entries(s.noPlanReasons ?? {}).sort().map(([why, n]) => h('div', { class: 'muted' }, `${f.plural(n, 'node')}: ${why}`)),
    s.youngUntil && h('div', { class: 'muted' }, `the first minimum run time ends in ${f.duration(f.millis(s.youngUntil) - Date.now())}`),
    s.infeasible > 0 && h('div', { class: 'muted' }, `${f.plural(s.infeasible, 'node')}: too little even without all candidates`),
    s.notEvaluated > 0 && h('div', { class: 'muted' }, `${f.plural(s.notEvaluated, 'node')}: nothing that it may preempt`),
    s.nodes?.rejected > 0 && h('div', { class: 'muted' }, `${f.plural(s.nodes.rejected, 'node')}: refused by what else runs there`),
  ];
  const search = (s) => h('div', { class: 'gate' }, s.found ? mark('check', 'plain', 'victims') : mark('cross', 'plain', 'no victims'), h('span', {}, s.preemptionReason),
    h('div', {}, s.plans?.length > 0 && h('div', {}, s.plans[0].victims.length > 0 ? `would end ${victims(s.plans[0])} on ${s.plans[0].nodeID}` : `waits for what ends on ${s.plans[0].nodeID} already`), !s.found && lacks(s)));
  const guarantee = (x) => [
    ...(x.overGuarantee ?? []).map((o) => `; ${o.resource}: ${f.quantity(o.resource, o.guaranteed)} guaranteed, ${f.quantity(o.resource, o.used)} used, ${f.quantity(o.resource, o.requested)} requested${x.entitled ? ', so no victims for it' : ''}`),
    x.side && `; ${x.side} is the side of the ask`,
    ...(x.fairShares ?? []).map((s) => `; ${s.resource}: fair share ${f.quantity(s.resource, s.share)}, ${f.quantity(s.resource, s.held)} held`),
    x.side && !x.fairShares && ', and nothing is contested',
    x.lacking?.length > 0 && `; preemption.guarantee: lacking would entitle it by ${x.lacking.join(', ')}`,
  ];
  return card('May it preempt?', h('div', { class: 'body', id: 'preemption' }, e.entitlements.map((x) => h('div', { class: 'gate' }, x.entitled ? mark('check', 'plain', 'yes') : mark('cross', 'plain', 'no'), h('span', {}, x.preemptionReason),
    h('span', { class: 'muted' }, x.entitled ? 'entitled' : x.reason, x.queueName ? ` (${x.queueName})` : '', guarantee(x), x.entitledAt ? `, entitled in ${f.duration(f.millis(x.entitledAt) - Date.now())}` : ''))),
  e.searches?.length > 0 && h('h3', { class: 'small strong', style: { marginTop: '12px' } }, later ? 'Victims, as things are, when it is entitled' : 'Victims, as things are'), (e.searches ?? []).map(search)));
}

// expectedStart is when the ask is expected to start, or why that is not known, with what it is based on and how right it was.
function expectedStart(s) {
  const c = s.calibration;
  const based = (s.basedOn ?? []).map((g) => `${f.plural(g.durations, 'duration')} of ${g.queueName}${g.tag ? `, ${g.tag}=${g.value}` : ''}`).join('; ');
  const right = c.started > 0 ? `Of ${f.plural(c.started, 'ask')} before, ${Math.round(f.percent(c.withinP90, c.started))} % started by the end of the span.` : '';
  return h('p', { class: 'muted', id: 'expected-start', title: [based && `From ${based}.`, right, ...(s.assumptions ?? []).map((a) => `Assumed: ${a}.`)].filter(Boolean).join('\n') },
    s.message.charAt(0).toUpperCase() + s.message.slice(1), right && h('span', { class: 'faint small' }, ` ${right}`));
}

// searched is the last search for victims that was asked for. The partition decides nothing while one runs, so it is asked for seldom; it is
// not shown when the ask has come to wait for something else since.
const searchMillis = 30000;
const searched = {};

export default {
  title: 'Ask', topics: ['queues', 'nodes'], restMillis: 2000,
  key: (ctx) => ctx.params.key,
  async load(ctx) {
    try {
      const path = `${ctx.base}/ask/${escape(ctx.params.key ?? '')}/explain?expectedStart`;
      const known = searched.path === path && Date.now() - searched.at < searchMillis;
      const e = await get(path + (known ? '' : '&victims'), ctx.signal);
      if (!known) Object.assign(searched, { path, at: Date.now(), code: e.verdict?.code, searches: e.searches, searchedAt: e.searchedAt });
      return { ...e, searches: searched.code === e.verdict?.code ? searched.searches : undefined, searchedAt: searched.searchedAt };
    } catch (error) {
      if (error.status === 404 && error.body?.state) return { gone: error.body };
      throw error;
    }
  },
  render(e, ctx) {
    if (e.gone) {
      return h('div', { class: 'page' }, head(e.gone.allocationKey), state('empty', `It is ${e.gone.state}`, e.gone.Message ?? e.gone.message, e.gone.applicationID && h('a', { class: 'btn', href: ctx.href('application', { app: e.gone.applicationID }) }, e.gone.applicationID)));
    }
    const waits = e.state === 'pending';
    const verdict = e.verdict ?? {};
    return h('div', { class: 'page' },
      h('nav', { class: 'crumbs', 'aria-label': 'Where' }, h('a', { href: ctx.href('asks') }, 'Waiting asks'), '›', h('a', { href: ctx.href('queues', { queue: e.queueName }) }, e.queueName), e.applicationID && ['›', h('a', { href: ctx.href('application', { app: e.applicationID }) }, e.applicationID)]),
      head(e.allocationKey, undefined, badge(e.state, { __proto__: null, pending: 'warn', allocated: 'good', preempting: 'bad', foreign: '' }[e.state]), verdict.permanent && badge('never, as things are', 'bad'), verdict.mayPreempt && badge('may preempt', 'violet'), waits && verdict.listening === false && badge('no resource manager listens', 'bad')),
      h('section', { class: 'card' }, h('div', { class: 'body stack' },
        h('p', { class: `message callout ${verdict.permanent ? 'bad' : waits ? '' : 'good'}`, id: 'reason' }, e.message),
        e.expectedStart && expectedStart(e.expectedStart),
        verdict.backOff?.map((b) => h('p', { class: 'muted small' }, `Back-off: ${b.message.replace(/ at \d{4}-\S+Z/, ` in ${f.duration(f.millis(b.until) - Date.now())}`).replace(/not before \d{4}-\S+Z/, `not before ${f.clock(f.millis(b.until))}`)}`)),
        facts([['Asks for', amounts(e.resource, { pods: true })], [waits ? 'Waits for' : 'Since', age(e.since)], ['Node', e.nodeID && h('a', { class: 'link', href: ctx.href('nodes', { node: e.nodeID }) }, e.nodeID)], ['Requires node', e.requiredNodeId], ['Priority', e.priority], ['User', e.user && h('a', { class: 'link', href: ctx.href('users', { name: e.user }) }, e.user)], ['Verdict', verdict.code && h('code', {}, verdict.code, verdict.subject ? ` (${verdict.subject})` : '')]]))),
      e.gates?.length > 0 && changes(e),
      waits && h('div', { class: 'grid ask-grid' }, e.resources && headrooms(e), e.nodes && nodeHistogram(e.nodes)),
      e.gates?.length > 0 && gates(e.gates),
      e.rank && order(e.rank), e.entitlements?.length > 0 && preemption(e));
  },
};
