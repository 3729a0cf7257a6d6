// A server whose queue is full says so in MongoDB's words, and nothing is lost or done twice: node overload.mjs URI
// The server is to be started with a small --queue and a slow --slow-fsync.
import assert from 'node:assert/strict';
import { connect } from './harness.mjs';

const INSERTS = 80;
const LABELS = ['SystemOverloadedError', 'RetryableError', 'NoWritesPerformed'];

const client = connect(process.argv[2], { maxPoolSize: INSERTS, retryWrites: false });
const collection = client.db('overload').collection('ships');
await collection.insertOne({ _id: 'first' });
const outcomes = await Promise.allSettled(
  Array.from({ length: INSERTS }, (_, _id) => collection.insertOne({ _id })),
);

const refused = outcomes.filter(({ status }) => status === 'rejected').map(({ reason }) => reason);
for (const error of refused) {
  assert.equal(error.code, 462, error.message);
  assert.match(error.message, /the queue of database 'overload' is full/);
  for (const label of LABELS) assert.ok(error.hasErrorLabel(label), `label ${label} is missing`);
}
assert.ok(refused.length > 0, 'nothing was refused');
assert.ok(refused.length < INSERTS, 'everything was refused');

const stored = new Set((await collection.find().toArray()).map(({ _id }) => _id));
stored.delete('first');
outcomes.forEach(({ status }, _id) => assert.equal(stored.has(_id), status === 'fulfilled', `insert ${_id}`));

const metrics = await (await fetch(process.argv[2].replace('mongodb:', 'http:') + 'metrics')).text();
const counted = Number(/^docdb_commands_refused_total\{database="overload"\} (\d+)/m.exec(metrics)?.[1]);
assert.ok(counted >= refused.length, `metrics count ${counted} refusals, the driver saw ${refused.length}`);
await client.close();
console.log(`total: ${refused.length} of ${INSERTS} refused, the others stored`);
