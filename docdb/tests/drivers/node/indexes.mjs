// Indexes: made, listed, used, enforced, dropped; uniqueness in its variants; expiry.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { fails, same, sameFields, suite, test } from '../harness.mjs';

suite('node indexes');

// MongoDB's own monitor passes every 60 s; a server under test may be told to look more often.
const EXPIRY_WAIT_MS = Number(process.env.EXPIRY_WAIT_MS ?? 70_000);

test('createIndex returns the name made from the keys', async ({ collection }) => {
  assert.equal(await collection.createIndex({ a: 1, 'b.c': -1 }), 'a_1_b.c_-1');
});

test('createIndexes tells how many there were and are, and makes the collection', async ({ db }) => {
  const reply = await db.command({ createIndexes: 'ships', indexes: [{ key: { a: 1 }, name: 'a_1' }, { key: { b: 1 }, name: 'bee' }] });
  same([reply.numIndexesBefore, reply.numIndexesAfter, reply.createdCollectionAutomatically], [1, 3, true]);
  const again = await db.command({ createIndexes: 'ships', indexes: [{ key: { a: 1 }, name: 'a_1' }] });
  same([again.numIndexesBefore, again.numIndexesAfter, again.note], [3, 3, 'all indexes already exist']);
});

test('listIndexes shows v, key, name and every option', async ({ collection }) => {
  await collection.createIndex({ a: 1 }, { unique: true });
  await collection.createIndex({ b: -1 }, { sparse: true, name: 'bee' });
  await collection.createIndex({ at: 1 }, { expireAfterSeconds: 60 });
  await collection.createIndex({ c: 1, d: 1 }, { partialFilterExpression: { c: { $gt: 5 } } });
  const found = (await collection.listIndexes().toArray()).sort((l, r) => (l.name < r.name ? -1 : 1));
  sameFields(found, [
    { v: 2, key: { _id: 1 }, name: '_id_' },
    { v: 2, key: { a: 1 }, name: 'a_1', unique: true },
    { v: 2, key: { at: 1 }, name: 'at_1', expireAfterSeconds: 60 },
    { v: 2, key: { b: -1 }, name: 'bee', sparse: true },
    { v: 2, key: { c: 1, d: 1 }, name: 'c_1_d_1', partialFilterExpression: { c: { $gt: 5 } } },
  ]);
});

test('listIndexes of a collection that does not exist is code 26', async ({ db }) => {
  await fails(26, () => db.command({ listIndexes: 'nowhere' }));
});

test('the same keys with other options are code 85, the same name with other keys 86', async ({ collection }) => {
  await collection.createIndex({ a: 1 }, { name: 'one' });
  await fails(85, () => collection.createIndex({ a: 1 }, { name: 'two' }));
  await fails([85, 86], () => collection.createIndex({ a: 1 }, { name: 'one', unique: true }));
  await fails(86, () => collection.createIndex({ b: 1 }, { name: 'one' }));
});

test('bad index specifications are refused', async ({ db }) => {
  for (const spec of [{ key: {}, name: 'x' }, { key: { a: 0 }, name: 'x' }, { key: { a: 'rope' }, name: 'x' }]) {
    await fails([67, 2, 72, 197], () => db.command({ createIndexes: 'ships', indexes: [spec] }));
  }
  await fails([2, 9, 40414], () => db.command({ createIndexes: 'ships', indexes: [{ key: { a: 1 } }] }));
  await fails(197, () => db.command({ createIndexes: 'ships', indexes: [{ key: { a: 1 }, name: 'x', colour: 1 }] }));
});

test('dropIndex by name, by keys and all; unknown is 27, _id is 72', async ({ collection }) => {
  await collection.insertOne({});
  await collection.createIndex({ a: 1 });
  await collection.createIndex({ b: 1 });
  await collection.createIndex({ c: 1 });
  await collection.dropIndex('a_1');
  await collection.dropIndex({ b: 1 });
  await fails(27, () => collection.dropIndex('a_1'));
  await fails(72, () => collection.dropIndex('_id_'));
  await collection.dropIndexes();
  same((await collection.indexes()).map((one) => one.name), ['_id_']);
});

test('a unique index refuses a second value with keyPattern and keyValue', async ({ collection, database }) => {
  await collection.createIndex({ mail: 1 }, { unique: true });
  await collection.insertOne({ _id: 1, mail: 'a@x' });
  const error = await fails(11000, () => collection.insertOne({ _id: 2, mail: 'a@x' }));
  same([error.keyPattern, error.keyValue], [{ mail: 1 }, { mail: 'a@x' }]);
  assert.equal(error.message, `E11000 duplicate key error collection: ${database}.ships index: mail_1 dup key: { mail: "a@x" }`);
  await collection.insertOne({ _id: 2, mail: 'b@x' });
  const changed = await fails(11000, () => collection.updateOne({ _id: 2 }, { $set: { mail: 'a@x' } }));
  same(changed.errorResponse?.keyValue ?? changed.keyValue, { mail: 'a@x' });
});

test('a unique value is free again after its document went or changed', async ({ collection }) => {
  await collection.createIndex({ mail: 1 }, { unique: true });
  await collection.insertOne({ _id: 1, mail: 'a' });
  await collection.deleteOne({ _id: 1 });
  await collection.insertOne({ _id: 2, mail: 'a' });
  await collection.updateOne({ _id: 2 }, { $set: { mail: 'b' } });
  await collection.insertOne({ _id: 3, mail: 'a' });
  assert.equal(await collection.countDocuments(), 2);
});

test('missing counts as null in a unique index, unless it is sparse', async ({ collection, db }) => {
  await collection.createIndex({ mail: 1 }, { unique: true });
  await collection.insertOne({ _id: 1 });
  await fails(11000, () => collection.insertOne({ _id: 2 }));
  await fails(11000, () => collection.insertOne({ _id: 3, mail: null }));
  const sparse = db.collection('sparse');
  await sparse.createIndex({ mail: 1 }, { unique: true, sparse: true });
  await sparse.insertMany([{ _id: 1 }, { _id: 2 }, { _id: 3, mail: null }]);
  await fails(11000, () => sparse.insertOne({ _id: 4, mail: null }));
});

test('a partial unique index binds only what its filter takes', async ({ collection }) => {
  await collection.createIndex({ mail: 1 }, { unique: true, partialFilterExpression: { active: true } });
  await collection.insertMany([{ mail: 'a', active: true }, { mail: 'a', active: false }, { mail: 'a' }]);
  await fails(11000, () => collection.insertOne({ mail: 'a', active: true }));
  await fails(11000, () => collection.updateMany({ active: false }, { $set: { active: true } }));
});

test('a unique multikey index holds across documents, not within one', async ({ collection }) => {
  await collection.createIndex({ tags: 1 }, { unique: true });
  await collection.insertOne({ _id: 1, tags: ['a', 'a', 'b'] });
  await fails(11000, () => collection.insertOne({ _id: 2, tags: ['c', 'b'] }));
  await collection.insertOne({ _id: 3, tags: ['c'] });
});

test('a compound unique index compares all its fields', async ({ collection }) => {
  await collection.createIndex({ a: 1, b: 1 }, { unique: true });
  await collection.insertMany([{ a: 1, b: 1 }, { a: 1, b: 2 }, { a: 1 }]);
  await fails(11000, () => collection.insertOne({ a: 1, b: 2 }));
  await fails(11000, () => collection.insertOne({ a: 1, b: null }));
});

test('a unique index over documents that break it is refused and leaves no index', async ({ collection }) => {
  await collection.insertMany([{ a: 1 }, { a: 1 }]);
  const error = await fails(11000, () => collection.createIndex({ a: 1 }, { unique: true }));
  same(error.keyValue ?? error.errorResponse.keyValue, { a: 1 });
  assert.equal((await collection.indexes()).length, 1);
});

test('two arrays under one compound index are refused with 171', async ({ collection }) => {
  await collection.createIndex({ a: 1, b: 1 });
  await collection.insertOne({ a: [1, 2], b: 1 });
  await fails(171, () => collection.insertOne({ a: [1], b: [2] }));
});

const INDEXED = [
  ['a value', { a: 1 }, { a: 50 }],
  ['a range', { a: 1 }, { a: { $gte: 10, $lt: 20 } }],
  ['$in', { a: 1 }, { a: { $in: [1, 5, 90] } }],
  ['the first field of a compound index', { a: 1, b: 1 }, { a: 7 }],
  ['all fields of a compound index', { a: 1, b: -1 }, { a: 7, b: { $gt: 2 } }],
  ['an element of an array', { v: 1 }, { v: 12 }],
  ['a path into documents', { 'o.p': 1 }, { 'o.p': 33 }],
  ['null and missing', { maybe: 1 }, { maybe: null }],
  ['the start of a text', { s: 1 }, { s: /^ship 1/ }],
  ['two conditions on an array', { v: 1 }, { v: { $gt: 190, $lt: 5 } }],
];
for (const [name, keys, filter] of INDEXED) {
  test(`used and right: ${name}`, async ({ collection }) => {
    await collection.insertMany(Array.from({ length: 100 }, (_, n) => (
      { _id: n, a: n, b: n % 5, v: [n, n * 2], o: { p: n }, s: `ship ${n}`, ...(n % 3 ? { maybe: n } : {}) })));
    const plain = (await collection.find(filter).toArray()).map((one) => one._id).sort((l, r) => l - r);
    await collection.createIndex(keys);
    const indexed = (await collection.find(filter).toArray()).map((one) => one._id).sort((l, r) => l - r);
    same(indexed, plain);
    assert.match(JSON.stringify(await collection.find(filter).explain()), /IXSCAN/);
  });
}

test('an index delivers a sort and its reverse', async ({ collection }) => {
  await collection.insertMany(Array.from({ length: 60 }, (_, n) => ({ _id: n, a: (n * 37) % 60 })));
  await collection.createIndex({ a: 1 });
  for (const way of [1, -1]) {
    const found = (await collection.find().sort({ a: way }).limit(5).toArray()).map((one) => one.a);
    same(found, way === 1 ? [0, 1, 2, 3, 4] : [59, 58, 57, 56, 55]);
  }
});

test('indexes follow updates, deletes and replacements', async ({ collection }) => {
  await collection.createIndex({ a: 1 });
  await collection.insertMany([{ _id: 1, a: 1 }, { _id: 2, a: 1 }, { _id: 3, a: 2 }]);
  await collection.updateOne({ _id: 1 }, { $set: { a: 5 } });
  await collection.replaceOne({ _id: 2 }, { b: 1 });
  await collection.deleteOne({ _id: 3 });
  same(await collection.find({ a: { $gte: 0 } }).toArray(), [{ _id: 1, a: 5 }]);
  same(await collection.find({ a: null }).toArray(), [{ _id: 2, b: 1 }]);
});

test('collMod changes expireAfterSeconds', async ({ db, collection }) => {
  await collection.createIndex({ at: 1 }, { expireAfterSeconds: 3600 });
  const reply = await db.command({ collMod: 'ships', index: { keyPattern: { at: 1 }, expireAfterSeconds: 7200 } });
  same([reply.expireAfterSeconds_old, reply.expireAfterSeconds_new], [3600, 7200]);
  assert.equal((await collection.indexes()).find((one) => one.name === 'at_1').expireAfterSeconds, 7200);
});

if (EXPIRY_WAIT_MS > 0 && EXPIRY_WAIT_MS < 55_000) {
  test('a document past its expiry goes, others stay', async ({ collection }) => {
    await collection.createIndex({ at: 1 }, { expireAfterSeconds: 0 });
    const [past, future] = [new Date(Date.now() - 5_000), new Date(Date.now() + 3_600_000)];
    await collection.insertMany([{ _id: 1, at: past }, { _id: 2, at: future }, { _id: 3 }, { _id: 4, at: 'text' }, { _id: 5, at: [future, past] }]);
    const end = Date.now() + EXPIRY_WAIT_MS;
    while (Date.now() < end && (await collection.countDocuments()) > 3) await sleep(50);
    same((await collection.find().sort({ _id: 1 }).toArray()).map((one) => one._id), [2, 3, 4]);
  });
}
