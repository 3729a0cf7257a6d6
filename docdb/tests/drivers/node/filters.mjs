// Every query operator over one small set of documents: the ids that it finds, and the filters that are refused.
import { Decimal128, Long } from 'mongodb';
import { fails, same, suite, test } from '../harness.mjs';

suite('node filters');

const DOCUMENTS = [
  { _id: 1, n: 1, s: 'anchor', tags: ['red', 'blue'], size: { h: 10, w: 20 }, when: new Date('2024-05-01') },
  { _id: 2, n: 2.5, s: 'Buoy', tags: ['blue'], size: { h: 5, w: 5 }, items: [{ sku: 'a', qty: 5 }, { sku: 'b', qty: 15 }] },
  { _id: 3, n: Long.fromNumber(3), s: 'cargo', tags: [], items: [{ sku: 'a', qty: 20 }], when: new Date('2024-06-01') },
  { _id: 4, n: Decimal128.fromString('4'), s: null, tags: 'red' },
  { _id: 5, s: 'deck\nAnchor', scores: [1, 5, 9] },
  { _id: 6, n: null, flag: true, bits: 54, scores: [10, 12] },
  { _id: 7, n: '7', list: [[1, 2], [3]], a: [{ b: 1 }, {}] },
];

const FOUND = [
  ['everything', {}, [1, 2, 3, 4, 5, 6, 7]],
  ['an int', { n: 1 }, [1]],
  ['a long by a double', { n: { $eq: 3.0 } }, [3]],
  ['a decimal by an int', { n: 4 }, [4]],
  ['$ne, missing included', { n: { $ne: 1 } }, [2, 3, 4, 5, 6, 7]],
  ['$gt across number types', { n: { $gt: 2 } }, [2, 3, 4]],
  ['$gte', { n: { $gte: 2.5 } }, [2, 3, 4]],
  ['$lt', { n: { $lt: 3 } }, [1, 2]],
  ['$lte', { n: { $lte: 3 } }, [1, 2, 3]],
  ['$gt keeps to its type', { n: { $gt: '' } }, [7]],
  ['$in over types', { n: { $in: [1, 4, '7'] } }, [1, 4, 7]],
  ['$in with null', { n: { $in: [null] } }, [5, 6]],
  ['$in with a regular expression', { s: { $in: [/^anch/, 'cargo'] } }, [1, 3]],
  ['$in with nothing', { n: { $in: [] } }, []],
  ['$nin', { n: { $nin: [1, null] } }, [2, 3, 4, 7]],
  ['null is missing too', { n: null }, [5, 6]],
  ['null below an array of documents', { 'a.b': null, _id: 7 }, [7]],
  ['null is not an empty array', { tags: null }, [5, 6, 7]],
  ['$exists true', { n: { $exists: true } }, [1, 2, 3, 4, 6, 7]],
  ['$exists false', { n: { $exists: false } }, [5]],
  ['$type number', { n: { $type: 'number' } }, [1, 2, 3, 4]],
  ['$type by code', { n: { $type: 16 } }, [1]],
  ['$type of several', { n: { $type: ['string', 'null'] } }, [6, 7]],
  ['$type array', { tags: { $type: 'array' } }, [1, 2, 3]],
  ['an element of an array', { tags: 'red' }, [1, 4]],
  ['a whole array', { tags: ['blue'] }, [2]],
  ['an empty array', { tags: [] }, [3]],
  ['$size', { tags: { $size: 2 } }, [1]],
  ['$size 0', { tags: { $size: 0 } }, [3]],
  ['$all', { tags: { $all: ['red', 'blue'] } }, [1]],
  ['$all over a scalar', { tags: { $all: ['red'] } }, [1, 4]],
  ['$all with nothing', { tags: { $all: [] } }, []],
  ['$all with $elemMatch', { items: { $all: [{ $elemMatch: { sku: 'a' } }, { $elemMatch: { qty: 15 } }] } }, [2]],
  ['a whole document', { size: { h: 10, w: 20 } }, [1]],
  ['a whole document, fields in another order', { size: { w: 20, h: 10 } }, []],
  ['a dotted path', { 'size.h': { $lt: 7 } }, [2]],
  ['$elemMatch over documents', { items: { $elemMatch: { sku: 'a', qty: { $gt: 10 } } } }, [3]],
  ['two conditions on different elements', { 'items.sku': 'a', 'items.qty': { $gt: 10 } }, [2, 3]],
  ['an index in a path', { 'items.1.qty': 15 }, [2]],
  ['$elemMatch over values', { scores: { $elemMatch: { $gt: 4, $lt: 6 } } }, [5]],
  ['a range that different elements meet', { scores: { $gt: 8, $lt: 2 } }, [5]],
  ['$elemMatch wants one element for both', { scores: { $elemMatch: { $gt: 8, $lt: 2 } } }, []],
  ['an array in an array', { list: [3] }, [7]],
  ['arrays are opened one level only', { list: 3 }, []],
  ['indexes into arrays of arrays', { 'list.0.1': 2 }, [7]],
  ['$or', { $or: [{ n: 1 }, { flag: true }] }, [1, 6]],
  ['$and', { $and: [{ n: { $gt: 1 } }, { n: { $lt: 4 } }] }, [2, 3]],
  ['$nor', { $nor: [{ n: 1 }, { n: null }] }, [2, 3, 4, 7]],
  ['$not', { n: { $not: { $gt: 2 } } }, [1, 5, 6, 7]],
  ['$not with a regular expression', { s: { $not: /a/i } }, [2, 4, 6, 7]],
  ['a regular expression, i', { s: /^buoy$/i }, [2]],
  ['$regex with $options m', { s: { $regex: '^An', $options: 'm' } }, [5]],
  ['$regex with $options s', { s: { $regex: 'k.A', $options: 's' } }, [5]],
  ['$regex with $options x', { s: { $regex: 'car go # a comment', $options: 'x' } }, [3]],
  ['$mod', { n: { $mod: [2, 1] } }, [1, 3]],
  ['$bitsAllSet', { bits: { $bitsAllSet: [1, 5] } }, [6]],
  ['$bitsAllClear by mask', { bits: { $bitsAllClear: 9 } }, [6]],
  ['$bitsAnySet', { bits: { $bitsAnySet: 1 } }, []],
  ['$bitsAnyClear', { bits: { $bitsAnyClear: [0, 1] } }, [6]],
  ['$expr over two fields', { $expr: { $eq: [{ $add: ['$size.h', 10] }, '$size.w'] } }, [1]],
  ['$expr with $in and $ifNull', { $expr: { $in: [{ $ifNull: ['$flag', false] }, [true]] } }, [6]],
  ['$comment changes nothing', { n: 1, $comment: 'why' }, [1]],
  ['a range of dates', { when: { $gte: new Date('2024-05-15'), $lt: new Date('2024-07-01') } }, [3]],
  ['true is not 1', { flag: 1 }, []],
];

const REFUSED = [
  ['an unknown operator', { n: { $sail: 1 } }, 2],
  ['an unknown operator at the top', { $sail: 1 }, 2],
  ['$in without an array', { n: { $in: 1 } }, 2],
  ['$and with nothing', { $and: [] }, 2],
  ['$or without an array', { $or: { n: 1 } }, 2],
  ['a negative $size', { tags: { $size: -1 } }, 2],
  ['$mod by 0', { n: { $mod: [0, 1] } }, 2],
  ['$all without an array', { tags: { $all: 1 } }, 2],
  ['$elemMatch without a document', { tags: { $elemMatch: 1 } }, 2],
  ['$type of no type', { n: { $type: 'rope' } }, 2],
  ['$not with a value', { n: { $not: 1 } }, 2],
  ['a broken regular expression', { s: { $regex: '(' } }, 51091],
];

for (const [name, filter, ids] of FOUND) {
  test(name, async ({ collection }) => {
    await collection.insertMany(DOCUMENTS);
    const found = await collection.find(filter).sort({ _id: 1 }).project({ _id: 1 }).toArray();
    same(found.map((one) => one._id), ids);
    same(await collection.countDocuments(filter), ids.length);
  });
}

for (const [name, filter, code] of REFUSED) {
  test(`refused: ${name}`, async ({ collection }) => {
    await collection.insertOne({ _id: 1, n: 1, s: 'a', tags: [1] });
    await fails(code, () => collection.find(filter).toArray());
  });
}
