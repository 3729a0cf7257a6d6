// The database of application and worker: one insert and one find through a mongoose pool, and the pool's gauges.
'use strict';
const mongoose = require('mongoose');

const SIZE = Number(process.env.POOL ?? 50);
// Longest wait for a connection in milliseconds; 0, the driver's default, waits for ever.
const WAIT = Number(process.env.WAIT_TIMEOUT ?? 0);

const schema = new mongoose.Schema({ number: Number, at: Date }, { versionKey: false });
const pool = { inUse: 0, waiters: 0, timeouts: 0 };
let numbers;

// Counts what the driver says of its pool: connections of one server, handed out and given back.
function count(client) {
  client.on('connectionCheckOutStarted', () => { pool.waiters += 1; });
  client.on('connectionCheckedOut', () => {
    pool.waiters -= 1;
    pool.inUse += 1;
  });
  client.on('connectionCheckedIn', () => { pool.inUse -= 1; });
  client.on('connectionCheckOutFailed', ({ reason }) => {
    pool.waiters -= 1;
    if (reason === 'timeout') pool.timeouts += 1;
  });
}

async function connect() {
  const options = { maxPoolSize: SIZE, waitQueueTimeoutMS: WAIT };
  const connection = await mongoose.createConnection(process.env.DB, options).asPromise();
  count(connection.getClient());
  numbers = connection.model('Number', schema, 'numbers');
  await numbers.init();
}

// Stores a number and reads any one document.
async function storeAndRead(number) {
  await numbers.create({ number, at: new Date() });
  return numbers.findOne().lean();
}

// Lines of the Prometheus text format: `gauges` by name, names that end with _total as counters.
function metrics(gauges) {
  const all = {
    ...gauges,
    pool_in_use: pool.inUse,
    pool_max: SIZE,
    pool_waiters: pool.waiters,
    pool_timeouts_total: pool.timeouts,
  };
  const kind = (name) => (name.endsWith('_total') ? 'counter' : 'gauge');
  return Object.entries(all)
    .map(([name, value]) => `# TYPE ${name} ${kind(name)}\n${name} ${value}\n`)
    .join('');
}

module.exports = { connect, storeAndRead, metrics };
