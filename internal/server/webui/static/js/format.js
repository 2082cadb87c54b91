// Numbers, quantities and times as people read them. The exact value goes into a title.

const whole = new Intl.NumberFormat('en');
const binary = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const decimal = ['', 'k', 'M', 'G', 'T', 'P', 'E'];

export const count = (n) => whole.format(n ?? 0);
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

// digits is n with three significant digits at most, without zeroes at the end.
function digits(n) {
  const size = Math.abs(n);
  return String(+n.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2));
}

function scaled(n, base, units) {
  let i = 0;
  while (Math.abs(n) >= base && i < units.length - 1) { n /= base; i++; }
  return digits(n) + units[i];
}

// quantity is an amount of a resource: vcore is in thousandths of a core, memory in bytes.
export function quantity(resource, n) {
  if (n === undefined || n === null) return '–';
  if (resource === 'vcore') return Math.abs(n) >= 100_000 ? whole.format(Math.round(n / 1000)) : String(+(n / 1000).toFixed(Math.abs(n) < 10_000 ? 2 : 1));
  if (isBytes(resource)) return scaled(n, 1024, binary);
  if (resource.endsWith('-milli')) return digits(n / 1000);
  return Math.abs(n) < 10_000 ? String(n) : scaled(n, 1000, decimal);
}

const isBytes = (resource) => resource === 'memory' || resource === 'ephemeral-storage' || resource.startsWith('hugepages');

// unit is what follows a quantity in a sentence.
export function unit(resource) {
  if (resource === 'vcore') return 'cores';
  if (isBytes(resource)) return '';
  return resource === 'pods' ? 'pods' : shortName(resource);
}

export function exact(resource, n) {
  if (n === undefined || n === null) return 'no bound';
  if (resource === 'vcore') return `${whole.format(n)}m vcore`;
  return `${whole.format(n)} ${isBytes(resource) ? `bytes of ${resource}` : resource}`;
}

export const titleOf = (resource) => ({ __proto__: null, vcore: 'CPU', memory: 'Memory', pods: 'Pods' })[resource] ?? shortName(resource);
export const shortName = (resource) => ({ __proto__: null, 'nvidia.com/gpu': 'GPU', 'nvidia.com/gpu-milli': 'GPU', 'ephemeral-storage': 'Storage' })[resource] ?? resource.replace(/^.*\//, '');

// amounts is all resources of a request in one line, the important ones first.
export function amounts(all, options = {}) {
  const parts = sortResources(Object.keys(all ?? {})).filter((r) => all[r] !== 0 && (options.pods || r !== 'pods')).map((r) => (isBytes(r) ? quantity(r, all[r]) : `${quantity(r, all[r])} ${r === 'vcore' ? (all[r] === 1000 ? 'core' : 'cores') : r === 'pods' && all[r] === 1 ? 'pod' : unit(r)}`));
  return parts.length ? parts.join(' · ') : options.none ?? '–';
}
export const exactAmounts = (all) => sortResources(Object.keys(all ?? {})).map((r) => exact(r, all[r])).join('\n');

const order = ['vcore', 'memory', 'nvidia.com/gpu', 'nvidia.com/gpu-milli'];
export function sortResources(names) {
  const rank = (r) => (order.includes(r) ? order.indexOf(r) : r === 'pods' ? 99 : 50);
  return [...names].sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

// usage is what was used over time, and is held, in parts of the cluster.
export const usage = (u) => {
  const part = (x) => `${(100 * x).toPrecision(2)} %`;
  return `${part(u.share)} over time and ${part(u.held)} now${u.weight === 1 ? '' : ` by weight ${u.weight.toPrecision(3)}`}`;
};

export const percent = (part, all) => (all > 0 ? Math.min(100, Math.max(0, (100 * part) / all)) : 0);

// Times come in nanoseconds since 1970, as numbers that lose some of these.
export const millis = (nanos) => nanos / 1e6;
export function duration(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s}s`;
  if (s < 3600) return s % 60 && s < 600 ? `${Math.floor(s / 60)}m ${s % 60}s` : `${Math.floor(s / 60)}m`;
  if (s < 86400) return s % 3600 >= 60 ? `${Math.floor(s / 3600)}h ${Math.floor((s % 3600) / 60)}m` : `${Math.floor(s / 3600)}h`;
  return `${Math.floor(s / 86400)}d ${Math.floor((s % 86400) / 3600)}h`;
}
export const since = (nanos, now = Date.now()) => (nanos ? duration(now - millis(nanos)) : '–');
const clockFormat = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });
const dateFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium', hour12: false });
export const clock = (ms) => clockFormat.format(ms);
export const dateTime = (ms) => dateFormat.format(ms);
export const iso = (ms) => new Date(ms).toISOString();
