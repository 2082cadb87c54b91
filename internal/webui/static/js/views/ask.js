// Why one ask waits: the verdict, every bound with its figures, the nodes by what they are to it, and what would help.
import { h } from '../dom.js';
import { get, escape } from '../api.js';
import * as f from '../format.js';
import { card, badge, head, facts, amounts, age, mark, state } from '../parts.js';

const nodeKinds = [
  ['fitting', 'fit', 'good', 'It would be placed there.'], ['tooFull', 'too full', 'pend', 'Large enough, and not free enough now.'], ['tooSmall', 'too small', 'full', 'Smaller than the ask, even when empty.'],
  ['reserved', 'reserved', 'over', 'Reserved for another ask.'], ['unschedulable', 'drained', 'occupied', 'Takes no new allocation.'], ['notSelected', 'not selected', 'occupied', 'Its node selector or node affinity does not admit it.'],
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

// sentence is the text of an entry that a newer server may describe in one of several ways.
const sentence = (x) => (typeof x === 'string' ? x : x.message ?? x.text ?? x.description ?? Object.entries(x).filter(([, v]) => typeof v !== 'object').map(([k, v]) => `${k} ${v}`).join(', '));

function gates(list) {
  return card('Every gate', h('div', { class: 'body' }, list.map((g) => {
    const passed = g.passed ?? g.open ?? g.ok ?? (g.blocked === undefined ? undefined : !g.blocked);
    return h('div', { class: 'gate' }, passed === undefined ? mark('wait', 'plain', 'unknown') : passed ? mark('check', 'plain', 'passed') : mark('cross', 'bad', 'blocked'), h('span', { class: 'strong' }, g.title ?? g.name ?? g.gate ?? g.code), h('span', { class: 'muted' }, sentence(g)));
  })), { sub: 'not only the first that holds it back' });
}

function changes(list) {
  return card('Smallest changes that would let it run', h('div', { class: 'body', id: 'changes' }, list.map((c, i) => h('div', { class: 'change' }, h('span', { class: 'n' }, i + 1), h('span', {}, sentence(c))))), { sub: 'any one of them' });
}

export default {
  title: 'Ask', topics: ['queues', 'nodes'], restMillis: 2000,
  key: (ctx) => ctx.params.key,
  async load(ctx) {
    try {
      return await get(`${ctx.base}/ask/${escape(ctx.params.key ?? '')}/explain`, ctx.signal);
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
      head(e.allocationKey, undefined, badge(e.state, { pending: 'warn', allocated: 'good', preempting: 'bad', foreign: '' }[e.state]), verdict.permanent && badge('never, as things are', 'bad'), verdict.mayPreempt && badge('may preempt', 'violet'), waits && verdict.listening === false && badge('no resource manager listens', 'bad')),
      h('section', { class: 'card' }, h('div', { class: 'body stack' },
        h('p', { class: `message callout ${verdict.permanent ? 'bad' : waits ? '' : 'good'}`, id: 'reason' }, e.message),
        verdict.backOff?.map((b) => h('p', { class: 'muted small' }, `Back-off: ${b.message.replace(/ at \d{4}-\S+Z/, ` in ${f.duration(f.millis(b.until) - Date.now())}`).replace(/not before \d{4}-\S+Z/, `not before ${f.clock(f.millis(b.until))}`)}`)),
        facts([['Asks for', amounts(e.resource, { pods: true })], [waits ? 'Waits for' : 'Since', age(e.since)], ['Node', e.nodeID && h('a', { class: 'link', href: ctx.href('nodes', { node: e.nodeID }) }, e.nodeID)], ['Requires node', e.requiredNodeId], ['Priority', e.priority], ['User', e.user && h('a', { class: 'link', href: ctx.href('users', { name: e.user }) }, e.user)], ['Verdict', verdict.code && h('code', {}, verdict.code, verdict.subject ? ` (${verdict.subject})` : '')], ['Expected start', e.expected && sentence(e.expected)], ['Rank', e.rank && (typeof e.rank === 'number' ? e.rank : sentence(e.rank))]]))),
      e.changes?.length > 0 && changes(e.changes),
      waits && h('div', { class: 'grid ask-grid' }, e.resources && headrooms(e), e.nodes && nodeHistogram(e.nodes)),
      e.gates?.length > 0 && gates(e.gates));
  },
};
