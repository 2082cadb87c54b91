// The queue tree: what each queue uses of its guarantee and its max, what is pending, and what binds it.
import { h } from '../dom.js';
import { icon } from '../icons.js';
import { get } from '../api.js';
import * as f from '../format.js';
import { vlist } from '../vlist.js';
import { actions } from '../actions.js';
import { badge, mark, meter, meterLegend, card, facts, head, filterInput, state, amounts } from '../parts.js';
import { flatten, visibleRows, resourcesOf } from '../tree.js';

const store = 'canopy-open-queues';

function openSet(ctx) {
  if (!ctx.local.open) {
    let saved = [];
    try { saved = JSON.parse(sessionStorage.getItem(`${store} ${ctx.partition}`)) ?? []; } catch { /* nothing is saved */ }
    ctx.local.open = new Set(saved);
    ctx.local.fresh = saved.length === 0;
  }
  return ctx.local.open;
}

function toggle(ctx, path, want) {
  const open = openSet(ctx);
  const next = want ?? !open.has(path);
  if (next) open.add(path); else open.delete(path);
  try { sessionStorage.setItem(`${store} ${ctx.partition}`, JSON.stringify([...open].slice(0, 5000))); } catch { /* it lasts until the page is closed */ }
  ctx.redraw();
}

function nameCell(q, ctx, isOpen) {
  const marks = [];
  if (q.binding) marks.push(mark('lock', 'warn', `Its max holds back asks below: ${q.binding}`));
  if (q.body.isPriorityFence) marks.push(mark('fence', 'plain', 'Priority fence: priorities below do not count outside of it'));
  if (q.body.isPreemptionFence) marks.push(mark('fence', 'violet', 'Preemption fence: asks below preempt only below it'));
  if (q.over) marks.push(mark('up', 'violet', `Above its guarantee: ${q.over}`));
  if (q.body.quotaViolation) marks.push(mark('cross', 'bad', 'Above its max'));
  if (q.body.status === 'Draining') marks.push(mark('drain', 'warn', 'Draining: it accepts no new application'));
  return h('div', { class: `tree-name ${q.children.length ? 'parent' : ''}`, role: 'gridcell' },
    Array.from({ length: q.depth }, () => h('span', { class: 'guide', 'aria-hidden': 'true' })),
    q.children.length
      ? h('button', { class: `twist ${isOpen ? 'open' : ''}`, type: 'button', tabindex: -1, 'aria-label': isOpen ? `Close ${q.path}` : `Open ${q.path}`, onclick: (event) => { event.preventDefault(); toggle(ctx, q.path); } }, icon('chevron'))
      : h('span', { class: 'twist', 'aria-hidden': 'true' }),
    h('span', { class: 'label ellipsis', title: q.path }, q.name), !q.body.isManaged && badge('dynamic'), marks);
}

function row(q, ctx, shownResources, open) {
  const { body } = q;
  return [
    nameCell(q, ctx, open),
    shownResources.map((r) => h('div', { role: 'gridcell' }, meter(r, {
      used: body.allocatedResource?.[r], max: q.max[r], guaranteed: body.guaranteedResource?.[r], pending: body.pendingResource?.[r], preempting: body.preemptingResource?.[r],
    }))),
    h('div', { role: 'gridcell', class: 'right' }, h('span', { title: 'running applications' }, f.count(body.runningApps)), body.maxRunningApps ? h('span', { class: 'faint' }, ` / ${f.count(body.maxRunningApps)}`) : ''),
    h('div', { role: 'gridcell', class: 'right nowrap', title: `current priority ${body.currentPriority}, offset ${body.priorityOffset ?? 0}` }, body.currentPriority > -2147483648 ? f.count(body.currentPriority) : h('span', { class: 'faint' }, '–'), body.priorityOffset ? h('span', { class: 'faint small' }, ` ${body.priorityOffset > 0 ? '+' : '−'}${Math.abs(body.priorityOffset)}`) : ''),
  ];
}

function details(q, data, ctx) {
  const { body } = q;
  const all = f.sortResources(new Set(['allocatedResource', 'maxResource', 'guaranteedResource', 'pendingResource'].flatMap((k) => Object.keys(body[k] ?? {}))));
  const held = q.heldBy.map(({ queue, resource, free }) => h('li', {}, h('span', {}, mark('lock', 'warn', 'binds')), h('span', {}, h('a', { class: 'link', href: ctx.href('queues', { ...ctx.params, queue: queue.path }) }, queue.path), ` has ${f.quantity(resource, free)} ${f.unit(resource)} of ${f.quantity(resource, queue.max[resource])} ${f.titleOf(resource)} left`)));
  const changed = Object.entries(body.properties ?? {});
  return card(q.name, h('div', { class: 'body stack' },
    h('div', { class: 'crumbs' }, q.path.split('.').map((name, i, levels) => [i ? '›' : '', h('a', { href: ctx.href('queues', { ...ctx.params, queue: levels.slice(0, i + 1).join('.') }) }, name)])),
    h('div', { class: 'row wrap' }, badge(body.isLeaf ? 'leaf' : 'parent'), badge(body.status, body.status === 'Active' ? 'good' : 'warn'), body.isPriorityFence && badge('priority fence'), body.isPreemptionFence && badge('preemption fence', 'violet'), !body.preemptionEnabled && badge('no preemption', 'warn'), q.over && badge('above its guarantee', 'violet')),
    all.map((r) => h('div', { class: 'stack', style: { gap: '2px' } }, h('div', { class: 'row small' }, h('b', {}, f.titleOf(r)), h('span', { class: 'muted' }, `${body.headroom?.[r] === undefined ? '' : `headroom ${f.quantity(r, body.headroom[r])}`}`)),
      meter(r, { used: body.allocatedResource?.[r], max: q.max[r], guaranteed: body.guaranteedResource?.[r], pending: body.pendingResource?.[r], preempting: body.preemptingResource?.[r], label: [body.guaranteedResource?.[r] !== undefined && `guaranteed ${f.quantity(r, body.guaranteedResource[r])}`, body.pendingResource?.[r] && `+${f.quantity(r, body.pendingResource[r])} pending`].filter(Boolean).join(' · ') }),
      q.maxFrom[r] && q.maxFrom[r] !== q.path && h('span', { class: 'faint small' }, `its max is that of ${q.maxFrom[r]}`))),
    held.length > 0 && h('div', { class: 'stack' }, h('h3', { class: 'small strong' }, 'What holds back its asks'), h('ul', { class: 'changes-list small' }, held)),
    h('div', { class: 'row wrap' }, h('a', { class: 'btn', href: ctx.href('asks', { queue: q.path }) }, 'Waiting asks'), h('a', { class: 'btn', href: ctx.href('applications', { queue: q.path }) }, 'Applications')),
    actions(ctx, 'queue', q.path, [body.status !== 'Stopped' && 'stop', body.status !== 'Draining' && 'drain', body.status !== 'Active' && 'start']),
    facts([
      ['Applications', `${f.count(body.runningApps)} running${body.maxRunningApps ? ` of ${f.count(body.maxRunningApps)}` : ''}`],
      ['Priority', body.currentPriority > -2147483648 ? `${body.currentPriority}${body.priorityOffset ? `, with offset ${body.priorityOffset}` : ''}` : 'nothing pending'],
      ['Order', (body.properties?.['fairness.halflife'] ?? 'off') !== 'off' ? 'priority, then usage over time' : body.isLeaf ? body.sortingPolicy : 'priority, then share of the guarantee'],
      ['Used', body.usageOverTime && `${f.usage(body.usageOverTime)}, half-life ${body.usageOverTime.halfLife}`], ['Preemption delay', body.preemptionEnabled ? body.preemptionDelay : 'preemption is off'],
      ['Preempting', body.preemptingResource && Object.keys(body.preemptingResource).length ? amounts(body.preemptingResource) : undefined],
      ['Over its max', body.quotaViolation && amounts(body.quotaViolation.excess)],
      ['Max as configured', configured(body.configuredMax)],
      ['Guaranteed as configured', body.configuredGuaranteed && `${configured(body.configuredGuaranteed)}${body.guaranteeReduced ? ', scaled down' : ''}`],
    ]),
    body.classQuotas && h('div', { class: 'stack' }, h('h3', { class: 'small strong' }, 'Class quotas'), body.classQuotas.map((c) => h('div', { class: 'small' }, h('b', {}, c.name), ' ', Object.keys(c.hard).map((r) => `${r} ${f.quantity(r, c.used?.[r] ?? 0)} / ${f.quantity(r, c.hard[r])}`).join(', ')))),
    body.template && h('div', { class: 'stack' }, h('h3', { class: 'small strong' }, 'Template for queues below'), facts([['Max', body.template.maxResource && amounts(body.template.maxResource)], ['Max in percent', configured(body.template.maxPercents)], ['Guaranteed', body.template.guaranteedResource && amounts(body.template.guaranteedResource)], ['Guaranteed in percent', configured(body.template.guaranteedPercents)], ['Applications', body.template.maxApplications]])),
    changed.length > 0 && h('div', { class: 'stack' }, h('h3', { class: 'small strong' }, 'Properties'), h('dl', { class: 'facts small' }, changed.map(([k, v]) => [h('dt', { class: 'mono' }, k), h('dd', { class: 'mono' }, v)])))),
  { class: 'panel', key: 'panel', label: `Queue ${q.path}`, tools: h('button', { class: 'btn icon', type: 'button', 'aria-label': 'Close', onclick: () => ctx.set({ queue: undefined }) }, icon('close')) });
}

// configured has quotas as they are written, percents included; they follow the nodes.
function configured(texts) {
  return texts && Object.keys(texts).map((r) => `${f.titleOf(r)} ${texts[r]}`).join(', ');
}

export default {
  title: 'Queues', topics: ['queues', 'partitions'], closes: ['queue'], filters: true,
  key: (ctx) => ctx.partition,
  async load(ctx) {
    const root = await get(`${ctx.base}/queues`, ctx.signal);
    return flatten(root);
  },
  render(data, ctx) {
    const { params } = ctx;
    const open = openSet(ctx);
    if (ctx.local.fresh) {
      ctx.local.fresh = false;
      open.add(data.root.path);
      if (data.all.length < 60) data.all.forEach((q) => open.add(q.path));
      else data.root.children.length < 60 && data.root.children.slice(0, 1).forEach((q) => open.add(q.path));
    }
    const selected = params.queue && data.byPath.get(params.queue);
    if (selected && ctx.local.revealed !== params.queue) {
      ctx.local.revealed = params.queue;
      for (let q = selected.parent; q; q = q.parent) open.add(q.path);
    }
    const rows = visibleRows(data, open, params.q, params.only);
    const names = resourcesOf(data);
    const wanted = params.res ? params.res.split(',').filter((r) => names.includes(r)) : names.filter((r) => r !== 'pods').slice(0, innerWidth < 1280 || selected ? 1 : 2);
    const shownResources = wanted.length ? wanted : names.slice(0, 1);
    return h('div', { class: 'page fill' },
      head('Queues', f.plural(data.all.length, 'queue'),
        filterInput(params.q, 'Filter by name', (q) => ctx.set({ q })),
        h('select', { class: 'input', 'aria-label': 'Which queues', value: params.only ?? '', onchange: (event) => ctx.set({ only: event.target.value }) }, [['', 'All'], ['pending', 'With pending asks'], ['binding', 'That hold asks back'], ['over', 'Above their guarantee'], ['marked', 'Fences and draining']].map(([id, text]) => h('option', { value: id, selected: (params.only ?? '') === id }, text))),
        h('select', { class: 'input', 'aria-label': 'Resources', value: shownResources.join(), onchange: (event) => ctx.set({ res: event.target.value }) }, [...names, names.length > 1 && names.slice(0, 2).join()].filter(Boolean).map((r) => h('option', { value: r, selected: r === shownResources.join() }, r.split(',').map(f.titleOf).join(' and ')))),
        h('button', { class: 'btn', type: 'button', onclick: () => { data.all.forEach((q) => q.children.length && open.add(q.path)); ctx.redraw(); } }, 'Open all'),
        h('button', { class: 'btn', type: 'button', onclick: () => { open.clear(); open.add(data.root.path); ctx.redraw(); } }, 'Close all')),
      h('div', { class: `split ${selected ? '' : 'single'}` },
        h('section', { class: 'card list-card', 'aria-label': 'Queue tree', style: { '--res': String(shownResources.length) } },
          h('div', { class: 'vhead cols-queues', role: 'presentation' }, h('span', {}, 'Queue'), shownResources.map((r) => h('span', {}, f.titleOf(r))), h('span', { class: 'right' }, 'Running'), h('span', { class: 'right' }, 'Priority')),
          rows.length === 0 ? state('empty', 'No queue matches', 'Change the filter.') : vlist({
            label: 'Queues', role: 'treegrid', rows, height: 48, columns: 'cols-queues', id: (q) => q.path, selected: params.queue,
            render: (q) => row(q, ctx, shownResources, open.has(q.path)),
            rowAttrs: (q) => ({ 'aria-level': q.depth + 1, 'aria-expanded': q.children.length ? String(open.has(q.path)) : undefined, 'data-queue': q.path }),
            onOpen: (q) => ctx.set({ queue: q.path === params.queue ? undefined : q.path }),
            onSide: (q, right) => {
              if (right && q.children.length) { if (open.has(q.path)) return q.children[0].path; toggle(ctx, q.path, true); return undefined; }
              if (!right && open.has(q.path) && q.children.length) { toggle(ctx, q.path, false); return undefined; }
              return right ? undefined : q.parent?.path;
            },
          }),
          h('div', { class: 'row', style: { padding: '8px 16px', 'border-top': '1px solid var(--line)' } }, meterLegend())),
        selected && details(selected, data, ctx)));
  },
};

