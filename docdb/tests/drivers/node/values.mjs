// Every BSON type and odd field name comes back as it was stored.
import assert from 'node:assert/strict';
import {
  Binary, BSON, BSONRegExp, Code, Decimal128, Double, Int32, Long, MaxKey, MinKey, ObjectId, Timestamp, UUID,
} from 'mongodb';
import { fails, same, suite, test } from '../harness.mjs';

suite('node values');

const VALUES = {
  double: new Double(1.5), 'double that is whole': new Double(3), 'negative zero': new Double(-0), infinity: new Double(Infinity),
  text: 'Grüße, 船 🚢', 'empty text': '', 'text with a zero': 'a\0b',
  document: { b: 1, a: { c: [] } }, 'empty document': {}, array: [1, 'a', [2, [3]], {}], 'empty array': [],
  binary: new Binary(Buffer.from([0, 1, 255])), 'binary of a user type': new Binary(Buffer.from('x'), 128),
  uuid: new UUID('00112233-4455-6677-8899-aabbccddeeff'),
  objectId: new ObjectId('0123456789abcdef01234567'), true: true, false: false, null: null,
  date: new Date(1_700_000_000_123), 'date before 1970': new Date(-1), 'regular expression': new BSONRegExp('^a.b$', 'im'),
  code: new Code('function () { return 1; }'), 'code with scope': new Code('x', { x: 1 }),
  int: new Int32(-5), 'smallest int': new Int32(-2_147_483_648), long: Long.MAX_VALUE, 'smallest long': Long.MIN_VALUE,
  timestamp: new Timestamp({ t: 5, i: 7 }), decimal: Decimal128.fromString('1.10E+3'), 'decimal NaN': Decimal128.fromString('NaN'),
  'least key': new MinKey(), 'greatest key': new MaxKey(),
};

const RAW = { promoteValues: false, promoteBuffers: false, bsonRegExp: true };

for (const [name, value] of Object.entries(VALUES)) {
  test(`round trip: ${name}`, async ({ collection }) => {
    await collection.insertOne({ _id: 1, value });
    const found = await collection.findOne({ _id: 1 }, RAW);
    assert.deepEqual(BSON.serialize({ value: found.value }), BSON.serialize({ value }));
    assert.equal(await collection.countDocuments({ value }), 1, 'found by its own value');
  });
}

test('NaN is stored and equals itself', async ({ collection }) => {
  await collection.insertOne({ _id: 1, value: NaN });
  assert.ok(Number.isNaN((await collection.findOne({ value: NaN })).value));
  assert.equal(await collection.countDocuments({ value: { $lt: 5 } }), 0);
});

for (const name of ['with space', 'ünï', '船', '__proto', 'a.b', '$dollar', '', '0', 'constructor', 'a'.repeat(500)]) {
  test(`field name ${JSON.stringify(name.slice(0, 20))}`, async ({ collection }) => {
    await collection.insertOne({ _id: 1, inner: { [name]: 1 } });
    same(await collection.findOne(), { _id: 1, inner: { [name]: 1 } });
  });
}

test('dots and dollars at the top level are stored', async ({ collection }) => {
  await collection.insertMany([{ _id: 1, 'a.b': 1 }, { _id: 2, $c: 2 }]);
  same(await collection.find().sort({ _id: 1 }).toArray(), [{ _id: 1, 'a.b': 1 }, { _id: 2, $c: 2 }]);
  same(await collection.findOne({ $expr: { $eq: [{ $getField: 'a.b' }, 1] } }), { _id: 1, 'a.b': 1 });
});

test('a hundred nested documents come back', async ({ collection }) => {
  let nested = { end: true };
  for (let depth = 0; depth < 98; depth += 1) nested = { n: nested };
  await collection.insertOne({ _id: 1, nested });
  same((await collection.findOne()).nested, nested);
});

test('far deeper nesting is refused and the server goes on', async ({ collection }) => {
  let nested = { end: true };
  for (let depth = 0; depth < 2_000; depth += 1) nested = { n: nested };
  await assert.rejects(() => collection.insertOne({ _id: 1, nested }));
  await collection.insertOne({ _id: 2 });
  same(await collection.find().toArray(), [{ _id: 2 }]);
});

test('a document of 1,000 fields keeps their order', async ({ collection }) => {
  const names = Array.from({ length: 1_000 }, (_, index) => `f${(index * 7919) % 1_000}`);
  await collection.insertOne(Object.fromEntries([['_id', 1], ...names.map((name, index) => [name, index])]));
  same(Object.keys(await collection.findOne()), ['_id', ...names]);
});

test('an undefined field is left out and an explicit null stays', async ({ collection }) => {
  await collection.insertOne({ _id: 1, a: undefined, b: null }, { ignoreUndefined: true });
  same(await collection.findOne(), { _id: 1, b: null });
});

test('a raw document comes back byte for byte', async ({ collection }) => {
  const bytes = BSON.serialize({ _id: 1, a: new Double(2), b: Long.ONE, c: [new Int32(1)] });
  await collection.insertOne(BSON.deserialize(bytes, RAW));
  const [found] = await collection.find({}, { raw: true }).toArray();
  assert.deepEqual(Buffer.from(found), Buffer.from(bytes));
});

test('BSON that lies about its length is an error, not a crash', async ({ db, collection }) => {
  await fails([2, 9, 22, 10334, 14, 40415], () => db.command({ insert: 'ships', documents: 'no array' }));
  await collection.insertOne({ _id: 1 });
  assert.equal(await collection.countDocuments(), 1);
});
