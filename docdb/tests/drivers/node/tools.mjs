// What MongoDB's own tools send, in their order, read from their public source: mongodump, mongorestore, mongoexport, mongoimport, mongostat.
import assert from 'node:assert/strict';
import { Long, Timestamp } from 'mongodb';
import { fails, same, suite, test } from '../harness.mjs';

suite('node tools');

const writeConcern = { w: 'majority' };
const bypass = { bypassDocumentValidation: true, bypassEmptyTsReplacement: true };

async function dumped(db) {
  const found = await db.command({ listCollections: 1, filter: {}, cursor: {} });
  const dump = [];
  for (const { name, options, type } of found.cursor.firstBatch) {
    assert.equal(type, 'collection');
    const indexes = (await db.command({ listIndexes: name, cursor: {} })).cursor.firstBatch;
    const { n } = await db.command({ count: name, query: {} });
    const documents = await db.collection(name).find({}, { hint: { _id: 1 }, noCursorTimeout: true, batchSize: 2 }).toArray();
    assert.equal(documents.length, n);
    dump.push({ name, options, indexes, documents });
  }
  return dump.sort((one, other) => (one.name < other.name ? -1 : 1));
}

async function restored(client, db, dump) {
  const admin = client.db('admin');
  await admin.command({ isMaster: 1 });
  const { versionArray } = await admin.command({ buildInfo: 1 });
  assert.ok(versionArray[0] >= 7);
  for (const { name, options, indexes, documents } of dump) {
    const there = await db.listCollections({}).map((one) => one.name).toArray();
    if (there.includes(name)) await db.command({ drop: name, writeConcern });
    const idIndex = indexes.find((index) => index.name === '_id_');
    await db.command({ create: name, ...options, idIndex });
    const reply = await db.command({ insert: name, documents, ordered: false, ...bypass, writeConcern });
    same([reply.n, reply.writeErrors], [documents.length, undefined]);
    const others = indexes.filter((index) => index !== idIndex)
      .map(({ v, ...index }) => ({ ...index, ns: `${db.databaseName}.${name}` }));
    if (others.length) await db.command({ createIndexes: name, indexes: others, ignoreUnknownIndexOptions: true });
  }
}

test('what is dumped is restored, twice over too', async ({ client, db }) => {
  await db.collection('ships').insertMany([1, 2, 3, 4, 5].map((key) => (
    { _id: key, name: `ship ${key}`, at: new Timestamp({ t: 1, i: key }), tons: Long.fromNumber(key) })), {});
  await db.collection('ships').createIndex({ name: 1 }, { unique: true });
  await db.collection('ships').createIndex({ tons: -1 }, { sparse: true, expireAfterSeconds: 1e9, name: 'heavy' });
  await db.collection('ports').insertOne({ _id: 'a', tags: ['x', 'y'] });
  await db.collection('ports').createIndex({ tags: 1 }, { partialFilterExpression: { tags: { $exists: true } } });
  await db.createCollection('empty');
  const before = await dumped(db);
  await restored(client, db, before.filter((one) => one.documents.length));
  same(await dumped(db), before);
  await db.dropDatabase();
  await restored(client, db, before.filter((one) => one.documents.length));
  same(await dumped(db), before.filter((one) => one.documents.length));
});

test('an empty timestamp of a dump stays empty', async ({ db }) => {
  const none = new Timestamp(0n);
  await db.command({ insert: 'ships', documents: [{ _id: 1, at: none }], ...bypass });
  const u = { _id: 2, at: none };
  await db.command({ update: 'ships', updates: [{ q: { _id: 2 }, u, upsert: true }], ...bypass });
  same((await db.collection('ships').find().sort({ _id: 1 }).toArray()).map((one) => one.at), [none, none]);
});

test('options of indexes that MongoDB does not know are left out on demand, others are not', async ({ db }) => {
  const old = { key: { a: 1 }, name: 'a', background: true, ns: 'old.ships', made: 2011, safe: null };
  await fails(197, () => db.command({ createIndexes: 'ships', indexes: [old] }));
  await db.command({ createIndexes: 'ships', indexes: [old], ignoreUnknownIndexOptions: true });
  same((await db.collection('ships').indexes())[1], { v: 2, key: { a: 1 }, name: 'a' });
  const collated = { key: { b: 1 }, name: 'b', collation: { locale: 'fr' } };
  await assert.rejects(db.command({ createIndexes: 'ships', indexes: [collated], ignoreUnknownIndexOptions: true }));
});

test('mongoimport inserts, replaces, merges and deletes', async ({ db, collection }) => {
  await db.command({ ping: 1 });
  const rows = [1, 2, 3].map((key) => ({ _id: key, name: `ship ${key}` }));
  await db.command({ insert: 'ships', documents: rows, ordered: false, writeConcern, ...bypass });
  const twice = await db.command({ insert: 'ships', documents: [rows[0], { _id: 4 }], ordered: false, writeConcern, ...bypass });
  same([twice.n, twice.writeErrors.length, twice.writeErrors[0].code], [1, 1, 11000]);
  const update = (q, u) => db.command({ update: 'ships', updates: [{ q, u, upsert: true }], ordered: false, writeConcern, ...bypass });
  await update({ _id: 1 }, { _id: 1, name: 'new' });
  await update({ name: 'ship 2' }, { $set: { tons: 5 } });
  await update({ _id: 9 }, { _id: 9, name: 'more' });
  await db.command({ delete: 'ships', deletes: [{ q: { _id: 3 }, limit: 1 }], ordered: false, writeConcern });
  same(await collection.find().sort({ _id: 1 }).toArray(), [
    { _id: 1, name: 'new' }, { _id: 2, name: 'ship 2', tons: 5 }, { _id: 4 }, { _id: 9, name: 'more' },
  ]);
});

test('mongostat gets its counters, mongotop a plain no', async ({ client }) => {
  const status = await client.db('admin').command({ serverStatus: 1, recordStats: 0 });
  assert.ok(status.connections.current > 0);
  const error = await fails([115, 59], () => client.db('admin').command({ top: 1 }));
  assert.doesNotMatch(error.message, /unrecognized/);
});
