// Cursors: batches, getMore, early close, what a dead one answers.
import assert from 'node:assert/strict';
import { Long } from 'mongodb';
import { fails, same, suite, test } from '../harness.mjs';

suite('node cursors');

function laden(name, count, body) {
  test(name, async (given) => {
    await given.collection.insertMany(Array.from({ length: count }, (_, _id) => ({ _id, n: _id % 7 })));
    await body(given);
  });
}

const find = (db, more = {}) => db.command({ find: 'ships', filter: {}, ...more }, { promoteLongs: false });

laden('the first batch has 101 documents by default', 250, async ({ db }) => {
  const reply = await find(db);
  assert.equal(reply.cursor.firstBatch.length, 101);
  assert.ok(Long.isLong(reply.cursor.id) && !reply.cursor.id.isZero());
  const rest = await db.command({ getMore: reply.cursor.id, collection: 'ships' }, { promoteLongs: false });
  assert.equal(rest.cursor.nextBatch.length, 149);
  assert.ok(Long.isLong(rest.cursor.id) && rest.cursor.id.isZero());
});

laden('the namespace of the cursor is named', 3, async ({ db, database }) => {
  assert.equal((await find(db)).cursor.ns, `${database}.ships`);
});

laden('batchSize 0 opens the cursor without a document', 3, async ({ db }) => {
  const reply = await find(db, { batchSize: 0 });
  same([reply.cursor.firstBatch.length, reply.cursor.id.isZero()], [0, false]);
  const rest = await db.command({ getMore: reply.cursor.id, collection: 'ships' });
  assert.equal(rest.cursor.nextBatch.length, 3);
});

laden('many small batches keep the order', 500, async ({ collection }) => {
  const found = await collection.find().sort({ _id: 1 }).batchSize(7).toArray();
  same(found.map((one) => one._id), Array.from({ length: 500 }, (_, index) => index));
});

laden('a sort that no index has, over several batches', 400, async ({ collection }) => {
  const found = await collection.find().sort({ n: 1, _id: -1 }).batchSize(50).toArray();
  assert.equal(found.length, 400);
  for (let at = 1; at < found.length; at += 1) {
    const [left, right] = [found[at - 1], found[at]];
    assert.ok(left.n < right.n || (left.n === right.n && left._id > right._id));
  }
});

laden('singleBatch closes the cursor', 10, async ({ db }) => {
  const reply = await find(db, { batchSize: 3, singleBatch: true });
  same([reply.cursor.firstBatch.length, reply.cursor.id.isZero()], [3, true]);
});

laden('limit over several batches', 50, async ({ collection }) => {
  assert.equal((await collection.find().limit(25).batchSize(10).toArray()).length, 25);
});

laden('a negative limit is one batch', 50, async ({ collection }) => {
  assert.equal((await collection.find().limit(-5).toArray()).length, 5);
});

laden('for await stops early and the cursor is closed', 300, async ({ collection }) => {
  let seen = 0;
  for await (const _ of collection.find().batchSize(10)) {
    seen += 1;
    if (seen === 15) break;
  }
  assert.equal(seen, 15);
});

laden('killCursors tells killed from unknown; getMore on the dead is code 43', 300, async ({ db }) => {
  const { cursor } = await find(db, { batchSize: 2 });
  const unknown = Long.fromString('123456789012345');
  const reply = await db.command({ killCursors: 'ships', cursors: [cursor.id, unknown] }, { promoteLongs: false });
  same(reply.cursorsKilled.map(String), [String(cursor.id)]);
  same(reply.cursorsNotFound.map(String), [String(unknown)]);
  same([reply.cursorsAlive, reply.cursorsUnknown], [[], []]);
  const error = await fails(43, () => db.command({ getMore: cursor.id, collection: 'ships' }));
  assert.equal(error.codeName, 'CursorNotFound');
});

laden('getMore under the name of another collection is refused', 300, async ({ db }) => {
  const { cursor } = await find(db, { batchSize: 2 });
  await fails([13, 20, 43], () => db.command({ getMore: cursor.id, collection: 'other' }));
});

laden('getMore from another session is refused', 300, async ({ client, db }) => {
  const one = client.startSession();
  const two = client.startSession();
  const reply = await db.command({ find: 'ships', batchSize: 2 }, { session: one, promoteLongs: false });
  await fails([13, 43, 50737, 50738], () => db.command({ getMore: reply.cursor.id, collection: 'ships' }, { session: two }));
  const rest = await db.command({ getMore: reply.cursor.id, collection: 'ships' }, { session: one });
  assert.equal(rest.cursor.nextBatch.length, 298);
  await one.endSession();
  await two.endSession();
});

test('a batch stays below 16 MB whatever batchSize asks', async ({ collection, db }) => {
  const text = 'z'.repeat(1_000_000);
  for (let part = 0; part < 2; part += 1) {
    await collection.insertMany(Array.from({ length: 20 }, (_, index) => ({ _id: part * 20 + index, text })));
  }
  const reply = await find(db, { batchSize: 1_000 });
  assert.ok(reply.cursor.firstBatch.length <= 17, `${reply.cursor.firstBatch.length} documents of 1 MB in a batch`);
  assert.equal((await collection.find({}, { batchSize: 1_000 }).toArray()).length, 40);
});

laden('writes between batches neither break nor repeat', 300, async ({ collection }) => {
  const cursor = collection.find().sort({ _id: 1 }).batchSize(20);
  const seen = [];
  for await (const one of cursor) {
    seen.push(one._id);
    if (one._id % 50 === 0) await collection.deleteOne({ _id: one._id });
  }
  assert.equal(new Set(seen).size, seen.length);
  assert.equal(seen.length, 300);
});

laden('an aggregate cursor over several batches', 300, async ({ collection }) => {
  const found = await collection.aggregate([{ $match: { _id: { $gte: 50 } } }, { $sort: { _id: 1 } }], { batchSize: 33 }).toArray();
  same([found.length, found[0]._id, found.at(-1)._id], [250, 50, 299]);
});

laden('200 cursors open at once', 50, async ({ collection }) => {
  const cursors = Array.from({ length: 200 }, () => collection.find().batchSize(5));
  await Promise.all(cursors.map((cursor) => cursor.next()));
  const rest = await Promise.all(cursors.map((cursor) => cursor.toArray()));
  assert.ok(rest.every((list) => list.length === 49));
});

laden('skip past the end is empty', 5, async ({ collection }) => {
  same(await collection.find().skip(10).toArray(), []);
});

laden('negative skip and batchSize are refused', 5, async ({ db }) => {
  await fails([2, 51024], () => find(db, { skip: -1 }));
  await fails([2, 51024], () => find(db, { batchSize: -1 }));
});
