// Buttons of operators: hold, stop, cordon and the like, at the address of --admin only. What ends work is asked about first.
import { h } from './dom.js';
import { get, put, escape, mayChange } from './api.js';
import { confirm } from './parts.js';

const kinds = {
  application: {
    hold: { text: 'Hold', done: 'It is on hold.' },
    release: { text: 'Release', done: 'It is no longer on hold.' },
    move: { text: 'Move…', done: 'It was moved.' },
    cancel: { text: 'Cancel…', done: 'It was cancelled.', danger: true, yes: 'Cancel the application', question: (name) => `Cancel application ${name}?`, about: 'Its asks are withdrawn, and the resource manager ends what runs. This cannot be undone.' },
  },
  queue: {
    stop: { text: 'Stop', done: 'It is stopped.', yes: 'Stop', question: (name) => `Stop queue ${name}?`, about: 'Nothing more is placed in it and below. What runs stays.' },
    drain: { text: 'Drain', done: 'It accepts no new applications.', yes: 'Drain', question: (name) => `Drain queue ${name}?`, about: 'It and the queues below accept no new applications. Those that are there run to the end.' },
    start: { text: 'Start', done: 'It is started.' },
  },
  node: {
    cordon: { text: 'Cordon', done: 'It is cordoned.' },
    drain: { text: 'Drain…', done: 'It is being drained.', danger: true, yes: 'Drain', question: (name) => `Drain node ${name}?`, about: 'Nothing more is placed on it, and the resource manager ends what runs there, within disruption budgets.' },
    uncordon: { text: 'Uncordon', done: 'It is no longer cordoned.' },
  },
};

// actions are the buttons of verbs about one object, with what has come of the last one.
export function actions(ctx, kind, name, verbs) {
  if (!mayChange) return undefined;
  const { local } = ctx;
  const of = local.acted?.kind === kind && local.acted.name === name ? local.acted : undefined;
  return h('div', { class: 'stack', key: 'actions' },
    h('div', { class: 'row wrap', role: 'group', 'aria-label': 'Actions' }, verbs.filter(Boolean).map((verb) => h('button', {
      key: verb, type: 'button', class: `btn ${kinds[kind][verb].danger ? 'danger' : ''}`, 'data-action': verb, disabled: of?.busy, onclick: () => act(ctx, kind, name, verb),
    }, kinds[kind][verb].text))),
    of?.failed && h('div', { class: 'notice bad', role: 'alert' }, of.failed),
    of?.done && h('div', { class: 'muted small', role: 'status' }, of.done));
}

async function act(ctx, kind, name, verb) {
  const a = kinds[kind][verb];
  let path = `${ctx.base}/${kind}/${escape(name)}/${verb}`;
  if (verb === 'move') {
    const to = await askForQueue(ctx, name);
    if (!to) return;
    path += `/${escape(to)}`;
  } else if (a.question && !await confirm(a.question(name), a.about, a.yes, a.danger)) return;
  const say = (what) => { ctx.local.acted = { kind, name, ...what }; ctx.redraw(); };
  say({ busy: true });
  try {
    const result = await put(path);
    say({ done: result.changed ? a.done : 'It was so before.' });
    await ctx.reload();
  } catch (error) {
    say({ failed: error.message });
  }
}

const leavesOf = (q) => (q.isLeaf ? [q.queuename] : (q.children ?? []).flatMap(leavesOf));

// askForQueue asks for a leaf queue in a dialog; undefined: none was chosen.
async function askForQueue(ctx, name) {
  let leaves = [];
  try { leaves = leavesOf(await get(`${ctx.base}/queues`)).slice(0, 2000); } catch { /* a path can be typed in */ }
  return new Promise((resolve) => {
    const title = `Move application ${name}`;
    const input = h('input', { class: 'input', list: 'move-leaves', 'aria-label': 'To the leaf queue', placeholder: 'root.a.b', autocomplete: 'off', spellcheck: 'false', style: { width: '100%' }, required: true, autofocus: true });
    const dialog = h('dialog', { 'aria-label': title, onclose: () => { resolve(dialog.returnValue === 'yes' ? input.value.trim().toLowerCase() : undefined); dialog.remove(); } },
      h('h2', {}, title), h('p', { class: 'muted' }, 'What runs counts in the other queue at once, within its quotas; what waits is placed there.'),
      h('form', { onsubmit: (event) => { event.preventDefault(); dialog.close('yes'); } }, input, h('datalist', { id: 'move-leaves' }, leaves.map((path) => h('option', { value: path }))),
        h('div', { class: 'actions' }, h('button', { class: 'btn', type: 'button', onclick: () => dialog.close('no') }, 'Back'), h('button', { class: 'btn primary', type: 'submit' }, 'Move'))));
    document.body.append(dialog);
    dialog.showModal();
  });
}
