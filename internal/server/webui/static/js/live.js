// Tells the page what has changed: by server-sent events, and where these do not come, by asking every few
// seconds. A page that is not seen has no stream, because a browser opens only six connections to a server.
import { address } from './api.js';
import { parseJSON } from './names.js';

const pollEvery = 5000;

export class Live extends EventTarget {
  state = 'starting'; // live, polling or offline
  last = undefined;
  #source = undefined;
  #timer = undefined;

  start() {
    document.addEventListener('visibilitychange', () => (document.hidden ? this.#stop() : this.#open()));
    addEventListener('pagehide', () => this.#stop());
    if (!document.hidden) this.#open();
  }

  #open() {
    this.#stop();
    if (!('EventSource' in window)) return this.#poll();
    const source = new EventSource(address('live'));
    this.#source = source;
    source.addEventListener('changed', (event) => {
      this.#set('live');
      this.#take(parseJSON(event.data));
    });
    source.addEventListener('error', () => {
      if (source.readyState !== EventSource.CLOSED) return this.#set('offline'); // the browser connects again
      this.#poll(); // refused: too many pages, or a server without streams
    });
  }

  #stop() {
    this.#source?.close();
    this.#source = undefined;
    clearInterval(this.#timer);
  }

  #poll() {
    this.#stop();
    this.#set('polling');
    let rounds = 0;
    this.#timer = setInterval(() => {
      if (++rounds % 12 === 0) return this.#open();
      this.dispatchEvent(new CustomEvent('changed', { detail: { all: true } }));
    }, pollEvery);
  }

  #set(state) {
    if (this.state === state) return;
    this.state = state;
    this.dispatchEvent(new Event('state'));
  }

  // take compares the numbers of changes with the last ones.
  #take(next) {
    const last = this.last;
    this.last = next;
    if (!last) return;
    const topics = new Set();
    if (next.instance !== last.instance) return this.dispatchEvent(new CustomEvent('changed', { detail: { all: true } }));
    if (next.generation !== last.generation) topics.add('config');
    if (next.events !== last.events) topics.add('events');
    if (Object.keys(next.partitions).join() !== Object.keys(last.partitions).join()) topics.add('partitions');
    for (const [name, now] of Object.entries(next.partitions)) {
      const before = last.partitions[name] ?? {};
      for (const topic of ['queues', 'applications', 'nodes']) if (now[topic] !== before[topic]) topics.add(`${topic}:${name}`);
    }
    if (topics.size) this.dispatchEvent(new CustomEvent('changed', { detail: { topics } }));
  }
}
