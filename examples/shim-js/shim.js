// A resource manager for the YuniKorn scheduler interface. It fills a cluster, loses an allocation to
// preemption, survives a restart of the scheduler, and ends. Exit code 1: something went wrong.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import grpc from '@grpc/grpc-js';
import protoLoader from '@grpc/proto-loader';

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const { values: flags } = parseArgs({
  options: {
    address: { type: 'string', default: '127.0.0.1:3333' }, // several of a group with commas
    proto: { type: 'string', default: here('build/si.proto') }, // of the published interface
    timeout: { type: 'string', default: '30' }, // seconds for each step
  },
});
const rmID = 'shim-js';
const partitionName = 'default';
const nodes = ['node-1', 'node-2']; // of 4 cores each
const applications = { batch: 'root.batch', service: 'root.service' };
const ugi = { user: 'alice', groups: ['developers'] };
const si = grpc.loadPackageDefinition(
  protoLoader.loadSync(flags.proto, { keepCase: true, longs: Number, enums: String, defaults: true, arrays: true }),
).si.v1;

// amounts are 1000ths of a core and bytes.
const amounts = (cores) => ({ resources: { vcore: { value: cores * 1000 }, memory: { value: cores * 2 ** 30 } } });

// What this shim knows. The scheduler keeps nothing over a restart, so all of it is reported again.
const tasks = new Map(); // allocation key -> its message: without a node the task is pending
const accepted = new Set(); // nodes and applications, by this registration
const confirmed = new Set(); // allocation keys, by this registration
const preempted = []; // keys of confirmed victims
const streams = {};
let client;
let epoch = 0; // of the leader of a group
let lost = null; // why the connection is broken
let failure = null;
let wake = () => {};

// check ends the program with a message if a condition does not hold.
function check(holds, message) {
  if (!holds && !failure) failure = new Error(message);
}

// until waits for messages that make a condition true.
async function until(what, condition, expectLoss = false) {
  const late = setTimeout(() => {
    check(false, `timeout: ${what}`);
    wake();
  }, Number(flags.timeout) * 1000);
  try {
    while (!condition()) {
      if (!expectLoss) check(!lost, `${what}: ${lost}`);
      if (failure) throw failure;
      await new Promise((resolve) => { wake = resolve; });
    }
    if (failure) throw failure;
  } finally {
    clearTimeout(late);
  }
}

// open opens one of the streams. Streams stay open: answers and decisions come at any time.
function open(kind, onMessage) {
  const stream = client[kind]();
  stream.on('data', (message) => {
    onMessage(message);
    wake();
  });
  stream.on('error', () => {}); // its status follows
  stream.on('status', ({ code, details }) => {
    if (streams[kind] === stream) lost = `${kind} ended: ${grpc.status[code]} ${details}`;
    wake();
  });
  streams[kind] = stream;
}

const send = (kind, message) => streams[kind].write({ rmID, ...message });
const release = (...allocationsToRelease) => send('UpdateAllocation', { releases: { allocationsToRelease } });

// onAnswer handles messages whose entries are accepted or rejected.
const onAnswer = (field) => (message) => {
  for (const entry of message.rejected) check(false, `${entry[field]} was rejected: ${entry.reason}`);
  for (const entry of message.accepted) accepted.add(entry[field]);
};

function onAllocation({ new: placed, released, rejectedAllocations }) {
  for (const { allocationKey, reason } of rejectedAllocations) check(false, `${allocationKey} was rejected: ${reason}`);
  for (const { allocationKey: key, nodeID } of placed) {
    const before = tasks.get(key)?.nodeID;
    check(tasks.has(key), `unknown task ${key} was placed`);
    check(!confirmed.has(key), `${key} was placed twice`);
    check(!before || before === nodeID, `${key} runs on ${before}, and the scheduler says ${nodeID}`);
    console.log(before ? `kept: ${key} on ${nodeID}` : `allocated: ${key} on ${nodeID}`);
    tasks.set(key, { ...tasks.get(key), nodeID });
    confirmed.add(key);
  }
  for (const gone of released) {
    check(runs(gone.allocationKey), `${gone.allocationKey} was released, and does not run`);
    tasks.delete(gone.allocationKey);
    console.log(`released: ${gone.allocationKey} (${gone.terminationType})`);
    if (gone.terminationType === 'PREEMPTED_BY_SCHEDULER') {
      release(gone); // the same message confirms that the task has ended
      preempted.push(gone.allocationKey);
    }
  }
}

function disconnect() {
  for (const stream of Object.values(streams)) stream.cancel(); // an open stream keeps the program running
  client?.close();
}

// register registers. In a group of schedulers one leads: another one says where, or else the next address is
// tried. The epoch is that of the leader, and a lower one is of a leader that was replaced.
async function register() {
  const deadline = Date.now() + Number(flags.timeout) * 1000;
  const config = readFileSync(here('queues.yaml'), 'utf8');
  const addresses = flags.address.split(',');
  for (let i = 0, leader; ; i += 1) {
    client?.close();
    client = new si.Scheduler(leader ?? addresses[i % addresses.length], grpc.credentials.createInsecure());
    let head;
    const refused = await new Promise((resolve) => {
      const request = { rmID, version: '1.9.0', policyGroup: 'queues', config };
      client.RegisterResourceManager(request, { deadline }, resolve).on('metadata', (m) => { head = m; });
    });
    const of = Number(head?.get('canopy-epoch')[0] ?? 0);
    if (!refused && of >= epoch) {
      epoch = of;
      return;
    }
    if (refused && (refused.code !== grpc.status.UNAVAILABLE || Date.now() > deadline)) throw refused;
    if (Date.now() > deadline) throw new Error('timeout: a leader of the latest epoch');
    leader = refused?.metadata.get('canopy-leader')[0];
    await new Promise((resolve) => { setTimeout(resolve, 100); });
  }
}

// connect registers, which makes the scheduler forget what it knew, and reports everything in the
// order that keeps what runs: unschedulable nodes, applications, what runs, what waits, schedulable nodes.
async function connect() {
  disconnect();
  await register();
  lost = null;
  accepted.clear();
  confirmed.clear();
  open('UpdateNode', onAnswer('nodeID'));
  open('UpdateApplication', onAnswer('applicationID'));
  open('UpdateAllocation', onAllocation);
  send('UpdateAllocation', {}); // the first message names the resource manager: nothing is decided before
  const each = (action, more) => send('UpdateNode', { nodes: nodes.map((nodeID) => ({ nodeID, action, ...more })) });
  each('CREATE_DRAIN', { schedulableResource: amounts(4), attributes: { 'si/node-partition': partitionName } });
  send('UpdateApplication', { new: Object.entries(applications).map(
    ([applicationID, queueName]) => ({ applicationID, queueName, partitionName, ugi }),
  ) });
  const expected = nodes.length + Object.keys(applications).length;
  await until('nodes and applications are accepted', () => accepted.size === expected);
  const running = [...tasks.values()].filter(({ nodeID }) => nodeID);
  const pending = [...tasks.values()].filter(({ nodeID }) => !nodeID);
  send('UpdateAllocation', { allocations: running });
  await until('what runs is known again', () => confirmed.size === running.length);
  send('UpdateAllocation', { allocations: pending });
  each('DRAIN_TO_SCHEDULABLE');
}

function submitTasks(applicationID, ...keys) {
  const preemptionPolicy = { allowPreemptSelf: applicationID === 'batch', allowPreemptOther: applicationID === 'service' };
  const allocations = keys.map((allocationKey) => (
    { allocationKey, applicationID, partitionName, resourcePerAlloc: amounts(1), preemptionPolicy }));
  for (const task of allocations) tasks.set(task.allocationKey, task);
  send('UpdateAllocation', { allocations });
}

const runs = (...keys) => keys.every((key) => tasks.get(key)?.nodeID);
const stop = (key) => release({
  partitionName, applicationID: tasks.get(key).applicationID, allocationKey: key, terminationType: 'STOPPED_BY_RM',
});

async function main() {
  await connect();
  const batch = [...Array(8).keys()].map((i) => `batch-${i}`);
  submitTasks('batch', ...batch, 'batch-8'); // one more than the nodes take
  await until('the cluster is full', () => runs(...batch));
  stop('batch-0');
  await until('the last task replaces the first', () => !tasks.has('batch-0') && runs('batch-8'));
  submitTasks('service', 'service-0'); // its queue is below its guarantee: it preempts
  await until('the service preempts', () => preempted.length && runs('service-0'));
  submitTasks('batch', 'batch-again'); // the victim is tried again, and waits
  console.log('ready: kill the scheduler and start it again');
  await until('the scheduler is killed', () => lost, true);
  console.log('lost:', lost);
  await connect();
  console.log(`recovered: ${tasks.size} tasks`);
  stop('service-0');
  await until('the waiting task runs', () => runs('batch-again'));
  check(tasks.size === 8, `${tasks.size} tasks run, 8 should`);
  check(preempted.length === 1, `${preempted} were preempted, one should be`);
  console.log('running:', [...tasks].map(([key, { nodeID }]) => `${key}=${nodeID}`).sort().join(' '));
  const remove = Object.keys(applications).map((applicationID) => ({ applicationID, partitionName }));
  send('UpdateApplication', { remove });
  await until('everything is released', () => tasks.size === 0);
  for (const stream of Object.values(streams)) stream.end();
  await until('the streams end', () => lost, true);
}

main().then(() => console.log('done'), (err) => {
  console.error('shim-js:', err.message);
  process.exitCode = 1;
}).finally(disconnect);
