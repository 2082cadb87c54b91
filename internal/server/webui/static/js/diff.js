// A difference of two texts, line by line: the shortest one, by the algorithm of Myers, within a bound; a text
// that differs in too much is shown as removed and added.

const mostEdits = 2000;

export function diffLines(before, after) {
  const a = before === '' ? [] : before.replace(/\n$/, '').split('\n');
  const b = after === '' ? [] : after.replace(/\n$/, '').split('\n');
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const lines = [];
  const add = (kind, text, i, j) => lines.push({ kind, text, before: i, after: j });
  for (let i = 0; i < start; i++) add(' ', a[i], i + 1, i + 1);
  for (const [kind, i, j] of middle(a.slice(start, a.length - end), b.slice(start, b.length - end))) {
    if (kind === '+') add('+', b[start + j], undefined, start + j + 1);
    else if (kind === '-') add('-', a[start + i], start + i + 1, undefined);
    else add(' ', a[start + i], start + i + 1, start + j + 1);
  }
  for (let k = end; k > 0; k--) add(' ', a[a.length - k], a.length - k + 1, b.length - k + 1);
  return lines;
}

function middle(a, b) {
  const n = a.length;
  const m = b.length;
  const trace = [];
  let v = new Map([[1, 0]]);
  for (let d = 0; d <= Math.min(n + m, mostEdits); d++) {
    trace.push(new Map(v));
    for (let k = -d; k <= d; k += 2) {
      let x = k === -d || (k !== d && (v.get(k - 1) ?? -1) < (v.get(k + 1) ?? -1)) ? v.get(k + 1) : v.get(k - 1) + 1;
      let y = x - k;
      while (x < n && y < m && a[x] === b[y]) { x++; y++; }
      v.set(k, x);
      if (x >= n && y >= m) return walk(trace, n, m);
    }
  }
  return [...a.map((_, i) => ['-', i, 0]), ...b.map((_, j) => ['+', n, j])];
}

function walk(trace, x, y) {
  const out = [];
  for (let d = trace.length - 1; d >= 0; d--) {
    const v = trace[d];
    const k = x - y;
    const from = k === -d || (k !== d && (v.get(k - 1) ?? -1) < (v.get(k + 1) ?? -1)) ? k + 1 : k - 1;
    const px = v.get(from) ?? 0;
    const py = px - from;
    while (x > px && y > py && x > 0 && y > 0) { x--; y--; out.push([' ', x, y]); }
    if (d > 0) {
      if (x === px) { y--; out.push(['+', x, y]); } else { x--; out.push(['-', x, y]); }
    }
  }
  return out.reverse();
}

// hunks leaves out what is far from any change.
export function hunks(lines, context = 3) {
  const near = lines.map(() => false);
  lines.forEach((l, i) => { if (l.kind !== ' ') for (let k = Math.max(0, i - context); k <= Math.min(lines.length - 1, i + context); k++) near[k] = true; });
  const out = [];
  let skipped = 0;
  lines.forEach((l, i) => {
    if (near[i]) { if (skipped) out.push({ kind: 'gap', skipped }); skipped = 0; out.push(l); } else skipped++;
  });
  if (skipped) out.push({ kind: 'gap', skipped });
  return out;
}
