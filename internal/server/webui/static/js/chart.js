// Charts as inline SVG.
import { h } from './dom.js';
import { clock, count } from './format.js';

const nice = (most) => {
  if (most <= 4) return 4;
  const step = 10 ** Math.floor(Math.log10(most));
  for (const m of [1, 1.5, 2, 2.5, 4, 5, 8, 10]) if (m * step >= most) return m * step;
  return most;
};

// area draws one line over time. points are [milliseconds, value], in the order of time.
export function area(points, { label, kind = '', width = 600, height = 160 }) {
  const box = { left: 40, right: 8, top: 8, bottom: 22 };
  const w = width - box.left - box.right;
  const tall = height - box.top - box.bottom;
  if (points.length < 2) return h('p', { class: 'muted small' }, 'There is a sample each minute. The line begins with the second one.');
  const [from, to] = [points[0][0], points.at(-1)[0]];
  const most = nice(Math.max(1, ...points.map((p) => p[1])));
  const x = (t) => box.left + (w * (t - from)) / Math.max(1, to - from);
  const y = (v) => box.top + tall * (1 - v / most);
  const line = points.map(([t, v], i) => `${i ? 'L' : 'M'}${x(t).toFixed(1)} ${y(v).toFixed(1)}`).join('');
  const last = points.at(-1);
  return h('svg', { class: 'chart', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${label}: ${count(last[1])} at ${clock(last[0])}` },
    [0, .5, 1].map((part) => [h('line', { class: 'gridline', x1: box.left, x2: width - box.right, y1: y(most * part), y2: y(most * part) }), h('text', { x: box.left - 8, y: y(most * part) + 4, 'text-anchor': 'end' }, count(most * part))]),
    h('text', { x: box.left, y: height - 4 }, clock(from).slice(0, 5)), h('text', { x: width - box.right, y: height - 4, 'text-anchor': 'end' }, clock(to).slice(0, 5)),
    h('path', { class: `area ${kind}`, d: `${line}L${x(to).toFixed(1)} ${y(0)}L${x(from).toFixed(1)} ${y(0)}Z` }),
    h('path', { class: `line ${kind}`, d: line }),
    h('circle', { cx: x(last[0]), cy: y(last[1]), r: 3, fill: 'var(--accent-fill)' }));
}

// histogram draws a bar for each [label, number, title].
export function histogram(bars, { label, width = 600, height = 160 }) {
  const box = { left: 32, right: 8, top: 8, bottom: 22 };
  const most = nice(Math.max(1, ...bars.map((b) => b[1])));
  const w = (width - box.left - box.right) / bars.length;
  const tall = height - box.top - box.bottom;
  const y = (v) => box.top + tall * (1 - v / most);
  return h('svg', { class: 'chart', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${label}: ${bars.map((b) => `${b[0]} ${b[1]}`).join(', ')}` },
    [0, .5, 1].map((part) => [h('line', { class: 'gridline', x1: box.left, x2: width - box.right, y1: y(most * part), y2: y(most * part) }), h('text', { x: box.left - 8, y: y(most * part) + 4, 'text-anchor': 'end' }, count(Math.round(most * part)))]),
    bars.map(([name, n, title], i) => h('g', { 'data-tip': title }, h('rect', { x: box.left + i * w, y: box.top, width: w, height: tall, fill: 'transparent' }),
      h('rect', { class: 'bar-rect', x: box.left + i * w + 3, y: y(n), width: Math.max(1, w - 6), height: Math.max(0, y(0) - y(n)), rx: 2 }),
      (bars.length <= 12) && h('text', { x: box.left + (i + .5) * w, y: height - 4, 'text-anchor': 'middle' }, name))));
}

// gantt draws when the allocations of an application waited and ran. rows are {name, asked, placed, ended, kind}, in milliseconds.
export function gantt(rows, { from, to, states = [], width = 1000 }) {
  const left = width < 600 ? 112 : 150;
  const line = 18;
  const topSpace = states.length ? 34 : 12;
  const height = topSpace + rows.length * line + 22;
  const x = (t) => left + ((width - left - 10) * (Math.min(to, Math.max(from, t)) - from)) / Math.max(1, to - from);
  let lastX = -100;
  return h('svg', { class: 'gantt', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `Time line from ${clock(from)} to ${clock(to)}` },
    states.map((s) => {
      const at = x(s.at);
      const far = at - lastX > 76;
      if (far) lastX = at;
      return [h('line', { class: 'axis', x1: at, x2: at, y1: 20, y2: height - 20 }), h('circle', { cx: at, cy: 20, r: 3.5, fill: 'var(--accent-fill)' }), far && h('text', { class: 'state', x: at, y: 11, 'text-anchor': at > width - 90 ? 'end' : 'start' }, s.name)];
    }),
    rows.map((r, i) => {
      const y = topSpace + i * line;
      const placed = r.placed ?? to;
      return h('g', { 'data-tip': r.tip },
        h('text', { x: 0, y: y + 12 }, r.name.length > left / 7 ? `…${r.name.slice(1 - Math.floor(left / 7))}` : r.name),
        h('rect', { class: 'wait', x: x(r.asked), y: y + 4, width: Math.max(1, x(placed) - x(r.asked)), height: 9, rx: 2 }),
        r.placed && h('rect', { class: r.preempting ? 'preempting' : 'run', x: x(r.placed), y: y + 4, width: Math.max(2, x(to) - x(r.placed)), height: 9, rx: 2 }));
    }),
    h('line', { class: 'axis', x1: left, x2: width - 10, y1: height - 18, y2: height - 18 }),
    h('text', { x: left, y: height - 4 }, clock(from)), h('text', { x: width - 10, y: height - 4, 'text-anchor': 'end' }, clock(to)));
}
