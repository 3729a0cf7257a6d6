// The durable mix by the official driver: 40 % read, 30 % create, 20 % update, 10 % delete of 1 KB documents by key.
//
// usage: node mix.mjs '{"kind":"mongodb"|"redis","uri":…,"seconds":…,"inFlight":…,"head":…,"tail":…,"preload":…,"warmUp":…}'
// It preloads keys up to `preload`, warms up, prints {"phase":"ready"}, waits for a line on stdin, runs, and prints what it
// measured. `head` and `tail` are the least live key and the next fresh one: deletes take from the head and creates add at
// the tail, so nearly every operation finds what it wants; what does not is counted as a failure.
import { once } from 'node:events';

const asked = JSON.parse(process.argv[2]);
const NOISE_BYTES = 480;
const FILLER = 'the quick ship sails over the lazy sea; '.repeat(12); // 480 bytes that compress well
// Keys this close to either end may be under way in another loop.
const MARGIN = 200;
const SHARES = [['read', 0.4], ['create', 0.7], ['update', 0.9], ['delete', 1]];

const noises = Array.from({ length: 512 }, () => {
  const bytes = new Uint8Array(NOISE_BYTES);
  crypto.getRandomValues(bytes);
  return Buffer.from(bytes);
});
const key = (number) => `k${String(number).padStart(12, '0')}`;
const noise = () => noises[Math.floor(Math.random() * noises.length)];

async function mongodb() {
  const { MongoClient } = await import('mongodb');
  const client = new MongoClient(asked.uri, { maxPoolSize: asked.inFlight, minPoolSize: asked.inFlight });
  const collection = client.db('bench').collection('documents');
  const fresh = (number) => ({ _id: key(number), n: number, text: FILLER, noise: noise() });
  return {
    fill: (from, to) => collection.insertMany(Array.from({ length: to - from }, (_, index) => fresh(from + index))),
    read: async (number) => (await collection.findOne({ _id: key(number) })) !== null,
    create: async (number) => (await collection.insertOne(fresh(number))).acknowledged,
    update: async (number) => (await collection.updateOne({ _id: key(number) }, { $set: { noise: noise() }, $inc: { n: 1 } })).modifiedCount === 1,
    delete: async (number) => (await collection.deleteOne({ _id: key(number) })).deletedCount === 1,
    close: () => client.close(),
  };
}

async function redis() {
  const { createClient, RESP_TYPES } = await import('redis');
  const connect = () => createClient({ url: asked.uri }).withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer }).connect();
  const clients = await Promise.all(Array.from({ length: asked.inFlight }, connect));
  const value = () => Buffer.concat([Buffer.from(FILLER), noise(), Buffer.alloc(64)]);
  const set = async (number, loop) => (await clients[loop].set(key(number), value())).toString() === 'OK';
  return {
    fill: (from, to) => Promise.all(Array.from({ length: to - from }, (_, index) => set(from + index, 0))),
    read: async (number, loop) => (await clients[loop].get(key(number))) !== null,
    create: set,
    update: set,
    delete: async (number, loop) => (await clients[loop].del(key(number))) === 1,
    close: () => Promise.all(clients.map((client) => client.close())),
  };
}

const state = { head: asked.head ?? 0, tail: asked.tail ?? 0 };

function choose() {
  const at = Math.random();
  const [kind] = SHARES.find(([, upTo]) => at < upTo);
  if (kind === 'create') return [kind, state.tail++];
  if (kind === 'delete') return [kind, state.head++];
  const low = state.head + MARGIN;
  return [kind, low + Math.floor(Math.random() * (state.tail - MARGIN - low))];
}

/** Runs `inFlight` loops until `enough()`; latencies in ms by kind. */
async function loops(store, enough) {
  const found = Object.fromEntries(SHARES.map(([kind]) => [kind, { latencies: [], failures: 0 }]));
  const errors = new Map();
  await Promise.all(Array.from({ length: asked.inFlight }, async (_, loop) => {
    while (!enough()) {
      const [kind, number] = choose();
      const begun = performance.now();
      const ok = await store[kind](number, loop).catch((error) => {
        errors.set(error.message, (errors.get(error.message) ?? 0) + 1);
        return false;
      });
      if (ok) found[kind].latencies.push(performance.now() - begun);
      else found[kind].failures += 1;
    }
  }));
  return { found, errors: Object.fromEntries(errors) };
}

function percentiles(latencies) {
  const sorted = Float64Array.from(latencies).sort();
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return { count: sorted.length, p50_ms: at(0.5), p95_ms: at(0.95), p99_ms: at(0.99) };
}

async function preload(store) {
  const STEP = 500;
  for (let from = state.tail; from < asked.preload; from += STEP) await store.fill(from, Math.min(from + STEP, asked.preload));
  state.tail = Math.max(state.tail, asked.preload);
}

const store = await (asked.kind === 'redis' ? redis() : mongodb());
await preload(store);
let left = asked.warmUp;
await loops(store, () => left-- <= 0);
console.log(JSON.stringify({ phase: 'ready' }));
await once(process.stdin, 'data');
const begun = performance.now();
const cpuBefore = process.cpuUsage();
const { found, errors } = await loops(store, () => performance.now() - begun > asked.seconds * 1_000);
const seconds = (performance.now() - begun) / 1_000;
const cpu = process.cpuUsage(cpuBefore);
console.log(JSON.stringify({
  seconds, ...state, errors, clientCpuSeconds: (cpu.user + cpu.system) / 1e6,
  failures: Object.values(found).reduce((sum, one) => sum + one.failures, 0),
  all: percentiles(Object.values(found).flatMap((one) => one.latencies)),
  kinds: Object.fromEntries(Object.entries(found).map(([kind, one]) => [kind, { ...percentiles(one.latencies), failures: one.failures }])),
}));
process.stdin.destroy();
await store.close();
