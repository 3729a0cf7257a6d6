// Sessions, and transactions that a standalone refuses.
import assert from 'node:assert/strict';
import { fails, same, suite, test } from '../harness.mjs';

suite('node sessions');

test('withSession over several operations', async ({ client, collection }) => {
  await client.withSession(async (session) => {
    await collection.insertOne({ _id: 1 }, { session });
    await collection.updateOne({ _id: 1 }, { $set: { a: 1 } }, { session });
    same(await collection.findOne({ _id: 1 }, { session }), { _id: 1, a: 1 });
  });
});

test('startSession, refreshSessions and endSessions answer ok', async ({ client, db }) => {
  const session = client.startSession();
  await db.command({ ping: 1 }, { session });
  const id = session.id;
  same((await db.admin().command({ refreshSessions: [id] })).ok, 1);
  await session.endSession();
  same((await db.admin().command({ endSessions: [id] })).ok, 1);
});

for (const ending of ['endSessions', 'killSessions']) {
  test(`${ending} closes the session's cursors and no others`, async ({ client, collection, db }) => {
    await collection.insertMany(Array.from({ length: 10 }, (_, _id) => ({ _id })));
    const [session, other] = [client.startSession(), client.startSession()];
    const open = async (of) => (await db.command({ find: 'ships', batchSize: 2 }, { session: of, promoteLongs: false })).cursor.id;
    const more = (id, of) => db.command({ getMore: id, collection: 'ships', batchSize: 2 }, { session: of });
    const [ended, kept] = [await open(session), await open(other)];
    await db.admin().command({ [ending]: [session.id] });
    let gone = false;
    for (let look = 0; look < 4 && !gone; look += 1) {
      await new Promise((resolve) => setTimeout(resolve, 200));
      gone = await more(ended, session).then(() => false, (error) => error.code === 43);
    }
    assert.ok(gone, 'the cursor of the ended session answers on');
    assert.equal((await more(kept, other)).cursor.nextBatch.length, 2);
    await Promise.all([session.endSession(), other.endSession()]);
  });
}

test('what is no list of sessions is refused', async ({ db }) => {
  await fails(14, () => db.admin().command({ endSessions: 1 }));
  await fails(14, () => db.admin().command({ endSessions: [{ id: 'mine' }] }));
});

test('causal consistency options are harmless', async ({ client, collection }) => {
  const session = client.startSession({ causalConsistency: true });
  await collection.insertOne({ _id: 1 }, { session });
  same(await collection.find({}, { session, readConcern: { level: 'local' } }).toArray(), [{ _id: 1 }]);
  await session.endSession();
});

test('a transaction is refused with a clear error and changes nothing', async ({ client, collection }) => {
  await collection.insertOne({ _id: 0 });
  const session = client.startSession();
  session.startTransaction();
  // Code 20 of a standalone; the driver puts its own words about retryable writes in its place.
  await assert.rejects(() => collection.insertOne({ _id: 1 }, { session }), (error) => (
    [20, 263].includes(error.code ?? error.originalError?.code) && /transaction|retryable writes/i.test(error.message)));
  await session.abortTransaction().catch(() => {});
  await session.endSession();
  same(await collection.find().toArray(), [{ _id: 0 }]);
});

test('withTransaction fails instead of pretending', async ({ client, collection }) => {
  await collection.insertOne({ _id: 0 });
  await client.withSession(async (session) => {
    await assert.rejects(() => session.withTransaction(() => collection.insertOne({ _id: 1 }, { session })));
  });
  assert.equal(await collection.countDocuments(), 1);
});

test('a snapshot session is refused', async ({ client, collection }) => {
  await collection.insertOne({ _id: 0 });
  const session = client.startSession({ snapshot: true });
  await assert.rejects(() => collection.findOne({}, { session }));
  await session.endSession();
});

test('a change stream is refused with an error', async ({ collection }) => {
  await collection.insertOne({ _id: 1 });
  const stream = collection.watch();
  await assert.rejects(() => stream.next(), (error) => typeof error.code === 'number');
  await stream.close().catch(() => {});
});

test('500 implicit sessions leave nothing that hinders', async ({ collection }) => {
  await Promise.all(Array.from({ length: 500 }, (_, _id) => collection.insertOne({ _id })));
  assert.equal(await collection.countDocuments(), 500);
});
