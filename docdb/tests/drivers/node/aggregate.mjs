// Aggregation stages and expressions over a handful of voyages.
import assert from 'node:assert/strict';
import { fails, same, sameFields, suite, test } from '../harness.mjs';

suite('node aggregate');

const VOYAGES = [
  { _id: 1, ship: 'Aurora', port: 'Turku', tons: 10, goods: ['salt', 'tar'], left: new Date('2024-03-01T10:00:00Z') },
  { _id: 2, ship: 'Aurora', port: 'Visby', tons: 20, goods: ['tar'], left: new Date('2024-04-01T10:00:00Z') },
  { _id: 3, ship: 'Caravel', port: 'Turku', tons: 30, goods: [], left: new Date('2024-05-01T10:00:00Z') },
  { _id: 4, ship: 'Dory', port: 'Riga', tons: null },
];

const RESULTS = [
  ['$match and $sort', [{ $match: { tons: { $gte: 10 } } }, { $sort: { tons: -1 } }, { $project: { tons: 1 } }],
    [{ _id: 3, tons: 30 }, { _id: 2, tons: 20 }, { _id: 1, tons: 10 }]],
  ['$group with $sum, $avg, $min, $max', [{ $group: { _id: '$ship', sum: { $sum: '$tons' }, mean: { $avg: '$tons' }, low: { $min: '$tons' }, high: { $max: '$tons' } } }, { $sort: { _id: 1 } }],
    [{ _id: 'Aurora', sum: 30, mean: 15, low: 10, high: 20 }, { _id: 'Caravel', sum: 30, mean: 30, low: 30, high: 30 }, { _id: 'Dory', sum: 0, mean: null, low: null, high: null }]],
  ['$group counts', [{ $group: { _id: '$port', n: { $sum: 1 }, m: { $count: {} } } }, { $sort: { n: -1, _id: 1 } }],
    [{ _id: 'Turku', n: 2, m: 2 }, { _id: 'Riga', n: 1, m: 1 }, { _id: 'Visby', n: 1, m: 1 }]],
  ['$group into one', [{ $group: { _id: null, ships: { $addToSet: '$ship' }, n: { $sum: 1 } } }, { $project: { _id: 0, n: 1, ships: { $size: '$ships' } } }], [{ n: 4, ships: 3 }]],
  ['$group by a document', [{ $match: { _id: { $lt: 3 } } }, { $group: { _id: { s: '$ship', p: '$port' } } }, { $sort: { _id: 1 } }],
    [{ _id: { s: 'Aurora', p: 'Turku' } }, { _id: { s: 'Aurora', p: 'Visby' } }]],
  ['$first, $last and $push', [{ $sort: { _id: 1 } }, { $group: { _id: '$ship', a: { $first: '$port' }, z: { $last: '$port' }, all: { $push: '$_id' } } }, { $match: { _id: 'Aurora' } }],
    [{ _id: 'Aurora', a: 'Turku', z: 'Visby', all: [1, 2] }]],
  ['$group over nothing has no document', [{ $match: { _id: 99 } }, { $group: { _id: null, n: { $sum: 1 } } }], []],
  ['$count', [{ $match: { port: 'Turku' } }, { $count: 'calls' }], [{ calls: 2 }]],
  ['$count of nothing has no document', [{ $match: { _id: 99 } }, { $count: 'calls' }], []],
  ['$skip and $limit', [{ $sort: { _id: 1 } }, { $skip: 1 }, { $limit: 2 }, { $project: { ship: 1 } }], [{ _id: 2, ship: 'Aurora' }, { _id: 3, ship: 'Caravel' }]],
  ['$unwind', [{ $unwind: '$goods' }, { $sort: { _id: 1, goods: 1 } }, { $project: { goods: 1 } }],
    [{ _id: 1, goods: 'salt' }, { _id: 1, goods: 'tar' }, { _id: 2, goods: 'tar' }]],
  ['$unwind that keeps the empty and numbers them', [{ $unwind: { path: '$goods', preserveNullAndEmptyArrays: true, includeArrayIndex: 'at' } }, { $match: { _id: { $gt: 1 } } }, { $sort: { _id: 1 } }, { $project: { goods: 1, at: 1 } }],
    [{ _id: 2, goods: 'tar', at: 0 }, { _id: 3, at: null }, { _id: 4, at: null }]],
  ['$addFields and $set', [{ $match: { _id: 1 } }, { $addFields: { double: { $multiply: ['$tons', 2] } } }, { $set: { 'deep.er': '$double' } }, { $project: { goods: 0, left: 0, port: 0 } }],
    [{ _id: 1, ship: 'Aurora', tons: 10, double: 20, deep: { er: 20 } }]],
  ['$unset', [{ $match: { _id: 4 } }, { $unset: ['port', 'tons'] }], [{ _id: 4, ship: 'Dory' }]],
  ['$project computes and renames', [{ $match: { _id: 2 } }, { $project: { _id: 0, name: { $toUpper: '$ship' }, label: { $concat: ['$ship', '/', '$port'] } } }], [{ name: 'AURORA', label: 'Aurora/Visby' }]],
  ['$replaceRoot', [{ $match: { _id: 1 } }, { $replaceRoot: { newRoot: { k: '$ship' } } }], [{ k: 'Aurora' }]],
  ['$sortByCount', [{ $sortByCount: '$port' }, { $limit: 1 }], [{ _id: 'Turku', count: 2 }]],
  ['$match with $expr', [{ $match: { $expr: { $gt: [{ $size: { $ifNull: ['$goods', []] } }, 1] } } }, { $project: { _id: 1 } }], [{ _id: 1 }]],
];

const one = { _id: 1, a: 7, b: 2, s: 'Mast', v: [3, 1, 2], d: new Date('2024-02-29T13:45:30.500Z'), o: { x: 1 } };

const EXPRESSIONS = [
  ['$add', { $add: ['$a', '$b', 0.5] }, 9.5],
  ['$subtract', { $subtract: ['$a', '$b'] }, 5],
  ['$divide', { $divide: ['$a', '$b'] }, 3.5],
  ['$mod', { $mod: ['$a', '$b'] }, 1],
  ['$floor, $ceil, $round, $abs', [{ $floor: 2.7 }, { $ceil: 2.1 }, { $round: [2.345, 1] }, { $abs: -3 }], [2, 3, 2.3, 3]],
  ['$cmp', { $cmp: ['$a', '$b'] }, 1],
  ['$and, $or, $not', [{ $and: [true, '$a'] }, { $or: [false, 0] }, { $not: [0] }], [true, false, true]],
  ['$cond', { $cond: { if: { $gt: ['$a', 5] }, then: 'big', else: 'small' } }, 'big'],
  ['$ifNull', { $ifNull: ['$missing', 'none'] }, 'none'],
  ['$switch', { $switch: { branches: [{ case: { $lt: ['$a', 5] }, then: 1 }], default: 2 } }, 2],
  ['$concat with missing is null', { $concat: ['$s', '$missing'] }, null],
  ['$substrCP', { $substrCP: ['$s', 1, 2] }, 'as'],
  ['$toLower', { $toLower: '$s' }, 'mast'],
  ['$strLenCP', { $strLenCP: '$s' }, 4],
  ['$split', { $split: ['a,b', ','] }, ['a', 'b']],
  ['$trim', { $trim: { input: '  x ' } }, 'x'],
  ['$size', { $size: '$v' }, 3],
  ['$arrayElemAt', [{ $arrayElemAt: ['$v', 0] }, { $arrayElemAt: ['$v', -1] }], [3, 2]],
  ['$in', { $in: [2, '$v'] }, true],
  ['$slice', { $slice: ['$v', 1, 2] }, [1, 2]],
  ['$concatArrays', { $concatArrays: ['$v', [9]] }, [3, 1, 2, 9]],
  ['$filter', { $filter: { input: '$v', as: 'e', cond: { $gt: ['$$e', 1] } } }, [3, 2]],
  ['$map', { $map: { input: '$v', as: 'e', in: { $multiply: ['$$e', 10] } } }, [30, 10, 20]],
  ['$reduce', { $reduce: { input: '$v', initialValue: 0, in: { $add: ['$$value', '$$this'] } } }, 6],
  ['$sum over an array', { $sum: '$v' }, 6],
  ['$max over an array', { $max: '$v' }, 3],
  ['$mergeObjects', { $mergeObjects: ['$o', { y: 2 }] }, { x: 1, y: 2 }],
  ['$year, $month, $dayOfMonth', [{ $year: '$d' }, { $month: '$d' }, { $dayOfMonth: '$d' }], [2024, 2, 29]],
  ['$dateToString', { $dateToString: { date: '$d', format: '%Y-%m-%d' } }, '2024-02-29'],
  ['$type', { $type: '$s' }, 'string'],
  ['$toString and $toInt', [{ $toString: '$a' }, { $toInt: '12' }], ['7', 12]],
  ['$literal', { $literal: '$a' }, '$a'],
  ['$let', { $let: { vars: { x: 2 }, in: { $multiply: ['$$x', '$a'] } } }, 14],
  ['$$ROOT', { $type: '$$ROOT' }, 'object'],
  ['a path into an array of documents', { $size: { $ifNull: ['$o.x.y', []] } }, 0],
];

const REFUSED = [
  ['an unknown stage', [{ $hoist: {} }], 40324],
  ['a stage with two fields', [{ $match: {}, $limit: 1 }], 40323],
  ['an unknown expression', [{ $project: { a: { $hoist: 1 } } }], [168, 31325]],
  ['an unknown accumulator', [{ $group: { _id: null, a: { $hoist: 1 } } }], 15952],
  ['$group without _id', [{ $group: { n: { $sum: 1 } } }], 15955],
  ['a limit of 0', [{ $limit: 0 }], 15958],
  ['division by zero', [{ $project: { a: { $divide: [1, 0] } } }], [2, 4848401]],
  ['$unwind without a dollar', [{ $unwind: 'goods' }], 28818],
  ['an undefined variable', [{ $project: { a: '$$nowhere' } }], 17276],
];

for (const [name, pipeline, expected] of RESULTS) {
  test(name, async ({ collection }) => {
    await collection.insertMany(VOYAGES);
    sameFields(await collection.aggregate(pipeline).toArray(), expected);
  });
}

for (const [name, expression, expected] of EXPRESSIONS) {
  test(`expression: ${name}`, async ({ collection }) => {
    await collection.insertOne(one);
    same((await collection.aggregate([{ $project: { out: expression } }]).toArray())[0].out, expected);
  });
}

for (const [name, pipeline, code] of REFUSED) {
  test(`refused: ${name}`, async ({ collection }) => {
    await collection.insertMany(VOYAGES);
    await fails(code, () => collection.aggregate(pipeline).toArray());
  });
}

test('$lookup joins by value and by the elements of an array', async ({ db, collection }) => {
  await collection.insertMany([{ _id: 1, home: 'T' }, { _id: 2, home: ['T', 'V'] }, { _id: 3 }]);
  await db.collection('ports').insertMany([{ _id: 'T', name: 'Turku' }, { _id: 'V', name: 'Visby' }, { _id: 'N', name: null }]);
  const found = await collection.aggregate([
    { $lookup: { from: 'ports', localField: 'home', foreignField: '_id', as: 'ports' } }, { $sort: { _id: 1 } }]).toArray();
  same(found.map((ship) => ship.ports.map((port) => port._id).sort()), [['T'], ['T', 'V'], []]);
});

test('$lookup from a collection that does not exist is empty', async ({ collection }) => {
  await collection.insertOne({ _id: 1, home: 'T' });
  same(await collection.aggregate([{ $lookup: { from: 'nowhere', localField: 'home', foreignField: '_id', as: 'p' } }]).toArray(), [{ _id: 1, home: 'T', p: [] }]);
});

test('$sample returns that many different documents', async ({ collection }) => {
  await collection.insertMany(Array.from({ length: 50 }, (_, _id) => ({ _id })));
  const found = await collection.aggregate([{ $sample: { size: 10 } }]).toArray();
  assert.equal(new Set(found.map((each) => each._id)).size, 10);
});

test('a leading $match uses an index', async ({ collection }) => {
  await collection.insertMany(VOYAGES);
  await collection.createIndex({ port: 1 });
  assert.match(JSON.stringify(await collection.aggregate([{ $match: { port: 'Riga' } }]).explain()), /IXSCAN/);
});

test('let variables reach the pipeline', async ({ collection }) => {
  await collection.insertMany(VOYAGES);
  const found = await collection.aggregate([{ $match: { $expr: { $eq: ['$ship', '$$wanted'] } } }, { $count: 'n' }], { let: { wanted: 'Aurora' } }).toArray();
  same(found, [{ n: 2 }]);
});
