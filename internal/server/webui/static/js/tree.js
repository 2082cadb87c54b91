// The queue tree as the page needs it: effective maxima, what is above its guarantee, and which queue binds.
import { sortResources, quantity, titleOf } from './format.js';

// flatten makes a list of the tree, parents first.
export function flatten(rootBody) {
  const all = [];
  const byPath = new Map();
  const visit = (body, parent, depth) => {
    const path = body.queuename;
    const q = { body, path, name: parent ? path.slice(parent.path.length + 1) : path, parent, depth, children: [], max: { __proto__: null }, maxFrom: { __proto__: null }, heldBy: [], over: '', binding: '' };
    for (const [r, n] of Object.entries(body.maxResource ?? {})) { q.max[r] = n; q.maxFrom[r] = path; }
    for (const [r, n] of Object.entries(parent?.max ?? {})) if (!(r in q.max) || n < q.max[r]) { q.max[r] = n; q.maxFrom[r] = parent.maxFrom[r]; }
    const over = Object.entries(body.guaranteedResource ?? {}).filter(([r, n]) => n > 0 && (body.allocatedResource?.[r] ?? 0) > n);
    q.over = over.map(([r, n]) => `${quantity(r, body.allocatedResource[r])} of ${quantity(r, n)} ${titleOf(r)}`).join(', ');
    all.push(q);
    byPath.set(path, q);
    for (const child of body.children ?? []) q.children.push(visit(child, q, depth + 1));
    return q;
  };
  const root = visit(rootBody, undefined, 0);
  for (const q of all) if (q.body.isLeaf) bind(q);
  return { root, all, byPath };
}

// bind finds the queue on the path of a leaf whose own max leaves least to what is pending in the leaf.
function bind(leaf) {
  for (const [r, pending] of Object.entries(leaf.body.pendingResource ?? {})) {
    if (!(pending > 0)) continue;
    let least;
    for (let q = leaf; q; q = q.parent) {
      const max = q.body.maxResource?.[r];
      if (max === undefined) continue;
      const free = max - (q.body.allocatedResource?.[r] ?? 0);
      if (free < pending && (!least || free < least.free)) least = { queue: q, resource: r, free };
    }
    if (!least || !least.queue.parent) continue; // that of root is the cluster itself
    leaf.heldBy.push(least);
    least.queue.binding = `${titleOf(r)} ${quantity(r, least.queue.body.allocatedResource?.[r] ?? 0)} of ${quantity(r, least.queue.body.maxResource[r])}`;
  }
}

const only = {
  __proto__: null,
  pending: (q) => Object.values(q.body.pendingResource ?? {}).some((n) => n > 0),
  binding: (q) => q.binding !== '',
  over: (q) => q.over !== '',
  marked: (q) => q.body.isPriorityFence || q.body.isPreemptionFence || q.body.status === 'Draining',
};

// visibleRows are the queues below open ones; with a filter, the matching ones with all above them.
export function visibleRows({ root, all }, open, text, which) {
  const query = text?.trim().toLowerCase();
  let keep;
  if (query || only[which]) {
    keep = new Set();
    for (const q of all) {
      if ((query && !q.path.includes(query)) || (only[which] && !only[which](q))) continue;
      for (let up = q; up && !keep.has(up); up = up.parent) keep.add(up);
    }
  }
  const rows = [];
  const visit = (q) => {
    if (keep && !keep.has(q)) return;
    rows.push(q);
    if (keep || open.has(q.path)) for (const child of q.children) visit(child);
  };
  visit(root);
  return rows;
}

export function resourcesOf({ root }) {
  return sortResources(new Set([...Object.keys(root.body.maxResource ?? {}), ...Object.keys(root.body.allocatedResource ?? {}), ...Object.keys(root.body.pendingResource ?? {})]));
}
