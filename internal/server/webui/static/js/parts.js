// Small parts that views share.
import { h } from './dom.js';
import { icon } from './icons.js';
import * as f from './format.js';

export const badge = (text, kind = '', title) => h('span', { class: `badge ${kind}`, title }, text);
export const mark = (name, kind, title) => h('span', { class: `mark ${kind}`, title, role: 'img', 'aria-label': title }, icon(name));
export const dot = (kind) => h('span', { class: `dot ${kind}`, 'aria-hidden': 'true' });
export const stateKinds = {
  __proto__: null,
  Running: 'good', Completing: 'info', Completed: '', Accepted: 'warn', New: 'warn', Resuming: 'warn', Failing: 'bad', Failed: 'bad', Rejected: 'bad', Expired: '',
};
export const appState = (state) => badge(state, stateKinds[state] ?? '');

export function card(title, body, options = {}) {
  return h('section', { class: `card ${options.class ?? ''}`, key: options.key, 'aria-label': options.label ?? title },
    h('header', {}, h('h2', {}, title), options.sub && h('span', { class: 'sub' }, options.sub), h('span', { class: 'grow' }), options.tools), body);
}

export function state(name, title, text, ...more) {
  return h('div', { class: 'state', key: `state-${title}` }, icon(name), h('h2', {}, title), text && h('p', {}, text), more);
}

export const time = (nanos, now) => h('time', { datetime: nanos ? f.iso(f.millis(nanos)) : undefined, title: nanos ? f.dateTime(f.millis(nanos)) : undefined, class: 'nowrap' }, nanos ? `${f.since(nanos, now)} ago` : '–');
export const age = (nanos, now) => h('time', { datetime: nanos ? f.iso(f.millis(nanos)) : undefined, title: nanos ? `since ${f.dateTime(f.millis(nanos))}` : undefined, class: 'nowrap' }, f.since(nanos, now));

// meter is a bar of what is used of max, with a tick at the guarantee and what is pending behind it.
export function meter(resource, { used = 0, max, guaranteed, pending = 0, preempting = 0, occupied = 0, label, scale: whole }) {
  const scale = max > 0 ? max : whole > 0 ? whole : Math.max(used + pending + occupied, guaranteed ?? 0, 1);
  const at = (n) => `${f.percent(n, scale).toFixed(2)}%`;
  const over = guaranteed > 0 && used > guaranteed ? used - guaranteed : 0;
  const lines = [`${f.exact(resource, used)} used`];
  if (guaranteed !== undefined) lines.push(`${f.exact(resource, guaranteed)} guaranteed`);
  lines.push(max === undefined ? 'no max' : `${f.exact(resource, max)} max`);
  if (pending) lines.push(`${f.exact(resource, pending)} pending`);
  if (preempting) lines.push(`${f.exact(resource, preempting)} being preempted`);
  return h('div', { class: 'meter', 'data-tip': lines.join('\n'), role: 'img', 'aria-label': `${f.titleOf(resource)}: ${lines.join(', ')}` },
    h('div', { class: 'nums' }, h('span', {}, h('b', {}, f.quantity(resource, used)), max === undefined ? '' : ` / ${f.quantity(resource, max)}`), label === undefined ? pending ? h('span', {}, `+${f.quantity(resource, pending)}`) : '' : h('span', {}, label)),
    h('div', { class: 'bar-wrap' },
      h('div', { class: 'bar' },
        h('i', { style: { width: at(used - over) } }),
        h('i', { class: 'over', style: { left: at(used - over), width: at(over) } }),
        h('i', { class: 'preempting', style: { left: at(used - preempting), width: at(preempting) } }),
        h('i', { class: 'occupied', style: { left: at(used), width: at(occupied) } }),
        h('i', { class: 'pend', style: { left: at(used + occupied), width: at(Math.min(pending, Math.max(0, scale - used - occupied))) } })),
      guaranteed > 0 && h('span', { class: 'tick', style: { left: at(guaranteed) } })));
}

export const meterLegend = () => h('div', { class: 'legend' }, h('span', {}, h('i', {}), 'used'), h('span', {}, h('i', { class: 'over' }), 'above its guarantee'), h('span', {}, h('i', { class: 'pend' }), 'pending'), h('span', {}, h('i', { class: 'tick' }), 'guarantee'));

export const segments = (label, options, value, choose) => h('div', { class: 'seg', role: 'group', 'aria-label': label }, options.map(([id, text]) => h('button', { type: 'button', 'aria-pressed': id === value ? 'true' : 'false', onclick: () => choose(id) }, text)));
export const filterInput = (value, placeholder, choose) => h('input', { class: 'input', type: 'search', value: value ?? '', placeholder, 'aria-label': placeholder, oninput: (event) => choose(event.target.value) });

export const amounts = (all, options) => h('span', { class: 'nowrap', title: f.exactAmounts(all) }, f.amounts(all, options));
export const head = (title, sub, ...tools) => h('header', { class: 'page-head' }, h('h1', {}, title), sub && h('span', { class: 'sub' }, sub), h('div', { class: 'tools' }, tools));
export const facts = (pairs) => h('dl', { class: 'facts' }, pairs.filter((p) => p && p[1] !== undefined && p[1] !== null && p[1] !== '').map(([k, v]) => [h('dt', {}, k), h('dd', {}, v)]));

// confirm asks a question in a dialog; the promise is true if it was answered with yes.
export function confirm(title, text, yes, danger) {
  return new Promise((resolve) => {
    const dialog = h('dialog', { 'aria-label': title, onclose: () => { resolve(dialog.returnValue === 'yes'); dialog.remove(); } },
      h('h2', {}, title), h('p', { class: 'muted' }, text),
      h('div', { class: 'actions' }, h('button', { class: 'btn', autofocus: danger, onclick: () => dialog.close('no') }, danger ? 'Back' : 'Cancel'), h('button', { class: `btn ${danger ? 'danger' : 'primary'}`, onclick: () => dialog.close('yes') }, yes)));
    document.body.append(dialog);
    dialog.showModal();
  });
}
