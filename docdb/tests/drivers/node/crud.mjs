// insert, find, update, replace, delete, count and distinct, as the official Node driver sends them.
import assert from 'node:assert/strict';
import { ObjectId } from 'mongodb';
import { fails, same, suite, test } from '../harness.mjs';

suite('node crud');

const FLEET = [
  { _id: 1, name: 'Aurora', tons: 10, flag: 'fi' },
  { _id: 2, name: 'Borealis', tons: 30, flag: 'se' },
  { _id: 3, name: 'Caravel', tons: 20, flag: 'fi' },
];

/** A case over three ships. */
function afloat(name, body) {
  test(name, async (given) => {
    await given.collection.insertMany(FLEET.map((ship) => ({ ...ship })));
    await body(given);
  });
}

test('insertOne makes an ObjectId and returns it', async ({ collection }) => {
  const result = await collection.insertOne({ name: 'Dory' });
  assert.ok(result.acknowledged);
  assert.ok(result.insertedId instanceof ObjectId);
  same(await collection.findOne({ _id: result.insertedId }), { _id: result.insertedId, name: 'Dory' });
});

test('insertMany returns an id for each', async ({ collection }) => {
  const result = await collection.insertMany([{ _id: 'x' }, {}, { _id: 7 }]);
  assert.equal(result.insertedCount, 3);
  assert.equal(result.insertedIds[0], 'x');
  assert.equal(await collection.countDocuments(), 3);
});

test('ids may be of any type but array, regular expression and undefined', async ({ collection }) => {
  const ids = ['text', 1.5, true, new Date(0), { a: 1, b: [1] }, null, new ObjectId()];
  // The driver puts an ObjectId in the place of null unless it is told to leave _id to the server.
  await collection.insertMany(ids.map((_id) => ({ _id })), { forceServerObjectId: true });
  for (const _id of ids) same(await collection.findOne({ _id }), { _id });
  await fails([2, 53], () => collection.insertOne({ _id: [1] }));
  await fails([2, 53], () => collection.insertOne({ _id: /a/ }));
});

test('_id is stored first wherever it was written', async ({ collection }) => {
  await collection.insertOne({ name: 'Ebb', _id: 4 });
  assert.deepEqual(Object.keys(await collection.findOne()), ['_id', 'name']);
});

afloat('a second document with the same _id is error 11000 with its key', async ({ collection, database }) => {
  const error = await fails(11000, () => collection.insertOne({ _id: 2 }));
  same(error.keyPattern, { _id: 1 });
  same(error.keyValue, { _id: 2 });
  assert.equal(error.message,
    `E11000 duplicate key error collection: ${database}.ships index: _id_ dup key: { _id: 2 }`);
});

afloat('1, 1.0 and Long 1 are the same _id', async ({ collection, db }) => {
  await fails(11000, () => collection.insertOne({ _id: 1.0 }));
  await fails(11000, () => db.collection('ships').insertOne({ _id: 1n }));
});

afloat('findOne without a match is null', async ({ collection }) => {
  assert.equal(await collection.findOne({ _id: 9 }), null);
});

afloat('find with sort, skip, limit and projection', async ({ collection }) => {
  const found = await collection.find({}).sort({ tons: -1 }).skip(1).limit(1).project({ name: 1, _id: 0 }).toArray();
  same(found, [{ name: 'Caravel' }]);
});

afloat('find on a collection that does not exist is empty', async ({ db }) => {
  same(await db.collection('nowhere').find().toArray(), []);
});

for (const [what, projection, expected] of [
  ['fields in', { name: 1 }, { _id: 1, name: 'Aurora' }],
  ['fields out', { tons: 0, flag: 0 }, { _id: 1, name: 'Aurora' }],
  ['only not _id', { _id: 0 }, { name: 'Aurora', tons: 10, flag: 'fi' }],
  ['a computed field', { _id: 0, twice: { $multiply: ['$tons', 2] } }, { twice: 20 }],
  ['a literal', { _id: 0, kind: { $literal: 1 } }, { kind: 1 }],
  ['another field under a new name', { _id: 0, title: '$name' }, { title: 'Aurora' }],
]) {
  afloat(`projection: ${what}`, async ({ collection }) => same(await collection.findOne({ _id: 1 }, { projection }), expected));
}

test('projection reaches into arrays of documents', async ({ collection }) => {
  await collection.insertOne({ _id: 1, crew: [{ n: 'a', age: 1 }, { n: 'b', age: 2 }], deep: { x: 1, y: 2 } });
  same(await collection.findOne({}, { projection: { 'crew.n': 1, 'deep.y': 1 } }),
    { _id: 1, crew: [{ n: 'a' }, { n: 'b' }], deep: { y: 2 } });
  same(await collection.findOne({}, { projection: { 'crew.age': 0, 'deep.y': 0, _id: 0 } }),
    { crew: [{ n: 'a' }, { n: 'b' }], deep: { x: 1 } });
});

test('projection with $slice, $elemMatch and the positional operator', async ({ collection }) => {
  await collection.insertOne({ _id: 1, marks: [5, 6, 7, 8], crew: [{ n: 'a', w: 1 }, { n: 'b', w: 2 }] });
  same((await collection.findOne({}, { projection: { marks: { $slice: 2 } } })).marks, [5, 6]);
  same((await collection.findOne({}, { projection: { marks: { $slice: [-3, 2] } } })).marks, [6, 7]);
  same(await collection.findOne({}, { projection: { crew: { $elemMatch: { w: { $gt: 1 } } } } }), { _id: 1, crew: [{ n: 'b', w: 2 }] });
  same(await collection.findOne({ marks: { $gt: 6 } }, { projection: { 'marks.$': 1 } }), { _id: 1, marks: [7] });
});

afloat('mixing fields in and out is code 31253 or 31254', async ({ collection }) => {
  await fails([31253, 31254], () => collection.findOne({}, { projection: { name: 1, tons: 0 } }));
});

test('sort order follows the BSON types', async ({ collection }) => {
  const values = [true, 'b', 5, null, { a: 1 }, new Date(0), 'a', 4.5, new ObjectId('000000000000000000000001')];
  await collection.insertMany(values.map((v, _id) => ({ _id, v })));
  const found = (await collection.find().sort({ v: 1 }).toArray()).map((one) => one._id);
  same(found, [3, 7, 2, 6, 1, 4, 8, 0, 5]);
  same((await collection.find().sort({ v: -1 }).toArray()).map((one) => one._id), found.toReversed());
});

test('an array sorts by its least element, descending by its greatest', async ({ collection }) => {
  await collection.insertMany([{ _id: 1, v: [5, 10] }, { _id: 2, v: 7 }, { _id: 3, v: [1, 20] }, { _id: 4, v: [] }]);
  same((await collection.find().sort({ v: 1 }).toArray()).map((one) => one._id), [4, 3, 1, 2]);
  same((await collection.find().sort({ v: -1 }).toArray()).map((one) => one._id), [3, 1, 2, 4]);
});

test('sort by two keys, and by a path into documents', async ({ collection }) => {
  await collection.insertMany([{ _id: 1, a: 1, b: { c: 2 } }, { _id: 2, a: 1, b: { c: 3 } }, { _id: 3, a: 0, b: { c: 1 } }]);
  same((await collection.find().sort([['a', 1], ['b.c', -1]]).toArray()).map((one) => one._id), [3, 2, 1]);
});

afloat('updateOne counts matched and modified apart', async ({ collection }) => {
  const first = await collection.updateOne({ flag: 'fi' }, { $set: { flag: 'no' } });
  same([first.matchedCount, first.modifiedCount, first.upsertedCount, first.upsertedId], [1, 1, 0, null]);
  const again = await collection.updateOne({ _id: 1 }, { $set: { flag: 'no' } });
  same([again.matchedCount, again.modifiedCount], [1, 0]);
  const none = await collection.updateOne({ _id: 9 }, { $set: { flag: 'no' } });
  same([none.matchedCount, none.modifiedCount], [0, 0]);
});

afloat('updateMany changes all that match', async ({ collection }) => {
  const result = await collection.updateMany({ flag: 'fi' }, { $inc: { tons: 5 } });
  same([result.matchedCount, result.modifiedCount], [2, 2]);
  same((await collection.find().sort({ _id: 1 }).toArray()).map((one) => one.tons), [15, 30, 25]);
});

test('an upsert returns the _id that the server made', async ({ collection }) => {
  const result = await collection.updateOne({ name: 'Gull' }, { $set: { tons: 1 } }, { upsert: true });
  assert.equal(result.upsertedCount, 1);
  assert.ok(result.upsertedId instanceof ObjectId);
  same(await collection.findOne(), { _id: result.upsertedId, name: 'Gull', tons: 1 });
});

test('an upsert copies equalities from the filter, also from $and and dotted paths, and nothing else', async ({ collection }) => {
  await collection.updateOne({ _id: 5, $and: [{ a: 1 }, { 'b.c': { $eq: 2 } }], d: { $gt: 3 }, $or: [{ e: 1 }, { e: 2 }] },
    { $set: { z: 9 }, $setOnInsert: { fresh: true } }, { upsert: true });
  same(await collection.findOne(), { _id: 5, a: 1, b: { c: 2 }, fresh: true, z: 9 });
});

test('$setOnInsert does nothing to a document that exists', async ({ collection }) => {
  await collection.insertOne({ _id: 1 });
  await collection.updateOne({ _id: 1 }, { $setOnInsert: { fresh: true }, $set: { a: 1 } }, { upsert: true });
  same(await collection.findOne(), { _id: 1, a: 1 });
});

afloat('replaceOne keeps the _id and drops every other field', async ({ collection }) => {
  const result = await collection.replaceOne({ _id: 2 }, { sails: 3 });
  same([result.matchedCount, result.modifiedCount], [1, 1]);
  same(await collection.findOne({ _id: 2 }), { _id: 2, sails: 3 });
});

afloat('a changed _id is code 66, by replacement and by $set', async ({ collection }) => {
  await fails(66, () => collection.replaceOne({ _id: 2 }, { _id: 3, sails: 3 }));
  await fails(66, () => collection.updateOne({ _id: 2 }, { $set: { _id: 8 } }));
  same(await collection.findOne({ _id: 2 }), FLEET[1]);
});

test('replaceOne with upsert takes _id from the filter', async ({ collection }) => {
  const result = await collection.replaceOne({ _id: 'r' }, { a: 1 }, { upsert: true });
  assert.equal(result.upsertedId, 'r');
  same(await collection.findOne(), { _id: 'r', a: 1 });
});

afloat('deleteOne and deleteMany count', async ({ collection }) => {
  assert.equal((await collection.deleteOne({ flag: 'fi' })).deletedCount, 1);
  assert.equal((await collection.deleteMany({ tons: { $gte: 20 } })).deletedCount, 2);
  assert.equal((await collection.deleteMany({})).deletedCount, 0);
});

afloat('countDocuments with filter, skip and limit; estimatedDocumentCount', async ({ collection }) => {
  assert.equal(await collection.countDocuments({ flag: 'fi' }), 2);
  assert.equal(await collection.countDocuments({}, { skip: 1, limit: 5 }), 2);
  assert.equal(await collection.estimatedDocumentCount(), 3);
});

test('counts over a collection that does not exist are 0', async ({ collection }) => {
  assert.equal(await collection.countDocuments({ a: 1 }), 0);
  assert.equal(await collection.estimatedDocumentCount(), 0);
});

afloat('distinct over values, filtered', async ({ collection }) => {
  same((await collection.distinct('flag')).sort(), ['fi', 'se']);
  same(await collection.distinct('name', { tons: { $gt: 20 } }), ['Borealis']);
});

test('distinct looks into arrays and takes 1 and 1.0 as one', async ({ collection, db }) => {
  await collection.insertMany([{ v: [1, 2] }, { v: 2 }, { v: 3 }, { w: 1 }]);
  await db.command({ insert: 'ships', documents: [{ v: 1n }] });
  same((await collection.distinct('v')).map(Number).sort(), [1, 2, 3]);
});

afloat('comment of any type, maxTimeMS, hint, let and read preference are accepted', async ({ collection }) => {
  same(await collection.findOne({ $expr: { $eq: ['$_id', '$$wanted'] } },
    { comment: { by: 'test' }, maxTimeMS: 5_000, let: { wanted: 3 }, readPreference: 'nearest' }), FLEET[2]);
  same(await collection.find({ _id: 1 }, { hint: '_id_', comment: 7 }).toArray(), [FLEET[0]]);
});

afloat('a hint on an index that is not there is code 2', async ({ collection }) => {
  await fails(2, () => collection.find({}, { hint: 'nowhere_1' }).toArray());
});

afloat('write concern majority and journal are accepted', async ({ collection }) => {
  const result = await collection.insertOne({ _id: 11 }, { writeConcern: { w: 'majority', j: true } });
  assert.ok(result.acknowledged);
});

afloat('explain names the plan: _id by key, unindexed by scan', async ({ collection }) => {
  const byKey = JSON.stringify(await collection.find({ _id: 1 }).explain());
  assert.match(byKey, /IDHACK|IXSCAN|EXPRESS/);
  assert.match(JSON.stringify(await collection.find({ tons: 1 }).explain()), /COLLSCAN/);
});
