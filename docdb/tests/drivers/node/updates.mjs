// Every update operator: the document before, the update, the document after or the error.
import { Decimal128, Double, Int32, Long, Timestamp } from 'mongodb';
import assert from 'node:assert/strict';
import { fails, same, suite, test } from '../harness.mjs';

suite('node updates');

const LARGEST_INT = 2_147_483_647;

const CHANGED = [
  ['$set, new fields in the order of their names', {}, { $set: { b: 1, a: 2 } }, { a: 2, b: 1 }],
  ['$set below a path that is missing', {}, { $set: { 'a.b.c': 1 } }, { a: { b: { c: 1 } } }],
  ['$set of an element', { v: [1, 2] }, { $set: { 'v.1': 9 } }, { v: [1, 9] }],
  ['$set beyond the end fills with null', { v: [1] }, { $set: { 'v.3': 9 } }, { v: [1, null, null, 9] }],
  ['$set keeps the place of a field', { a: 1, b: 2 }, { $set: { a: 5 } }, { a: 5, b: 2 }],
  ['$unset', { a: 1, b: { c: 1, d: 2 } }, { $unset: { a: '', 'b.c': 1 } }, { b: { d: 2 } }],
  ['$unset of an element leaves null', { v: [1, 2, 3] }, { $unset: { 'v.1': '' } }, { v: [1, null, 3] }],
  ['$inc', { n: 1 }, { $inc: { n: 2, m: -3 } }, { n: 3, m: -3 }],
  ['$inc by a fraction', { n: 1 }, { $inc: { n: 0.5 } }, { n: 1.5 }],
  ['$mul', { n: 4 }, { $mul: { n: 2.5, m: 3 } }, { n: 10, m: 0 }],
  ['$min and $max', { a: 5, b: 5 }, { $min: { a: 3, b: 9 }, $max: { c: 1 } }, { a: 3, b: 5, c: 1 }],
  ['$max compares types', { a: 5 }, { $max: { a: 'text' } }, { a: 'text' }],
  ['$rename', { a: 1, b: 2 }, { $rename: { a: 'c.d' } }, { b: 2, c: { d: 1 } }],
  ['$rename of nothing', { b: 2 }, { $rename: { a: 'c' } }, { b: 2 }],
  ['$push', { v: [1] }, { $push: { v: 2 } }, { v: [1, 2] }],
  ['$push makes the array', {}, { $push: { v: [1] } }, { v: [[1]] }],
  ['$push $each', { v: [1] }, { $push: { v: { $each: [2, 3] } } }, { v: [1, 2, 3] }],
  ['$push $position', { v: [1, 2] }, { $push: { v: { $each: [9], $position: 1 } } }, { v: [1, 9, 2] }],
  ['$push $position from the end', { v: [1, 2] }, { $push: { v: { $each: [9], $position: -1 } } }, { v: [1, 9, 2] }],
  ['$push $slice from the end', { v: [1, 2] }, { $push: { v: { $each: [3, 4], $slice: -3 } } }, { v: [2, 3, 4] }],
  ['$push $sort by a field', { v: [{ s: 5 }] }, { $push: { v: { $each: [{ s: 9 }, { s: 1 }], $sort: { s: -1 }, $slice: 2 } } }, { v: [{ s: 9 }, { s: 5 }] }],
  ['$push $sort of values', { v: [3, 1] }, { $push: { v: { $each: [2], $sort: 1 } } }, { v: [1, 2, 3] }],
  ['$addToSet', { v: [1] }, { $addToSet: { v: 1.0, w: 2 } }, { v: [1], w: [2] }],
  ['$addToSet $each', { v: ['a'] }, { $addToSet: { v: { $each: ['a', 'b', 'b'] } } }, { v: ['a', 'b'] }],
  ['$addToSet compares documents by field order', { v: [{ a: 1, b: 2 }] }, { $addToSet: { v: { b: 2, a: 1 } } }, { v: [{ a: 1, b: 2 }, { b: 2, a: 1 }] }],
  ['$pop at the end', { v: [1, 2, 3] }, { $pop: { v: 1 } }, { v: [1, 2] }],
  ['$pop at the start', { v: [1, 2, 3] }, { $pop: { v: -1 } }, { v: [2, 3] }],
  ['$pull of a value', { v: [1, 2, 1] }, { $pull: { v: 1 } }, { v: [2] }],
  ['$pull by a condition', { v: [1, 5, 9] }, { $pull: { v: { $gte: 5 } } }, { v: [1] }],
  ['$pull of documents by part', { v: [{ a: 1, b: 1 }, { a: 2 }] }, { $pull: { v: { a: 1 } } }, { v: [{ a: 2 }] }],
  ['$pull of documents by condition', { v: [{ a: 1 }, { a: 8 }] }, { $pull: { v: { a: { $gt: 5 } } } }, { v: [{ a: 1 }] }],
  ['$pull with $in', { v: ['a', 'b', 'c'] }, { $pull: { v: { $in: ['a', 'c'] } } }, { v: ['b'] }],
  ['$pullAll', { v: [1, 2, 1, 3] }, { $pullAll: { v: [1, 3] } }, { v: [2] }],
  ['$bit', { n: 13 }, { $bit: { n: { and: 10 } } }, { n: 8 }],
  ['$bit or and xor', { n: 3, m: 1 }, { $bit: { n: { or: 4 }, m: { xor: 5 } } }, { n: 7, m: 4 }],
  ['$[] reaches every element', { v: [1, 2] }, { $inc: { 'v.$[]': 10 } }, { v: [11, 12] }],
  ['$[] below documents', { v: [{ a: 1 }, { a: 2 }] }, { $set: { 'v.$[].b': 0 } }, { v: [{ a: 1, b: 0 }, { a: 2, b: 0 }] }],
  ['$[id] with arrayFilters', { v: [1, 5, 9] }, { $set: { 'v.$[big]': 0 } }, { v: [1, 0, 0] }, { arrayFilters: [{ big: { $gte: 5 } }] }],
  ['two arrayFilters', { g: [{ n: 1, v: [1, 2] }, { n: 2, v: [1, 2] }] }, { $inc: { 'g.$[a].v.$[b]': 10 } },
    { g: [{ n: 1, v: [1, 2] }, { n: 2, v: [1, 12] }] }, { arrayFilters: [{ 'a.n': 2 }, { b: 2 }] }],
  ['a pipeline', { a: 2, b: 3 }, [{ $set: { sum: { $add: ['$a', '$b'] } } }, { $unset: 'a' }], { b: 3, sum: 5 }],
  ['a pipeline that replaces keeps _id', { a: { b: 1 } }, [{ $replaceWith: '$a' }], { b: 1 }],
  ['a pipeline with $cond', { n: 5 }, [{ $set: { big: { $cond: [{ $gt: ['$n', 3] }, 'yes', 'no'] } } }], { n: 5, big: 'yes' }],
];

const REFUSED = [
  ['an unknown operator', { a: 1 }, { $hoist: { a: 1 } }, 9],
  ['$inc of text', { a: 'x' }, { $inc: { a: 1 } }, 14],
  ['$inc by text', { a: 1 }, { $inc: { a: 'x' } }, 14],
  ['$push on a scalar', { a: 1 }, { $push: { a: 1 } }, 2],
  ['$addToSet on a scalar', { a: 1 }, { $addToSet: { a: 1 } }, 2],
  ['$pull from a scalar', { a: 1 }, { $pull: { a: 1 } }, 2],
  ['$pop on a scalar', { a: 1 }, { $pop: { a: 1 } }, 14],
  ['$pop by 2', { a: [1] }, { $pop: { a: 2 } }, 9],
  ['a path through a scalar', { a: 1 }, { $set: { 'a.b': 1 } }, 28],
  ['two operators on one path', { a: 1 }, { $set: { a: 1 }, $inc: { a: 1 } }, 40],
  ['two operators on a path and its parent', { a: {} }, { $set: { a: {}, 'a.b': 1 } }, 40],
  ['an unused array filter', { v: [1] }, { $set: { a: 1 } }, 9, { arrayFilters: [{ x: 1 }] }],
  ['an identifier without an array filter', { v: [1] }, { $set: { 'v.$[x]': 1 } }, 2],
  ['$[] on what is no array', { v: 1 }, { $set: { 'v.$[]': 1 } }, 2],
  ['the positional operator without an array in the filter', { v: [1] }, { $set: { 'v.$': 1 } }, 2],
  ['$inc past the largest long', { a: Long.MAX_VALUE }, { $inc: { a: 1 } }, 2],
  ['$rename onto itself', { a: 1 }, { $rename: { a: 'a' } }, [2, 40]],
  ['an empty path', { a: 1 }, { $set: { '': 1 } }, 56],
  ['a stage that an update has not', { a: 1 }, [{ $match: { a: 1 } }], [72, 40324]],
];

for (const [name, before, update, after, options] of CHANGED) {
  test(name, async ({ collection }) => {
    await collection.insertOne({ _id: 1, ...before });
    await collection.updateOne({ _id: 1 }, update, options);
    same(await collection.findOne({ _id: 1 }), { _id: 1, ...after });
  });
}

for (const [name, before, update, code, options] of REFUSED) {
  test(`refused: ${name}`, async ({ collection }) => {
    await collection.insertOne({ _id: 1, ...before });
    await fails(code, () => collection.updateOne({ _id: 1 }, update, options));
    same(await collection.findOne({ _id: 1 }), { _id: 1, ...before }, 'nothing may have changed');
  });
}

/** The type and text of field `n` after an $inc or $mul. */
async function arithmetic(collection, before, update) {
  await collection.insertOne({ _id: 1, n: before });
  await collection.updateOne({ _id: 1 }, update);
  const { n } = await collection.findOne({ _id: 1 }, { promoteValues: false });
  return `${n._bsontype} ${n}`;
}

for (const [name, before, update, expected] of [
  ['int plus int past 32 bits becomes long', new Int32(LARGEST_INT), { $inc: { n: new Int32(1) } }, 'Long 2147483648'],
  ['long plus int stays long', Long.fromNumber(5), { $inc: { n: new Int32(1) } }, 'Long 6'],
  ['int plus double becomes double', new Int32(1), { $inc: { n: new Double(1.5) } }, 'Double 2.5'],
  ['decimal plus int stays exact', Decimal128.fromString('0.1'), { $inc: { n: Decimal128.fromString('0.2') } }, 'Decimal128 0.3'],
  ['double times decimal becomes decimal', new Double(2), { $mul: { n: Decimal128.fromString('1.5') } }, 'Decimal128 3.0'],
  ['int times long becomes long', new Int32(3), { $mul: { n: Long.fromNumber(4) } }, 'Long 12'],
]) {
  test(`arithmetic: ${name}`, async ({ collection }) => {
    const found = await arithmetic(collection, before, update);
    if (expected.startsWith('Decimal128 3')) assert.match(found, /^Decimal128 3(\.0*)?$/);
    else assert.equal(found, expected);
  });
}

test('$currentDate sets a date and a timestamp', async ({ collection }) => {
  await collection.insertOne({ _id: 1 });
  await collection.updateOne({ _id: 1 }, { $currentDate: { at: true, day: { $type: 'date' }, ts: { $type: 'timestamp' } } });
  const found = await collection.findOne();
  assert.ok(found.at instanceof Date && found.day instanceof Date);
  assert.ok(found.ts instanceof Timestamp);
});

test('the positional operator changes the element that matched', async ({ collection }) => {
  await collection.insertOne({ _id: 1, v: [{ k: 'a', n: 1 }, { k: 'b', n: 2 }] });
  await collection.updateOne({ 'v.k': 'b' }, { $inc: { 'v.$.n': 5 } });
  same((await collection.findOne()).v, [{ k: 'a', n: 1 }, { k: 'b', n: 7 }]);
});

test('the positional operator with $elemMatch and updateMany', async ({ collection }) => {
  await collection.insertMany([{ _id: 1, v: [4, 8] }, { _id: 2, v: [9, 3] }]);
  await collection.updateMany({ v: { $elemMatch: { $gt: 7 } } }, { $set: { 'v.$': 0 } });
  same((await collection.find().sort({ _id: 1 }).toArray()).map((one) => one.v), [[4, 0], [0, 3]]);
});

test('an update that makes a document too large is refused and changes nothing', async ({ collection }) => {
  await collection.insertOne({ _id: 1, v: 'x'.repeat(9_000_000) });
  await fails([10334, 17419, 17420], () => collection.updateOne({ _id: 1 }, [{ $set: { w: '$v' } }]));
  assert.equal((await collection.findOne({ _id: 1 }, { projection: { w: 1 } })).w, undefined);
});
