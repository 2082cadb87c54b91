// The address after # has the view and its state: #/queues?partition=default&queue=root.a

import { fromEntries } from './names.js';

export function parse(hash = location.hash) {
  const [path, query = ''] = hash.replace(/^#/, '').split('?');
  return { path: path.replace(/^\/|\/$/g, '') || 'overview', params: fromEntries(new URLSearchParams(query)) };
}

export function link(path, params = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value !== undefined && value !== null && value !== '') query.set(name, value);
  const text = query.toString().replaceAll('%2F', '/').replaceAll('%3A', ':');
  return `#/${path}${text ? `?${text}` : ''}`;
}

// change changes some parameters of the present address. push: the back button returns to the former ones.
export function change(params, push = false) {
  const now = parse();
  const next = link(now.path, { ...now.params, ...params });
  if (next === location.hash) return;
  if (push) location.hash = next;
  else {
    history.replaceState(null, '', next);
    dispatchEvent(new HashChangeEvent('hashchange'));
  }
}
