// The configuration in force and those before it: text, differences, what a new one would change, and roll-back.
import { h } from '../dom.js';
import { get, post, mayChange } from '../api.js';
import * as f from '../format.js';
import { card, head, badge, segments, state, confirm, mark } from '../parts.js';
import { diffLines, hunks } from '../diff.js';

const sources = { __proto__: null, default: 'built in', file: 'file', sighup: 'file, after SIGHUP', rm: 'resource manager', rest: 'REST', rollback: 'roll-back', program: 'program' };

function textDiff(before, after) {
  const lines = hunks(diffLines(before, after));
  if (!lines.some((l) => l.kind === '+' || l.kind === '-')) return state('check', 'The texts are the same');
  return h('div', { class: 'diff', role: 'table', 'aria-label': 'Difference of the texts', id: 'diff' }, lines.map((l) => (l.kind === 'gap' ? h('div', { class: 'gap' }, `${f.plural(l.skipped, 'equal line')}`) : h('div', { class: `l ${{ '+': 'add', '-': 'del' }[l.kind] ?? ''}`, role: 'row' }, h('span', {}, l.before ?? ''), h('span', {}, l.after ?? ''), h('span', {}, l.kind === ' ' ? '' : l.kind), h('span', {}, l.text)))));
}

const plainText = (text) => h('div', { class: 'diff' }, text.replace(/\n$/, '').split('\n').slice(0, 20000).map((line, i) => h('div', { class: 'l' }, h('span', {}, i + 1), h('span', {}), h('span', {}), h('span', {}, line))));

// changeList is what differs in effective values.
function changeList(changes) {
  const items = [];
  const add = (kind, title, values) => items.push(h('li', {}, { __proto__: null, created: mark('plus', 'plain', 'created'), removed: mark('minus', 'bad', 'removed') }[kind] ?? mark('config', 'plain', 'changed'), h('div', {}, h('b', {}, title), values.filter((v) => !v.inherited || values.length < 3).map((v) => h('div', { class: 'small muted' }, `${v.name}: ${v.before || 'not set'} → ${v.after || 'not set'}${v.inherited ? ' (inherited)' : ''}`)))));
  for (const p of changes?.partitions ?? []) {
    if (p.kind !== 'changed' || p.settings) add(p.kind, `partition ${p.partition}`, p.settings ?? []);
    for (const q of p.queues ?? []) add(q.kind, q.queue, q.values ?? []);
    for (const l of p.limits ?? []) add(l.kind, `limit of ${l.user ? `user ${l.user}` : `group ${l.group}`} in ${l.queue}`, l.values ?? []);
  }
  for (const c of changes?.priorityclasses ?? []) add(c.kind, `priority class ${c.class}`, c.values ?? []);
  for (const b of changes?.disruptionbudgets ?? []) add(b.kind, `disruption budget ${b.budget}`, b.values ?? []);
  if (items.length > 12) return h('details', { open: false }, h('summary', {}, f.plural(items.length, 'change')), h('ul', { class: 'changes-list', style: { 'margin-top': '12px' } }, items));
  return items.length ? h('ul', { class: 'changes-list' }, items) : undefined;
}

function planResult(plan) {
  const texts = [
    ...plan.refused.map((x) => ['bad', `${x.queue} cannot become a ${x.to}: it holds ${f.plural(x.applications.length, 'application')}. The configuration would be refused.`]),
    ...plan.overMax.map((x) => ['warn', `${x.queue} is above its new max by ${f.quantity(x.resource, x.by)} ${x.resource}: ${f.quantity(x.resource, x.used ?? x.allocated)} used, ${f.quantity(x.resource, x.max)} allowed`]),
    ...plan.overLimit.map((x) => ['warn', `${x.user ? `user ${x.user}` : `group ${x.group}`} is above the new limit in ${x.queue}: ${f.quantity(x.resource, x.used)} ${x.resource} used, ${f.quantity(x.resource, x.limit)} allowed`]),
    ...plan.overQuota.map((x) => ['warn', `class quota ${x.quota} of ${x.queue} is exceeded by ${f.quantity(x.resource, x.by)} ${x.resource}`]),
    ...plan.leaves.slice(0, 50).map((x) => ['info', `dynamic leaf ${x.queue} ${x.kept ? 'keeps its settings, unlike new leaves' : 'gets other settings from its child template'}: ${(x.values ?? []).map((v) => `${v.name} ${v.before ?? 'not set'}, template ${v.after ?? 'not set'}`).join('; ')}`]),
    ...plan.lostAccess.slice(0, 50).map((x) => ['warn', `user ${x.user} loses submit access to ${x.queue}, where application ${x.application} is`]),
    ...plan.warnings.map((x) => ['info', `line ${x.line ?? '?'}: ${x.message ?? x}`]),
  ];
  return h('div', { class: 'stack', id: 'plan' }, h('p', { class: 'message' }, plan.impact ? plan.summary : 'Nothing would change.'), texts.map(([kind, text]) => h('div', { class: `notice ${kind === 'info' ? '' : kind}` }, text)), plan.impact && texts.length === 0 && h('div', { class: 'notice' }, 'No queue, user or application would be above its new bounds.'), changeList(plan.change));
}

async function propose(ctx, current) {
  const { local } = ctx;
  local.busy = true;
  local.plan = local.failed = undefined;
  ctx.redraw();
  try {
    local.plan = await post('plan', local.text, 'application/yaml');
    local.planned = local.text;
  } catch (error) {
    local.failed = error;
  }
  local.busy = false;
  ctx.redraw();
  return current;
}

// change sends a change to the admin API, and shows what has come of it.
async function change(ctx, send, done) {
  const { local } = ctx;
  try {
    const result = await send();
    local.result = result.changed ? done(result) : 'Nothing has changed: this text was in force already.';
    local.failed = undefined;
    ctx.set({ generation: undefined, tab: 'diff' });
    await ctx.reload();
  } catch (error) {
    local.failed = error;
    ctx.redraw();
  }
}

async function rollback(ctx, n, current) {
  if (!await confirm(`Roll back to generation ${n}?`, `Its text becomes a new generation and is in force at once, in place of generation ${current}.`, 'Roll back')) return;
  await change(ctx, () => post(`config/rollback/${n}`, '', 'application/json', { 'If-Match': `"${current}"` }), (r) => `Generation ${r.generation} is in force: the text of ${n}.`);
}

async function apply(ctx, current) {
  if (!await confirm('Apply this configuration?', `It is in force at once, in place of generation ${current}.`, 'Apply')) return;
  await change(ctx, () => post('config', ctx.local.text, 'application/yaml', { 'If-Match': `"${current}"` }), (r) => `Generation ${r.generation} is in force.`);
}

const problems = (error) => [h('div', { class: 'notice bad', role: 'alert' }, error.message), (error.body?.problems ?? []).slice(0, 50).map((p) => h('div', { class: 'small' }, h('code', {}, `${p.line}:${p.column ?? p.col ?? 1}`), ' ', p.message, p.hint && h('span', { class: 'muted' }, ` (${p.hint})`)))];

function propositions(d, ctx) {
  const { local } = ctx;
  local.text ??= d.current.text;
  return h('div', { class: 'stack' },
    h('p', { class: 'muted' }, 'Change the text to see what it would mean for the running cluster. Nothing changes by that.'),
    h('textarea', { class: 'input', rows: 22, spellcheck: 'false', 'aria-label': 'queues.yaml', id: 'proposal', value: local.text, oninput: (event) => { local.text = event.target.value; local.plan = undefined; } }),
    h('div', { class: 'row wrap' }, h('button', { class: 'btn primary', type: 'button', id: 'make-plan', disabled: local.busy, onclick: () => propose(ctx) }, 'Plan'), mayChange && h('button', { class: 'btn', type: 'button', disabled: !local.plan || local.planned !== local.text || !local.plan.impact, onclick: () => apply(ctx, d.current.generation) }, 'Apply'), h('button', { class: 'btn', type: 'button', onclick: () => { local.text = d.current.text; local.plan = local.failed = undefined; document.getElementById('proposal').value = local.text; ctx.redraw(); } }, 'Start again'), !mayChange && h('span', { class: 'muted small' }, 'It can be applied at the address of --admin only.')),
    local.failed && problems(local.failed), local.plan && planResult(local.plan), local.plan && textDiff(d.current.text, local.planned));
}

export default {
  title: 'Configuration', topics: ['config'],
  key: (ctx) => ctx.params.generation ?? '',
  keepsData: true,
  async load(ctx) {
    const history = await get('config/history', ctx.signal);
    const active = history.find((g) => g.active);
    const number = Number(ctx.params.generation ?? active.generation);
    const older = history.find((g) => g.generation < number);
    const [chosen, before, current] = await Promise.all([number, older?.generation, active.generation].map((n) => n && get(`config/history/${n}`, ctx.signal)));
    return { history, chosen, before, current };
  },
  render(d, ctx) {
    const { params, local } = ctx;
    const g = d.chosen;
    const tab = params.tab ?? (d.before ? 'diff' : 'text');
    const against = params.against === 'current' && !g.active ? d.current : d.before;
    return h('div', { class: 'page fill' },
      head('Configuration', `generation ${d.current.generation} is in force`, segments('What', [['diff', 'Changes'], ['text', 'Text'], ['plan', 'Plan']], tab, (id) => ctx.set({ tab: id }, true))),
      local.result && h('div', { class: 'notice', role: 'status' }, local.result),
      tab !== 'plan' && local.failed && problems(local.failed),
      h('div', { class: 'config-split' },
        card('History', h('div', { class: 'gens' }, d.history.map((x) => h('a', { key: x.generation, href: ctx.href('config', { ...params, generation: x.generation, tab: tab === 'plan' ? 'diff' : params.tab }), 'aria-current': x.generation === g.generation ? 'true' : undefined }, h('span', { class: 'top-line' }, h('b', {}, `Generation ${x.generation}`), x.active && badge('in force', 'good')), h('span', { class: 'muted small' }, x.summary || 'the first one that is kept'), h('span', { class: 'faint small', title: f.dateTime(Date.parse(x.time)) }, `${f.duration(Date.now() - Date.parse(x.time))} ago · ${sources[x.source] ?? x.source}${x.from ? ` ${x.from}` : ''}`)))), { sub: f.count(d.history.length) }),
        tab === 'plan' ? card('What a new configuration would change', h('div', { class: 'body' }, propositions(d, ctx)))
          : card(`Generation ${g.generation}`, tab === 'text' ? plainText(g.text || '# the configuration that is built in\n') : h('div', {}, changeList(g.changes) && against === d.before && h('div', { class: 'body' }, changeList(g.changes)), against ? textDiff(against.text, g.text) : state('config', 'There is nothing before it', 'Earlier generations are not kept.')),
            { sub: tab === 'diff' && against ? `compared with generation ${against.generation}` : undefined, tools: h('div', { class: 'row' }, !g.active && tab === 'diff' && segments('Compare with', [['before', 'the one before'], ['current', 'the one in force']], params.against ?? 'before', (id) => ctx.set({ against: id })), !g.active && mayChange && h('button', { class: 'btn danger', type: 'button', id: 'rollback', onclick: () => rollback(ctx, g.generation, d.current.generation) }, 'Roll back to it')) })));
  },
};
