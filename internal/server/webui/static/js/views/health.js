// The checks of the scheduler, its audits, and who is connected.
import { h } from '../dom.js';
import { get, optional } from '../api.js';
import * as f from '../format.js';
import { card, head, badge, mark, facts, state, age } from '../parts.js';

const names = { since: 'Since', inProcess: 'Connected', undeliveredBytes: 'Unread answers', registered: 'Registered', version: 'Version', policyGroup: 'Policy group' };

function value(k, v) {
  if (k === 'inProcess') return v ? 'in this process' : 'over gRPC';
  if (typeof v === 'string' && /^\d{4}-\d\d-\d\dT/.test(v)) return age(Date.parse(v) * 1e6);
  return typeof v === 'number' ? (v > 1e17 ? age(v) : f.count(v)) : String(v);
}

export default {
  title: 'Health', topics: ['partitions', 'config', 'events'], restMillis: 8000,
  key: () => '',
  async load(ctx) {
    const [check, clusters, managers, budgets, classes] = await Promise.all([get('scheduler/healthcheck'), get('clusters', ctx.signal), optional(get('resourcemanagers', ctx.signal)), optional(get('disruptionbudgets', ctx.signal)), optional(get('priorityclasses', ctx.signal))]);
    return { check, clusters, managers, budgets, classes };
  },
  render(d, ctx) {
    const failed = d.check.HealthChecks.filter((c) => !c.Succeeded);
    const managers = Array.isArray(d.managers) ? d.managers : d.managers?.resourceManagers ?? [];
    const budgets = Array.isArray(d.budgets) ? d.budgets : [];
    const classes = Array.isArray(d.classes) ? d.classes : [];
    return h('div', { class: 'page' },
      head('Health', undefined, d.check.Healthy ? badge('all checks succeed', 'good') : badge(`${f.plural(failed.length, 'check')} failed`, 'bad')),
      h('div', { class: 'grid cols-2' },
        card('Checks', h('div', {}, d.check.HealthChecks.map((c) => h('div', { class: 'check', key: c.Name }, c.Succeeded ? mark('check', 'plain', 'succeeded') : mark('cross', 'bad', 'failed'), h('div', {}, h('b', {}, c.Name), h('div', { class: 'muted small' }, c.Description), !c.Succeeded && h('div', { class: 'small', style: { color: 'var(--danger)' } }, c.DiagnosisMessage)))))),
        h('div', { class: 'stack', style: { gap: '16px' } },
          card('Audits of the accounting', h('div', { class: 'body stack' }, (d.check.Audits ?? []).map((a) => h('div', { key: a.Partition }, h('div', { class: 'row' }, h('b', {}, a.Partition), a.Error ? badge('inconsistent', 'bad') : a.Finished ? badge('consistent', 'good') : badge('not finished yet')), h('div', { class: 'muted small' }, a.Error ?? (a.Finished ? `${f.plural(a.Objects ?? 0, 'object')}, ${f.duration(a.AgeSeconds * 1000)} ago` : 'The first one runs in small steps beside scheduling.')))))),
          card('Resource manager', h('div', { class: 'body' }, managers.length === 0 ? state('nodes', 'None is registered', 'Nothing is decided while no resource manager listens.') : managers.map((m) => h('div', { class: 'stack', key: m.rmID }, h('div', { class: 'row' }, h('b', {}, m.rmID), badge(m.state === 'Disconnected' ? 'not connected' : 'connected', m.state === 'Disconnected' ? 'bad' : 'good'), m.listening === false && badge('does not listen', 'bad')), facts(Object.entries(m).filter(([k, v]) => typeof v !== 'object' && !['rmID', 'state', 'listening'].includes(k)).map(([k, v]) => [names[k] ?? k, value(k, v)])))))),
          card('Process', h('div', { class: 'body' }, facts([['Started', d.clusters[0]?.startTime && age(d.clusters[0].startTime)], ['Partitions', d.clusters.map((c) => c.partition).join(', ')]]))))),
      budgets.length > 0 && card('Disruption budgets', h('div', { class: 'scroll-x' }, h('table', { class: 't' }, h('thead', {}, h('tr', {}, ['Budget', 'Matching', 'Preempting', 'May be preempted'].map((t, i) => h('th', { class: i ? 'num' : '' }, t)))), h('tbody', {}, budgets.map((b) => { const p = b.partitions?.find((x) => x.partition === ctx.partition); return h('tr', {}, h('td', {}, b.namespace ? `${b.namespace}/` : '', b.name), h('td', { class: 'num' }, f.count(p?.matching)), h('td', { class: 'num' }, f.count(p?.preempting)), h('td', { class: 'num' }, f.count(p?.disruptionsAllowed))); }))))),
      classes.length > 0 && card('Priority classes', h('div', { class: 'scroll-x' }, h('table', { class: 't' }, h('thead', {}, h('tr', {}, h('th', {}, 'Class'), h('th', { class: 'num' }, 'Priority'), h('th', {}, 'Preempts'))), h('tbody', {}, classes.map((c) => h('tr', {}, h('td', {}, c.name, c.globalDefault && badge('default')), h('td', { class: 'num' }, f.count(c.value)), h('td', { class: 'muted' }, c.preemptionPolicy ?? ''))))))));
  },
};
