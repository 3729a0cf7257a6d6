// Large documents, many writers, and errors that must reach the driver.
import assert from 'node:assert/strict';
import { MongoServerError } from 'mongodb';
import { connect, fails, same, suite, test, withClient } from '../harness.mjs';

suite('node limits');

const MEGABYTE = 1_000_000;

test('a document of 15 MB is stored and read', async ({ collection }) => {
  const text = 'm'.repeat(15 * MEGABYTE);
  await collection.insertOne({ _id: 1, text });
  assert.equal((await collection.findOne()).text.length, text.length);
});

test('a document of 17 MB is refused and the connection lives', async ({ uri, database }) =>
  withClient(uri, { maxPoolSize: 1 }, async (client) => {
    const collection = client.db(database).collection('big');
    await collection.insertOne({ _id: 0 });
    const before = (await client.db().admin().command({ hello: 1 })).connectionId;
    // The driver refuses it by itself when it knows the limit; a bulk write of the raw command must be refused by the server.
    await assert.rejects(() => collection.insertOne({ _id: 1, text: 'm'.repeat(17 * MEGABYTE) }));
    assert.equal(await collection.countDocuments(), 1);
    const after = (await client.db().admin().command({ hello: 1 })).connectionId;
    assert.equal(after, before, 'the same connection');
  }));

test('an update that grows past 16 MB is refused and leaves the document', async ({ collection }) => {
  await collection.insertOne({ _id: 1, v: ['x'.repeat(9 * MEGABYTE)] });
  await fails([10334, 17419, 17420, 2], () => collection.updateOne({ _id: 1 }, { $push: { v: 'x'.repeat(9 * MEGABYTE) } }));
  assert.equal((await collection.findOne()).v.length, 1);
});

test('more than 100,000 writes in one command are refused', async ({ db }) => {
  const deletes = Array.from({ length: 100_001 }, () => ({ q: {}, limit: 1 }));
  await fails([16, 2, 9], () => db.command({ delete: 'ships', deletes }));
});

test('an empty list of documents is refused', async ({ db }) => {
  await fails([16, 2, 9], () => db.command({ insert: 'ships', documents: [] }));
});

test('$inc from 50 connections loses none', async ({ uri, database }) =>
  withClient(uri, { maxPoolSize: 50 }, async (client) => {
    const collection = client.db(database).collection('counter');
    await collection.insertOne({ _id: 1, n: 0 });
    await Promise.all(Array.from({ length: 50 }, async () => {
      for (let round = 0; round < 20; round += 1) await collection.updateOne({ _id: 1 }, { $inc: { n: 1 } });
    }));
    same(await collection.findOne(), { _id: 1, n: 1_000 });
  }));

test('an upsert of one key from 30 connections makes one document', async ({ uri, database }) =>
  withClient(uri, { maxPoolSize: 30 }, async (client) => {
    const collection = client.db(database).collection('once');
    await Promise.all(Array.from({ length: 30 }, (_, who) =>
      collection.updateOne({ _id: 'lock' }, { $push: { who }, $inc: { n: 1 } }, { upsert: true })));
    const [found, ...more] = await collection.find().toArray();
    same([found.n, new Set(found.who).size, more.length], [30, 30, 0]);
  }));

test('one of 30 connections wins a unique value, the others see 11000', async ({ uri, database }) =>
  withClient(uri, { maxPoolSize: 30 }, async (client) => {
    const collection = client.db(database).collection('names');
    await collection.createIndex({ name: 1 }, { unique: true });
    const outcomes = await Promise.allSettled(Array.from({ length: 30 }, () => collection.insertOne({ name: 'Aurora' })));
    assert.equal(outcomes.filter((one) => one.status === 'fulfilled').length, 1);
    assert.ok(outcomes.every((one) => one.status === 'fulfilled' || one.reason.code === 11000));
    assert.equal(await collection.countDocuments(), 1);
  }));

test('a read sees the write that the same client was told of', async ({ collection }) => {
  for (let n = 0; n < 100; n += 1) {
    await collection.updateOne({ _id: 1 }, { $set: { n } }, { upsert: true });
    assert.equal((await collection.findOne({ _id: 1 })).n, n);
  }
});

test('30 writers in 5 databases: every acknowledged document is there', async ({ client, database }) => {
  const names = Array.from({ length: 5 }, (_, index) => `${database}_${index}`);
  await Promise.all(Array.from({ length: 30 }, async (_, writer) => {
    const collection = client.db(names[writer % 5]).collection('log');
    for (let n = 0; n < 30; n += 1) await collection.insertOne({ _id: `${writer}/${n}` });
  }));
  const counts = await Promise.all(names.map((name) => client.db(name).collection('log').countDocuments()));
  same(counts, [180, 180, 180, 180, 180]);
  await Promise.all(names.map((name) => client.db(name).dropDatabase()));
});

test('every failed write is seen as failed by the driver', async ({ collection }) => {
  await collection.insertOne({ _id: 1, a: 'text' });
  const operations = [
    () => collection.insertOne({ _id: 1 }),
    () => collection.updateOne({ _id: 1 }, { $inc: { a: 1 } }),
    () => collection.updateMany({}, { $push: { a: 1 } }),
    () => collection.replaceOne({ _id: 1 }, { _id: 2 }),
    () => collection.findOneAndUpdate({ _id: 1 }, { $inc: { a: 1 } }),
    () => collection.insertMany([{ _id: 2 }, { _id: 1 }]),
    () => collection.deleteMany({ a: { $sail: 1 } }),
    () => collection.bulkWrite([{ updateOne: { filter: { $sail: 1 }, update: { $set: { a: 1 } } } }]),
  ];
  for (const operation of operations) await assert.rejects(operation, (error) => error instanceof MongoServerError && error.code > 0);
});

test('maxTimeMS ends a slow command with code 50, or it was fast enough', async ({ collection }) => {
  await collection.insertMany(Array.from({ length: 5_000 }, (_, n) => ({ n, text: 'x'.repeat(200) })));
  const slow = collection.find({ $expr: { $gt: [{ $strLenCP: { $concat: Array.from({ length: 50 }, () => '$text') } }, 1] } }, { maxTimeMS: 1 });
  await slow.toArray().catch((error) => assert.equal(error.code, 50, error.message));
});

test('100 connections at once, then one more client', async ({ uri, database }) => {
  const clients = Array.from({ length: 100 }, () => connect(uri, { maxPoolSize: 1 }));
  try {
    await Promise.all(clients.map((client, _id) => client.db(database).collection('crowd').insertOne({ _id })));
    assert.equal(await clients[0].db(database).collection('crowd').countDocuments(), 100);
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
});
