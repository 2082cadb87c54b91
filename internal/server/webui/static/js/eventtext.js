// Events as sentences.
import { amounts } from './format.js';
import { fromEntries } from './names.js';

const details = {
  __proto__: null,
  APP_ALLOC: (r) => `${r.referenceID} was placed: ${amounts(r.resource?.resources && plain(r.resource.resources))}`,
  NODE_ALLOC: (r) => `${r.referenceID} was placed here`,
  ALLOC_CANCEL: (r) => `${r.referenceID} ended`, ALLOC_PREEMPT: (r) => `${r.referenceID} ended: it was preempted`, ALLOC_TIMEOUT: (r) => `${r.referenceID} ended: a time-out`, ALLOC_REPLACED: (r) => `${r.referenceID} was replaced`,
  REQUEST_CANCEL: (r) => `${r.referenceID} was cancelled`, APP_NEW: () => 'was submitted', APP_ACCEPTED: () => 'was accepted', APP_RUNNING: () => 'runs', APP_COMPLETING: () => 'has nothing left to do', APP_COMPLETED: () => 'has completed', APP_REJECTED: () => 'was rejected', NODE_SCHEDULABLE: () => 'changed',
};

const plain = (resources) => fromEntries(Object.entries(resources).map(([name, q]) => [name, q.value ?? 0]));

export function eventText(r) {
  const text = details[r.eventChangeDetailName]?.(r) ?? '';
  const waits = /^(FAILED|SKIPPED|GANG[A-Z_]*): /.exec(r.message ?? '');
  if (waits) return `waits: ${r.message.slice(waits[0].length)}`;
  if (!r.message) return text || [r.eventChangeTypeName, r.eventChangeDetailName].filter((x) => x && x !== 'NONE' && x !== 'DETAILS_NONE').join(' ').toLowerCase();
  return text && !r.message.includes(r.referenceID ?? '\n') ? `${text}: ${r.message}` : r.message;
}

export function eventKind(r) {
  if (/^(FAILED|SKIPPED): /.test(r.message ?? '')) return r.message.startsWith('FAILED') ? 'warn' : '';
  if (/reject|refused|fail/i.test(r.message ?? '') || /REJECT|FAIL/.test(r.eventChangeDetailName ?? '')) return 'bad';
  if (/preempt|nominat/i.test(r.message ?? '') || /PREEMPT/.test(r.eventChangeDetailName ?? '')) return 'violet';
  if (/_ALLOC$|RUNNING/.test(r.eventChangeDetailName ?? '')) return 'good';
  if (r.typeName === 'NODE' || r.typeName === 'QUEUE') return 'info';
  return '';
}

// where is the view that an event leads to.
export function where(r) {
  if (r.typeName === 'NODE') return ['nodes', { node: r.objectID }];
  if (r.typeName === 'QUEUE') return ['queues', { queue: r.objectID }];
  if (r.typeName === 'APP') return ['application', { app: r.objectID }];
  if (r.typeName === 'REQUEST') return ['ask', { key: r.objectID }];
  return undefined;
}
