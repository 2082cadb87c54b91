// Icons, drawn here: 16 units, lines of 1.5.
import { h } from './dom.js';

const paths = {
  overview: 'M2.5 9.5h4v4h-4zM2.5 2.5h4v4h-4zM9.5 2.5h4v4h-4zM9.5 9.5h4v4h-4z',
  queues: 'M3 3h5M3 3v10h3M3 8h3M8.5 6.5h5v3h-5zM8.5 11.5h5v3h-5z',
  asks: 'M4 2.5h8M4 13.5h8M5 2.5c0 3 6 4 6 5.5s-6 2.500-6 5.500M11 2.500c0 3-6 4-6 5.500s6 2.500 6 5.500',
  applications: 'M8 2 2.500 5 8 8l5.500-3zM2.500 8 8 11l5.500-3M2.500 11 8 14l5.500-3',
  nodes: 'M2.500 3.500h11v3.500h-11zM2.500 9h11v3.500h-11zM5 5.250h.01M5 10.750h.01',
  users: 'M6 7.500a2.250 2.250 0 1 0 0-4.500 2.250 2.250 0 0 0 0 4.500zM2 13c.3-2.300 1.800-3.500 4-3.500s3.700 1.200 4 3.500M10.500 3.300a2.250 2.250 0 0 1 0 4M12 9.800c1.200.5 1.800 1.600 2 3.200',
  preemptions: 'M9 1.500 3.500 9H8l-1 5.500L12.500 7H8z',
  events: 'M2.500 4h11M2.500 8h11M2.500 12h7',
  config: 'M6 4.500 2.500 8 6 11.500M10 4.500 13.500 8 10 11.500',
  health: 'M2 8.500h3L6.500 4l3 8 1.500-3.500h3',
  search: 'M7 11.500a4.500 4.500 0 1 0 0-9 4.500 4.500 0 0 0 0 9zM10.500 10.500 14 14',
  moon: 'M13 9.500A5.500 5.500 0 0 1 6.500 3 5.500 5.500 0 1 0 13 9.500z',
  sun: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1.500V3M8 13v1.500M1.500 8H3M13 8h1.500M3.400 3.400l1 1M11.600 11.600l1 1M3.400 12.600l1-1M11.600 4.400l1-1',
  auto: 'M8 2.500a5.500 5.500 0 1 0 0 11zM8 2.500a5.500 5.500 0 0 1 0 11',
  chevron: 'M6 3.500 10.500 8 6 12.500',
  close: 'M4 4l8 8M12 4l-8 8',
  fence: 'M3 14V5l1.500-2L6 5v9M10 14V5l1.500-2L13 5v9M3 8h10M3 11.500h10',
  up: 'M8 13V3.500M4 7.500 8 3.500l4 4',
  lock: 'M4 7.500h8v6H4zM5.500 7.500V5.500a2.500 2.500 0 0 1 5 0v2',
  drain: 'M8 2s4 4.300 4 7.500a4 4 0 0 1-8 0C4 6.300 8 2 8 2z',
  bolt: 'M9 1.500 3.500 9H8l-1 5.500L12.500 7H8z',
  check: 'M3 8.500 6.500 12 13 4.500',
  cross: 'M4 4l8 8M12 4l-8 8',
  wait: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 5v3.500l2 1.500',
  empty: 'M2.500 9.500h3l1 2h3l1-2h3M2.500 9.500 4.500 3.500h7l2 6v4h-11z',
  help: 'M6 6a2 2 0 1 1 2.700 1.900c-.5.200-.7.600-.7 1.100v.5M8 12h.01',
  plus: 'M8 3v10M3 8h10', minus: 'M3 8h10',
};

export function icon(name) {
  return h('svg', { viewBox: '0 0 16 16', fill: 'none', stroke: 'currentColor', 'stroke-width': 1.5, 'stroke-linecap': 'round', 'stroke-linejoin': 'round', 'aria-hidden': 'true' }, h('path', { d: paths[name] }));
}

export function logo() {
  return h('svg', { viewBox: '0 0 32 32', 'aria-hidden': 'true' }, h('path', { d: 'M16 3 4 13h4l-5 7h26l-5-7h4z', fill: 'var(--accent-fill)' }), h('path', { d: 'M14.500 20h3v9h-3z', fill: 'var(--muted)' }));
}
