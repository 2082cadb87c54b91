// The nodes as a heat map, and the largest ask that fits now.
import { h } from '../dom.js';
import { icon } from '../icons.js';
import { get } from '../api.js';
import * as f from '../format.js';
import { actions } from '../actions.js';
import { card, head, meter, badge, amounts, segments, filterInput, state } from '../parts.js';

const zoneLabel = 'topology.kubernetes.io/zone';

function usedPart(n, resource) {
  const names = resource === 'most' ? Object.keys(n.capacity ?? {}).filter((r) => r !== 'pods') : [resource];
  return Math.max(0, ...names.map((r) => f.percent((n.allocated?.[r] ?? 0) + (n.occupied?.[r] ?? 0), n.capacity?.[r])));
}

// largest is, for each resource, the schedulable node with most of it free, and what else is free there.
function largest(nodes, resources) {
  return resources.map((r) => {
    const best = nodes.filter((n) => n.schedulable).reduce((a, n) => (!a || (n.available?.[r] ?? 0) > (a.available?.[r] ?? 0) ? n : a), undefined);
    return best && { resource: r, node: best };
  }).filter((x) => x && x.node.available?.[x.resource] > 0);
}

// fitCount is how many asks of a size fit on a node now.
const fitCount = (n, want) => (n.schedulable ? Math.max(0, Math.min(...Object.entries(want).map(([r, w]) => Math.floor((n.available?.[r] ?? 0) / w)))) : 0);

function wanted(params) {
  const want = { __proto__: null };
  if (Number(params.cpu) > 0) want.vcore = Math.round(Number(params.cpu) * 1000);
  if (Number(params.mem) > 0) want.memory = Math.round(Number(params.mem) * 2 ** 30);
  if (Number(params.gpu) > 0) want['nvidia.com/gpu'] = Math.round(Number(params.gpu));
  return Object.keys(want).length ? want : undefined;
}

// stateOf is the text and the kind of the state of a node.
function stateOf(n) {
  if (n.drain === 'draining') return [`draining, ${f.count(n.leftToDrain)} left`, 'warn'];
  if (n.drain) return [n.drain, 'warn'];
  if (n.cordoned) return ['cordoned', 'warn'];
  return n.schedulable ? ['schedulable', 'good'] : ['drained', 'warn'];
}

function details(n, ctx) {
  const names = f.sortResources(Object.keys(n.capacity ?? {}));
  return card(n.nodeID, h('div', { class: 'body stack' },
    h('div', { class: 'row wrap' }, badge(...stateOf(n)), n.overcommitted && badge(`overcommitted by ${f.amounts(n.overcommitted)}`, 'bad'), n.isReserved && badge(`reserved for ${n.reservations?.[0] ?? 'an ask'}`, 'violet'), n.rackName && badge(n.rackName)),
    actions(ctx, 'node', n.nodeID, [!n.cordoned && 'cordon', !n.drain && 'drain', n.cordoned && 'uncordon']),
    names.map((r) => h('div', {}, h('div', { class: 'row small' }, h('b', {}, f.titleOf(r)), h('span', { class: 'muted' }, `${f.quantity(r, n.available?.[r] ?? 0)} free`)), meter(r, { used: n.allocated?.[r], max: n.capacity[r], occupied: n.occupied?.[r], label: n.occupied?.[r] ? `${f.quantity(r, n.occupied[r])} of others` : '' }))),
    h('h3', { class: 'small strong' }, f.plural(n.allocations?.length ?? 0, 'allocation')),
    n.allocations && h('div', { class: 'scroll', style: { 'max-height': '320px' } }, h('table', { class: 't small' }, h('tbody', {}, n.allocations.slice(0, 300).map((x) => h('tr', { key: x.allocationKey }, h('td', {}, h('a', { class: 'link', href: ctx.href('ask', { key: x.allocationKey }) }, x.allocationKey), x.preempted && badge('preempting', 'bad')), h('td', { class: 'num' }, f.amounts(x.resource))))))),
    n.foreignAllocations && h('p', { class: 'muted small' }, `${f.plural(n.foreignAllocations.length, 'allocation')} of other schedulers`),
    h('details', {}, h('summary', { class: 'small muted' }, 'Attributes'), h('dl', { class: 'facts small' }, Object.entries(n.attributes ?? {}).map(([k, v]) => [h('dt', { class: 'mono' }, k), h('dd', { class: 'mono' }, v)])))),
  { class: 'panel', key: 'panel', label: `Node ${n.nodeID}`, tools: h('button', { class: 'btn icon', type: 'button', 'aria-label': 'Close', onclick: () => ctx.set({ node: undefined }) }, icon('close')) });
}

function cell(n, resource, want, selected, ctx) {
  const u = usedPart(n, resource);
  const fits = want && fitCount(n, want) > 0;
  return h('button', {
    key: n.nodeID, type: 'button', class: `cell ${u > 55 ? 'hot' : ''} ${n.schedulable ? '' : 'drained'} ${n.isReserved ? 'reserved' : ''} ${selected ? 'selected' : ''} ${fits ? 'fits' : ''}`, style: { '--u': String(Math.round(u)) },
    'aria-label': `${n.nodeID}: ${Math.round(u)} percent in use${n.schedulable ? '' : ', drained'}`, 'aria-pressed': selected ? 'true' : 'false', 'data-node': n.nodeID,
    'data-tip': `${n.nodeID}${n.schedulable ? '' : ' · drained'}${n.overcommitted ? ` · overcommitted by ${f.amounts(n.overcommitted)}` : ''}\n${f.sortResources(Object.keys(n.capacity ?? {})).filter((r) => r !== 'pods').map((r) => `${f.titleOf(r)} ${f.quantity(r, (n.allocated?.[r] ?? 0) + (n.occupied?.[r] ?? 0))} / ${f.quantity(r, n.capacity[r])}`).join('\n')}\n${f.plural(n.allocations?.length ?? 0, 'allocation')}`,
    onclick: () => ctx.set({ node: selected ? undefined : n.nodeID }), onkeydown: moveCell,
  }, Math.round(u));
}

// moveCell moves the focus between cells with the arrow keys.
function moveCell(event) {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const all = [...document.querySelectorAll('.cell')];
  const at = all.indexOf(event.target);
  if (step) all[at + step]?.focus();
  else if (event.key === 'ArrowUp' || event.key === 'ArrowDown') {
    const box = event.target.getBoundingClientRect();
    const down = event.key === 'ArrowDown';
    const beyond = all.filter((x) => (down ? x.getBoundingClientRect().top >= box.bottom - 2 : x.getBoundingClientRect().bottom <= box.top + 2));
    const far = (x) => { const b = x.getBoundingClientRect(); return Math.abs(b.top - box.top) * 4 + Math.abs(b.left - box.left); };
    beyond.sort((a, b) => far(a) - far(b))[0]?.focus();
  } else return;
  event.preventDefault();
}

export default {
  title: 'Nodes', topics: ['nodes'], closes: ['node'], filters: true, restMillis: 1500,
  key: (ctx) => ctx.partition,
  load: (ctx) => get(`${ctx.base}/nodes`, ctx.signal),
  render(list, ctx) {
    const { params } = ctx;
    if (list.length === 0) return h('div', { class: 'page' }, head('Nodes'), state('empty', 'There is no node', 'A resource manager reports nodes when it has registered.'));
    const names = f.sortResources(new Set(list.flatMap((n) => Object.keys(n.capacity ?? {}))));
    const resource = params.by ?? (names.includes('vcore') ? 'vcore' : 'most');
    const want = wanted(params);
    const query = params.q?.toLowerCase();
    const nodes = list.filter((n) => !query || [n.nodeID, n.hostName, n.rackName, ...Object.values(n.attributes ?? {})].some((t) => t?.toLowerCase().includes(query)));
    const groupBy = params.group ?? 'rack';
    const groups = Map.groupBy ? Map.groupBy(nodes, (n) => groupName(n, groupBy)) : nodes.reduce((m, n) => m.set(groupName(n, groupBy), [...(m.get(groupName(n, groupBy)) ?? []), n]), new Map());
    const selected = params.node && list.find((n) => n.nodeID === params.node);
    const drained = list.filter((n) => !n.schedulable).length;
    const overcommitted = list.filter((n) => n.overcommitted).length;
    const fitting = want && nodes.map((n) => fitCount(n, want));
    return h('div', { class: 'page' },
      head('Nodes', [f.count(list.length), drained ? `, ${f.count(drained)} drained` : '', overcommitted ? `, ${f.count(overcommitted)} overcommitted` : ''].join(''), filterInput(params.q, 'Filter by name or attribute', (q) => ctx.set({ q })),
        segments('Group', [['rack', 'Racks'], ['zone', 'Zones'], ['none', 'None']], groupBy, (id) => ctx.set({ group: id })),
        h('select', { class: 'input', 'aria-label': 'Colour by', value: resource, onchange: (event) => ctx.set({ by: event.target.value }) }, [['most', 'Most used resource'], ...names.map((r) => [r, f.titleOf(r)])].map(([id, text]) => h('option', { value: id, selected: id === resource }, text)))),
      card('Largest ask that fits now', h('div', { class: 'body stack' },
        h('div', { class: 'grid cols-3' }, largest(list, names.filter((r) => r !== 'pods')).map(({ resource: r, node }) => h('div', { key: r }, h('div', { class: 'muted small' }, `most ${f.titleOf(r)}`), h('div', { class: 'strong' }, amounts(node.available)), h('a', { class: 'link small', href: ctx.href('nodes', { ...params, node: node.nodeID }) }, node.nodeID)))),
        h('form', { class: 'row wrap', onsubmit: (event) => event.preventDefault() }, h('span', { class: 'muted' }, 'How often does this fit:'),
          [['cpu', 'cores'], ['mem', 'Gi'], names.includes('nvidia.com/gpu') && ['gpu', 'GPUs']].filter(Boolean).map(([id, text]) => h('label', { class: 'row small' }, h('input', { class: 'input', type: 'number', min: 0, step: 'any', style: { width: '84px' }, value: params[id] ?? '', 'aria-label': text, oninput: (event) => ctx.set({ [id]: event.target.value }) }), text)),
          want && h('b', { role: 'status' }, `${f.count(fitting.reduce((a, b) => a + b, 0))} times on ${f.plural(fitting.filter((n) => n > 0).length, 'node')}`)))),
      h('div', { class: `split ${selected ? '' : 'single'}`, style: { flex: 'none', 'align-items': 'start' } },
        h('section', { class: 'card', 'aria-label': 'Heat map' }, h('div', { class: `body heat ${groups.size === 1 ? 'one' : ''}`, style: { '--cell': nodes.length > 1500 ? '18px' : nodes.length > 300 ? '30px' : '44px' } },
          nodes.length === 0 ? state('empty', 'No node matches', 'Change the filter.') : [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, members]) => h('div', { class: 'heat-group', key: name }, groupBy !== 'none' && h('h3', {}, name, h('span', { class: 'faint' }, f.count(members.length))), h('div', { class: 'heat-cells' }, members.map((n) => cell(n, resource, want, n.nodeID === params.node, ctx))))),
          h('div', { class: 'legend' }, h('span', {}, '0 %', h('span', { class: 'scale' }), '100 % in use'), h('span', {}, h('span', { class: 'cell drained', style: { width: '14px' } }), 'drained'), h('span', {}, h('span', { class: 'dot violet' }), 'reserved'), want && h('span', {}, h('span', { class: 'cell fits', style: { width: '14px' } }), 'the ask fits')))),
        selected && details(selected, ctx)));
  },
};

const groupName = (n, by) => (by === 'none' ? '' : by === 'zone' ? n.attributes?.[zoneLabel] ?? 'no zone' : n.rackName ?? 'no rack');
