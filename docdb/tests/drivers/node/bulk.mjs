// bulkWrite and insertMany with errors: what is counted, which index failed, what still happened.
import assert from 'node:assert/strict';
import { MongoBulkWriteError } from 'mongodb';
import { same, suite, test, withClient } from '../harness.mjs';

suite('node bulk');

async function bulkError(operation) {
  try {
    await operation();
  } catch (error) {
    assert.ok(error instanceof MongoBulkWriteError, String(error.stack));
    return error;
  }
  throw new Error('expected a bulk write error');
}

const ids = async (collection) => (await collection.find().sort({ _id: 1 }).toArray()).map((one) => one._id);

test('all six kinds of write in one ordered bulk', async ({ collection }) => {
  const result = await collection.bulkWrite([
    { insertOne: { document: { _id: 1, a: 1 } } },
    { insertOne: { document: { _id: 2, a: 1 } } },
    { updateOne: { filter: { _id: 1 }, update: { $inc: { a: 1 } } } },
    { updateMany: { filter: { a: { $gt: 0 } }, update: { $set: { b: 1 } } } },
    { replaceOne: { filter: { _id: 7 }, replacement: { c: 1 }, upsert: true } },
    { deleteOne: { filter: { _id: 2 } } },
    { deleteMany: { filter: { nothing: 1 } } },
  ]);
  same([result.insertedCount, result.matchedCount, result.modifiedCount, result.deletedCount, result.upsertedCount], [2, 3, 3, 1, 1]);
  same(result.upsertedIds, { 4: 7 });
  same(await collection.find().sort({ _id: 1 }).toArray(), [{ _id: 1, a: 2, b: 1 }, { _id: 7, c: 1 }]);
});

test('ordered stops at the first error and keeps the counts before it', async ({ collection }) => {
  const error = await bulkError(() => collection.bulkWrite([
    { insertOne: { document: { _id: 1 } } },
    { insertOne: { document: { _id: 1 } } },
    { insertOne: { document: { _id: 2 } } },
  ]));
  assert.equal(error.code, 11000);
  assert.equal(error.result.insertedCount, 1);
  same(error.writeErrors.map((one) => [one.index, one.code]), [[1, 11000]]);
  same(await ids(collection), [1]);
});

test('unordered goes on and names every index that failed', async ({ collection }) => {
  const error = await bulkError(() => collection.bulkWrite(
    [1, 1, 2, 2, 3].map((_id) => ({ insertOne: { document: { _id } } })), { ordered: false }));
  assert.equal(error.result.insertedCount, 3);
  same(error.writeErrors.map((one) => one.index), [1, 3]);
  same(await ids(collection), [1, 2, 3]);
});

test('updates with a failing one in the middle, ordered', async ({ collection }) => {
  await collection.insertMany([{ _id: 1, a: 1 }, { _id: 2, a: 'text' }, { _id: 3, a: 1 }]);
  const error = await bulkError(() => collection.bulkWrite([1, 2, 3].map((_id) => (
    { updateOne: { filter: { _id }, update: { $inc: { a: 1 } } } }))));
  same([error.code, error.writeErrors[0].index, error.result.matchedCount, error.result.modifiedCount], [14, 1, 1, 1]);
  same((await collection.findOne({ _id: 3 })).a, 1);
});

test('a duplicate under a compound index has keyPattern and keyValue', async ({ collection, db }) => {
  await collection.createIndex({ 'owner.mail': 1, n: -1 }, { unique: true, name: 'owners' });
  // The driver's own write errors leave the keys out, so the raw reply is looked at.
  const reply = await db.command({ insert: 'ships', documents: [{ owner: { mail: 'a@x' }, n: 1 }, { owner: { mail: 'a@x' }, n: 1 }] });
  const detail = reply.writeErrors[0];
  same([detail.keyPattern, detail.keyValue], [{ 'owner.mail': 1, n: -1 }, { 'owner.mail': 'a@x', n: 1 }]);
  assert.match(detail.errmsg, /index: owners dup key: \{ owner\.mail: "a@x", n: 1 \}/);
});

test('the raw reply of insert counts within the command', async ({ db }) => {
  const reply = await db.command({ insert: 'ships', ordered: false, documents: [{ _id: 1 }, { _id: 1 }, { _id: 2 }, { _id: 2 }] });
  assert.equal(reply.ok, 1);
  assert.equal(reply.n, 2);
  same(reply.writeErrors.map((one) => [one.index, one.code]), [[1, 11000], [3, 11000]]);
});

test('the raw reply of update has n, nModified and upserted with write errors', async ({ db }) => {
  await db.collection('ships').insertMany([{ _id: 1, a: 1 }, { _id: 2, a: 'x' }]);
  const reply = await db.command({
    update: 'ships', ordered: false, updates: [
      { q: { _id: 1 }, u: { $inc: { a: 1 } } }, { q: { _id: 2 }, u: { $inc: { a: 1 } } }, { q: { _id: 9 }, u: { $set: { a: 1 } }, upsert: true }],
  });
  same([reply.n, reply.nModified], [2, 1]);
  same(reply.upserted, [{ index: 2, _id: 9 }]);
  same(reply.writeErrors.map((one) => [one.index, one.code]), [[1, 14]]);
});

test('the raw reply of delete: limit 0 is all, 1 is one, 2 is refused', async ({ db, collection }) => {
  await collection.insertMany([{ a: 1 }, { a: 1 }, { a: 2 }, { a: 2 }]);
  const reply = await db.command({ delete: 'ships', deletes: [{ q: { a: 1 }, limit: 0 }, { q: { a: 2 }, limit: 1 }] });
  assert.equal(reply.n, 3);
  await assert.rejects(() => db.command({ delete: 'ships', deletes: [{ q: {}, limit: 2 }] }));
});

test('the initialize-ordered interface', async ({ collection }) => {
  const bulk = collection.initializeOrderedBulkOp();
  bulk.insert({ _id: 1 });
  bulk.find({ _id: 1 }).updateOne({ $set: { a: 1 } });
  bulk.find({ _id: 5 }).upsert().replaceOne({ b: 1 });
  bulk.find({ _id: 1 }).deleteOne();
  const result = await bulk.execute();
  same([result.insertedCount, result.matchedCount, result.upsertedCount, result.deletedCount], [1, 1, 1, 1]);
});

test('10,000 documents in one insertMany', async ({ collection }) => {
  const result = await collection.insertMany(Array.from({ length: 10_000 }, (_, _id) => ({ _id, text: `ship ${_id}` })));
  assert.equal(result.insertedCount, 10_000);
  assert.equal(await collection.countDocuments(), 10_000);
  same(await collection.findOne({ _id: 9_999 }), { _id: 9_999, text: 'ship 9999' });
});

test('60 MB in one insertMany is split into messages and all arrives', async ({ collection }) => {
  const text = 'y'.repeat(1_000_000);
  await collection.insertMany(Array.from({ length: 60 }, (_, _id) => ({ _id, text })));
  assert.equal(await collection.countDocuments(), 60);
});

test('w: 0 writes get no reply, even when they fail, and the connection goes on', async ({ uri, database }) =>
  withClient(uri, { maxPoolSize: 1 }, async (client) => {
    const quiet = client.db(database).collection('quiet', { writeConcern: { w: 0 } });
    const loud = client.db(database).collection('quiet');
    await quiet.insertOne({ _id: 1 });
    await quiet.insertOne({ _id: 1 });
    await quiet.updateOne({ _id: 1 }, { $inc: { n: 1 } });
    await quiet.updateOne({ _id: 1 }, { $hoist: { n: 1 } });
    await quiet.insertMany([{ _id: 2 }, { _id: 3 }]);
    await quiet.deleteOne({ _id: 3 });
    for (let round = 0; round < 20; round += 1) {
      same(await loud.find().sort({ _id: 1 }).toArray(), [{ _id: 1, n: 1 }, { _id: 2 }]);
    }
  }));
