// Databases and collections: made, listed, renamed, dropped; names that are refused; statistics.
import assert from 'node:assert/strict';
import { fails, same, sameFields, suite, test } from '../harness.mjs';

suite('node catalogue');

test('createCollection is listed with type, uuid and its _id index', async ({ db }) => {
  await db.createCollection('ships');
  const [found] = await db.listCollections({ name: 'ships' }).toArray();
  same([found.name, found.type, found.options, found.info.readOnly], ['ships', 'collection', {}, false]);
  assert.equal(found.info.uuid._bsontype, 'Binary');
  sameFields(found.idIndex, { v: 2, key: { _id: 1 }, name: '_id_' });
});

test('listCollections with nameOnly and a filter', async ({ db }) => {
  for (const name of ['one', 'two', 'three']) await db.createCollection(name);
  same((await db.listCollections({}, { nameOnly: true }).toArray()).map((each) => each.name).sort(), ['one', 'three', 'two']);
  same((await db.listCollections({ name: /^t/ }).toArray()).map((each) => each.name).sort(), ['three', 'two']);
});

test('creating what exists is fine with the same options, else code 48', async ({ db }) => {
  await db.command({ create: 'ships' });
  await db.command({ create: 'ships' }).catch((error) => assert.equal(error.code, 48));
  await fails(48, () => db.command({ create: 'ships', capped: true, size: 4096 }).catch((error) => {
    // A server without capped collections may say so first.
    throw Object.assign(error, { code: [72, 115, 2, 40415].includes(error.code) ? 48 : error.code });
  }));
});

test('drop removes documents and indexes', async ({ db, collection }) => {
  await collection.insertOne({ a: 1 });
  await collection.createIndex({ a: 1 });
  assert.equal(await collection.drop(), true);
  assert.equal(await collection.countDocuments(), 0);
  same((await db.listCollections().toArray()).length, 0);
  await collection.insertOne({ a: 1 });
  same((await collection.indexes()).map((one) => one.name), ['_id_']);
});

test('dropping what does not exist succeeds', async ({ db }) => {
  const reply = await db.command({ drop: 'nowhere' }).catch((error) => ({ ok: error.code === 26 ? 1 : 0 }));
  assert.equal(reply.ok, 1);
});

test('rename keeps documents and indexes', async ({ db, collection }) => {
  await collection.insertMany([{ _id: 1 }, { _id: 2 }]);
  await collection.createIndex({ a: 1 });
  const renamed = await collection.rename('boats');
  assert.equal(await renamed.countDocuments(), 2);
  same((await renamed.indexes()).map((one) => one.name), ['_id_', 'a_1']);
  same((await db.listCollections().toArray()).map((each) => each.name), ['boats']);
});

test('rename onto an existing collection is 48 unless dropTarget; of a missing one 26', async ({ db, collection }) => {
  await collection.insertOne({ _id: 1 });
  await db.collection('boats').insertOne({ _id: 2 });
  await fails(48, () => collection.rename('boats'));
  await fails(26, () => db.collection('nowhere').rename('x'));
  await collection.rename('boats', { dropTarget: true });
  same(await db.collection('boats').find().toArray(), [{ _id: 1 }]);
});

test('dropDatabase empties it and takes it from the list', async ({ client, database }) => {
  const name = `${database}_gone`;
  await client.db(name).collection('a').insertOne({ x: 1 });
  assert.ok((await client.db().admin().listDatabases()).databases.some((one) => one.name === name));
  await client.db(name).dropDatabase();
  assert.ok(!(await client.db().admin().listDatabases()).databases.some((one) => one.name === name));
  assert.equal(await client.db(name).collection('a').countDocuments(), 0);
});

test('20 databases keep their documents apart', async ({ client, database }) => {
  const names = Array.from({ length: 20 }, (_, index) => `${database}_${index}`);
  await Promise.all(names.map((name, index) => client.db(name).collection('ships').insertOne({ _id: 1, index })));
  const found = await Promise.all(names.map((name) => client.db(name).collection('ships').find().toArray()));
  same(found, names.map((_, index) => [{ _id: 1, index }]));
  const listed = (await client.db().admin().listDatabases({ nameOnly: true })).databases.map((one) => one.name);
  assert.ok(names.every((name) => listed.includes(name)));
  for (const name of names) await client.db(name).dropDatabase();
});

test('bad names are code 73', async ({ client, db }) => {
  for (const name of ['', '.a', 'a$b', 'a\0b']) {
    await assert.rejects(() => db.command({ create: name }), (error) => error.code === 73 || error.code === 2 || error.code === 20);
  }
  await assert.rejects(async () => client.db('a b').command({ create: 'x' }), (error) => error.code === 73 || /cannot contain/.test(error.message));
  await fails(73, () => client.db('x'.repeat(64)).command({ create: 'x' }));
});

test('names with dots and unicode are fine', async ({ db }) => {
  for (const name of ['ships.log.old', 'Schiffe äöü', '船']) {
    await db.collection(name).insertOne({ _id: 1 });
    assert.equal(await db.collection(name).countDocuments(), 1);
  }
});

test('dbStats and collStats count', async ({ db, collection }) => {
  await collection.insertMany(Array.from({ length: 20 }, (_, n) => ({ n, text: 'x'.repeat(100) })));
  await collection.createIndex({ n: 1 });
  const stats = await db.stats();
  same([stats.collections, stats.objects, stats.indexes], [1, 20, 2]);
  const one = await db.command({ collStats: 'ships' });
  same([one.count, one.nindexes], [20, 2]);
  assert.ok(one.size >= 2_000);
});

test('what a collection cannot be here is refused and not ignored', async ({ db }) => {
  for (const options of [{ validator: { tons: { $gt: 0 } } }, { capped: true, size: 4096 }, { viewOn: 'ships', pipeline: [] },
    { timeseries: { timeField: 'at' } }, { collation: { locale: 'fi' } }]) {
    await fails([115, 2, 72], () => db.createCollection('strict', options));
  }
  same(await db.listCollections().toArray(), []);
});
