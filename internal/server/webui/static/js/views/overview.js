// The state of the partition at a glance.
import { h } from '../dom.js';
import { get, optional } from '../api.js';
import * as f from '../format.js';
import { area, histogram } from '../chart.js';
import { card, head, meter, badge, dot, state, time } from '../parts.js';
import { flatten, resourcesOf } from '../tree.js';
import { eventText, eventKind } from '../eventtext.js';

function busiest(tree) {
  const leaves = tree.all.filter((q) => q.body.isLeaf);
  const weight = (q) => (q.body.pendingResource?.vcore ?? 0) * 4 + (q.body.allocatedResource?.vcore ?? 0);
  return leaves.sort((a, b) => weight(b) - weight(a)).slice(0, 8);
}

function utilization(list, partition) {
  const mine = list.find((x) => x.partition === partition) ?? list[0];
  const types = mine?.utilizations ?? [];
  return types.find((t) => t.type === 'vcore') ?? types[0];
}

const samples = (list, field) => list.map((s) => [f.millis(s.timestamp), Number(s[field])]);

export default {
  title: 'Overview', topics: ['queues', 'nodes', 'events', 'config', 'partitions'], restMillis: 2500,
  key: (ctx) => ctx.partition,
  async load(ctx) {
    const [partitions, root, apps, containers, nodes, check, preemptions, events, budget] = await Promise.all([
      get('partitions', ctx.signal), get(`${ctx.base}/queues`, ctx.signal), optional(get('history/apps', ctx.signal)), optional(get('history/containers', ctx.signal)),
      get('scheduler/node-utilizations', ctx.signal), get('scheduler/healthcheck'), get(`${ctx.base}/preemptions?limit=5`, ctx.signal),
      get('events/batch?since=2m', ctx.signal).catch(() => undefined), optional(get('resourcemanagers', ctx.signal)),
    ]);
    const body = partitions.find((p) => p.name === ctx.partition);
    return { body, tree: flatten(root), apps, containers, nodes, check, preemptions, events, managers: budget };
  },
  render(d, ctx) {
    const { body, tree } = d;
    if (!body) return h('div', { class: 'page' }, state('empty', `There is no partition ${ctx.partition}`, 'The configuration has others.', h('a', { class: 'btn', href: '#/overview' }, 'Go to the first one')));
    const states = body.applications ?? {};
    const waiting = ['Accepted', 'New', 'Resuming'].reduce((n, s) => n + (states[s] ?? 0), 0);
    const root = tree.root.body;
    const resources = resourcesOf(tree).filter((r) => r !== 'pods' || !root.maxResource?.vcore);
    const failed = d.check.HealthChecks.filter((c) => !c.Succeeded);
    const cpu = utilization(d.nodes, ctx.partition);
    const records = (d.events?.EventRecords ?? []).slice(-2000).reverse().filter((r) => r.eventChangeDetailName !== 'NODE_ALLOC' && !/^(FAILED|SKIPPED): /.test(r.message ?? '')).slice(0, 8);
    const empty = !body.totalNodes && !states.total;
    return h('div', { class: 'page' },
      head('Overview', ctx.partition === 'default' ? undefined : `partition ${ctx.partition}`, !d.check.Healthy && h('a', { href: '#/health' }, badge(`${f.plural(failed.length, 'check')} failed`, 'bad')), d.check.Healthy && h('a', { href: '#/health' }, badge('healthy', 'good')), body.state !== 'Active' && badge(body.state, 'warn')),
      empty && h('div', { class: 'notice' }, 'No resource manager has reported nodes or applications yet. A shim connects over gRPC; canopy serve --demo shows a simulated cluster.'),
      h('div', { class: 'tiles' },
        tile('Running applications', f.count(states.Running ?? 0), waiting ? `${f.count(waiting)} not running yet` : 'none waits to start', ctx.href('applications')),
        tile('Allocations', f.count(body.totalContainers ?? 0), 'tasks on nodes', ctx.href('applications')),
        tile('Pending', f.quantity('vcore', root.pendingResource?.vcore ?? 0), 'cores asked for', ctx.href('asks')),
        tile('Nodes', f.count(body.totalNodes ?? 0), `order: ${body.nodeSortingPolicy?.type ?? '–'}`, ctx.href('nodes')),
        tile('Preemptions', f.count(d.preemptions.total), d.preemptions.preemptions[0] ? ['the last ', time(d.preemptions.preemptions[0].time)] : 'since the start', ctx.href('preemptions'))),
      card('Capacity', h('div', { class: 'body grid cols-3' }, resources.length === 0 ? h('p', { class: 'muted' }, 'There is no node.') : resources.map((r) => h('div', { class: 'stack', style: { gap: '4px' } }, h('div', { class: 'row' }, h('b', {}, f.titleOf(r)), h('span', { class: 'muted small' }, `${Math.round(f.percent(root.allocatedResource?.[r] ?? 0, root.maxResource?.[r]))} %`)), meter(r, { used: root.allocatedResource?.[r], max: root.maxResource?.[r], pending: root.pendingResource?.[r], preempting: root.preemptingResource?.[r] }))))),
      h('div', { class: 'columns' },
        h('div', {},
          d.apps && card('Running applications', h('div', { class: 'body' }, area(samples(d.apps, 'totalApplications'), { label: 'Running applications' })), { sub: 'last day, all partitions' }),
          d.containers && card('Allocations', h('div', { class: 'body' }, area(samples(d.containers, 'totalContainers'), { label: 'Allocations', kind: 'alt' })), { sub: 'last day, all partitions' }),
          card('Nodes by CPU in use', h('div', { class: 'body' }, cpu ? histogram(cpu.utilization.map((b) => [b.bucketName.replace(/-.*/, ''), b.numOfNodes ?? 0, `${b.bucketName}: ${f.plural(b.numOfNodes ?? 0, 'node')}${b.nodeNames ? `\n${b.nodeNames.slice(0, 12).join(', ')}${b.nodeNames.length > 12 ? ' …' : ''}` : ''}`]), { label: 'Nodes by CPU in use' }) : h('p', { class: 'muted' }, 'There is no node.')), { sub: 'percent' })),
        h('div', {},
          card('Busiest queues', h('div', { class: 'body stack' }, busiest(tree).map((q) => h('a', { key: q.path, href: ctx.href('queues', { queue: q.path }), class: 'grid', style: { 'grid-template-columns': 'minmax(0,1fr) minmax(0,1.1fr)', gap: '16px', 'align-items': 'center' } }, h('span', { class: 'ellipsis', title: q.path }, h('b', {}, q.name), h('span', { class: 'faint small' }, ` ${q.parent ? q.parent.path.replace(/^root\.?/, '') : ''}`)), meter('vcore', { used: q.body.allocatedResource?.vcore, max: q.max.vcore, guaranteed: q.body.guaranteedResource?.vcore, pending: q.body.pendingResource?.vcore })))), { sub: 'CPU', tools: h('a', { class: 'link small', href: ctx.href('queues') }, 'All queues') }),
          records.length > 0 && card('What happens', h('table', { class: 't' }, h('tbody', {}, records.map((r) => h('tr', {}, h('td', { class: 'shrink faint' }, f.clock(f.millis(r.timestampNano))), h('td', { class: 'small' }, h('span', { class: 'row' }, dot(eventKind(r)), h('b', {}, r.objectID)), h('div', { class: 'muted' }, eventText(r))))))), { tools: h('a', { class: 'link small', href: ctx.href('events') }, 'All events') }))));
  },
};

const tile = (k, v, n, href) => h('a', { class: 'tile', href }, h('span', { class: 'k' }, k), h('span', { class: 'v' }, v), h('span', { class: 'n' }, n));
