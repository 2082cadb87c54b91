'use strict';

const root = document.querySelector('app-root');

/** The answer of a call; any other status than 200 is an error. */
async function get(path) {
  const response = await fetch(path);
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response.json();
}

/** Throws unless each field of an object has its type. A name that ends in ? is of a field that may be missing: YuniKorn's core omits empty ones. */
function check(what, object, fields) {
  for (const [name, type] of Object.entries(fields)) {
    const value = object[name.replace('?', '')];
    if (value === undefined && name.endsWith('?')) continue;
    const is = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
    if (is !== type) throw new Error(`${what}: ${name} is ${is}, not ${type}`);
  }
}

const list = (what, value) => {
  if (!Array.isArray(value)) throw new Error(`${what} is no list`);
  return value;
};

const allocation = { allocationKey: 'string', 'allocationTags?': 'object', resource: 'object', 'priority?': 'string', nodeId: 'string', 'applicationId?': 'string' };
const queue = { queuename: 'string', status: 'string', isLeaf: 'boolean', isManaged: 'boolean', partition: 'string', 'maxResource?': 'object', 'guaranteedResource?': 'object', 'allocatedResource?': 'object', 'pendingResource?': 'object', 'absUsedCapacity?': 'object', 'properties?': 'object' };
const node = { nodeID: 'string', 'hostName?': 'string', 'rackName?': 'string', capacity: 'object', 'allocated?': 'object', 'occupied?': 'object', available: 'object', 'utilized?': 'object', attributes: 'object', 'allocations?': 'array', 'foreignAllocations?': 'array' };
const application = { applicationID: 'string', 'usedResource?': 'object', 'pendingResource?': 'object', 'maxUsedResource?': 'object', submissionTime: 'number', stateLog: 'array', applicationState: 'string' };

async function partitions() {
  const all = list('partitions', await get('/ws/v1/partitions'));
  for (const p of all) {
    check('partition', p, { name: 'string', nodeSortingPolicy: 'object', totalNodes: 'number', totalContainers: 'number', applications: 'object' });
    check('applications', p.applications, { total: 'number' });
  }
  return all;
}

/** All queues, from a root on. */
function* queuesOf(q) {
  check(q.queuename, q, queue);
  yield q;
  for (const child of q.children ?? []) yield* queuesOf(child);
}

const tree = async (partition) => [...queuesOf(await get(`/ws/v1/partition/${partition}/queues`))];

const views = {
  async dashboard() {
    const [cluster] = list('clusters', await get('/ws/v1/clusters'));
    check('cluster', cluster, { startTime: 'number', rmBuildInformation: 'array', partition: 'string', clusterName: 'string' });
    for (const [path, name] of [['apps', 'totalApplications'], ['containers', 'totalContainers']]) {
      for (const point of list(path, await get(`/ws/v1/history/${path}`))) check(path, point, { timestamp: 'number', [name]: 'string' });
    }
    for (const u of list('node-utilizations', await get('/ws/v1/scheduler/node-utilizations'))) {
      check('utilizations', u, { clusterId: 'string', partition: 'string', utilizations: 'array' });
      for (const x of u.utilizations) {
        check('utilization', x, { type: 'string', utilization: 'array' });
        for (const bucket of x.utilization) check('bucket', bucket, { bucketName: 'string', 'numOfNodes?': 'number' });
      }
    }
    return [cluster.clusterName, ...(await partitions()).map((p) => `${p.name}: ${p.totalNodes} nodes, ${p.applications.total} applications`)];
  },

  async queues() {
    return (await tree((await partitions())[0].name)).map((q) => q.queuename);
  },

  async applications() {
    const lines = ['Applications'];
    const partition = (await partitions())[0].name;
    for (const leaf of (await tree(partition)).filter((q) => q.isLeaf)) {
      for (const a of list('applications', await get(`/ws/v1/partition/${partition}/queue/${leaf.queuename}/applications`))) {
        check(a.applicationID, a, application);
        for (const entry of a.stateLog) check('stateLog', entry, { time: 'number', applicationState: 'string' });
        for (const x of a.allocations ?? []) check('allocation', x, allocation);
        lines.push(a.applicationID);
      }
    }
    if (lines.length === 1) throw new Error('no leaf has an application');
    return lines;
  },

  async nodes() {
    const nodes = list('nodes', await get(`/ws/v1/partition/${(await partitions())[0].name}/nodes`));
    for (const n of nodes) {
      check(n.nodeID, n, node);
      for (const x of n.allocations ?? []) check('allocation', x, allocation);
    }
    return nodes.map((n) => n.nodeID);
  },

  async status() {
    const health = await get('/ws/v1/scheduler/healthcheck');
    check('healthcheck', health, { Healthy: 'boolean', HealthChecks: 'array' });
    for (const c of health.HealthChecks) check('check', c, { Name: 'string', Succeeded: 'boolean', Description: 'string', DiagnosisMessage: 'string' });
    return health.HealthChecks.map((c) => `${c.Name}: ${c.Description}`);
  },
};

async function show() {
  const route = location.hash.replace('#/', '');
  if (route === 'error') return;
  try {
    check('envconfig', await get('./assets/config/envconfig.json'), { localSchedulerWebAddress: 'string' });
    root.textContent = (await views[route]()).join('\n');
  } catch (e) {
    location.hash = '#/error';
    root.textContent = `Oops, something went wrong: ${e.message}`;
  }
}

show();
