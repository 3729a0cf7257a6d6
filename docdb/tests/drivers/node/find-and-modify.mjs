// findOneAndUpdate, findOneAndReplace, findOneAndDelete and the reply that drivers read.
import { fails, same, suite, test } from '../harness.mjs';

suite('node findAndModify');

const FLEET = [{ _id: 1, n: 5 }, { _id: 2, n: 7 }, { _id: 3, n: 6 }];

function afloat(name, body) {
  test(name, async (given) => {
    await given.collection.insertMany(FLEET.map((one) => ({ ...one })));
    await body(given.collection, given);
  });
}

afloat('returns the document before by default', async (ships) => {
  same(await ships.findOneAndUpdate({ _id: 1 }, { $inc: { n: 1 } }), { _id: 1, n: 5 });
  same(await ships.findOne({ _id: 1 }), { _id: 1, n: 6 });
});

afloat('returns the document after', async (ships) => {
  same(await ships.findOneAndUpdate({ _id: 1 }, { $inc: { n: 1 } }, { returnDocument: 'after' }), { _id: 1, n: 6 });
});

afloat('sort chooses which one', async (ships) => {
  same(await ships.findOneAndUpdate({}, { $set: { picked: true } }, { sort: { n: -1 }, returnDocument: 'after' }), { _id: 2, n: 7, picked: true });
});

afloat('projection cuts what is returned', async (ships) => {
  same(await ships.findOneAndUpdate({ _id: 1 }, { $inc: { n: 1 } }, { projection: { _id: 0, n: 1 } }), { n: 5 });
});

afloat('no match is null', async (ships) => {
  same(await ships.findOneAndUpdate({ _id: 9 }, { $inc: { n: 1 } }), null);
  same(await ships.findOneAndDelete({ _id: 9 }), null);
});

afloat('an upsert returns null before and the document after', async (ships) => {
  same(await ships.findOneAndUpdate({ _id: 8 }, { $set: { n: 1 } }, { upsert: true }), null);
  same(await ships.findOneAndUpdate({ _id: 9 }, { $set: { n: 2 } }, { upsert: true, returnDocument: 'after' }), { _id: 9, n: 2 });
});

afloat('lastErrorObject tells update, upsert and nothing apart', async (ships) => {
  const options = { includeResultMetadata: true };
  const found = await ships.findOneAndUpdate({ _id: 1 }, { $inc: { n: 1 } }, options);
  same([found.ok, found.lastErrorObject], [1, { n: 1, updatedExisting: true }]);
  const made = await ships.findOneAndUpdate({ _id: 7 }, { $set: { n: 1 } }, { ...options, upsert: true });
  same([made.value, made.lastErrorObject], [null, { n: 1, updatedExisting: false, upserted: 7 }]);
  const none = await ships.findOneAndUpdate({ _id: 99 }, { $set: { n: 1 } }, options);
  same([none.value, none.lastErrorObject], [null, { n: 0, updatedExisting: false }]);
  const gone = await ships.findOneAndDelete({ _id: 1 }, options);
  same([gone.value, gone.lastErrorObject], [{ _id: 1, n: 6 }, { n: 1 }]);
});

afloat('findOneAndReplace keeps the _id', async (ships) => {
  same(await ships.findOneAndReplace({ _id: 2 }, { m: 1 }, { returnDocument: 'after' }), { _id: 2, m: 1 });
});

afloat('findOneAndDelete takes the first by sort', async (ships) => {
  same(await ships.findOneAndDelete({}, { sort: { n: 1 } }), { _id: 1, n: 5 });
  same(await ships.countDocuments(), 2);
});

test('a pipeline and arrayFilters', async ({ collection }) => {
  await collection.insertOne({ _id: 1, v: [1, 5], n: 2 });
  same(await collection.findOneAndUpdate({ _id: 1 }, [{ $set: { n: { $multiply: ['$n', 10] } } }], { returnDocument: 'after' }), { _id: 1, v: [1, 5], n: 20 });
  same(await collection.findOneAndUpdate({ _id: 1 }, { $set: { 'v.$[big]': 0 } }, { arrayFilters: [{ big: { $gt: 3 } }], returnDocument: 'after' }), { _id: 1, v: [1, 0], n: 20 });
});

afloat('a duplicate key is 11000 with keyPattern and keyValue', async (ships) => {
  await ships.createIndex({ n: 1 }, { unique: true });
  const error = await fails(11000, () => ships.findOneAndUpdate({ _id: 1 }, { $set: { n: 7 } }));
  same([error.errorResponse.keyPattern, error.errorResponse.keyValue], [{ n: 1 }, { n: 7 }]);
});

afloat('remove together with update is refused', async (_ships, { db }) => {
  await fails([2, 9], () => db.command({ findAndModify: 'ships', query: {}, remove: true, update: { $set: { a: 1 } } }));
});

test('20 workers take each job once', async ({ collection }) => {
  await collection.insertMany(Array.from({ length: 100 }, (_, _id) => ({ _id, state: 'new' })));
  const taken = [];
  await Promise.all(Array.from({ length: 20 }, async (_, worker) => {
    for (;;) {
      const job = await collection.findOneAndUpdate({ state: 'new' }, { $set: { state: 'taken', worker } });
      if (!job) return;
      taken.push(job._id);
    }
  }));
  same(taken.sort((a, b) => a - b), Array.from({ length: 100 }, (_, index) => index));
});
