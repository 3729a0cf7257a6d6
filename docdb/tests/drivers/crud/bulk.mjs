// Facts of MongoDB's public CRUD specification about bulk writes, over our own documents.

const BERTHS = [{ _id: 1, depth: 4 }, { _id: 2, depth: 6 }, { _id: 3, depth: 9 }, { _id: 4, depth: 12 }];
const TWO = BERTHS.slice(0, 2);
const PIERS = [{ _id: 1, cranes: [{ t: 5 }, { t: 2 }] }, { _id: 2, cranes: [{ t: 0 }, { t: 2 }] }];
const YARDS = [{ _id: 1, a: 1, b: 1, c: { d: { e: 1 } } }, { _id: 2, a: 2, b: 1 }];
const NOTHING = { insertedCount: 0, matchedCount: 0, modifiedCount: 0, deletedCount: 0, upsertedCount: 0, upsertedIds: {} };

const at = (file, seed, list) => list.map(([name, requests, counts, stored, given = {}]) => (
  { file, name, seed, operation: 'bulkWrite', given: { requests, ...given }, result: counts && { ...NOTHING, ...counts }, stored }));

const insert = (document) => ({ insertOne: { document } });
const one = (filter, update, more = {}) => ({ updateOne: { filter, update, ...more } });
const many = (filter, update, more = {}) => ({ updateMany: { filter, update, ...more } });
const replace = (filter, replacement, more = {}) => ({ replaceOne: { filter, replacement, ...more } });
const removeOne = (filter, more = {}) => ({ deleteOne: { filter, ...more } });
const removeMany = (filter, more = {}) => ({ deleteMany: { filter, ...more } });

const crane = { $set: { 'cranes.$[c].t': 9 } };
const deeper = { $inc: { depth: 1 } };
const isBerth = { $expr: { $eq: ['$_id', '$$berth'] } };
const both = [insert({ _id: 5, depth: 1 }), replace({ _id: 1 }, { _id: 1, depth: 2 }), one({ _id: 2 }, { $set: { depth: 3 } }), removeOne({ _id: 3 })];
const bothStored = [{ _id: 1, depth: 2 }, { _id: 2, depth: 3 }, BERTHS[3], { _id: 5, depth: 1 }];
const bothCounts = { insertedCount: 1, matchedCount: 2, modifiedCount: 2, deletedCount: 1 };

const plain = at('bulkWrite', TWO, [
  ['deleteOne', [removeOne({ _id: 3 }), removeOne({ _id: 2 })], { deletedCount: 1 }, [BERTHS[0]]],
  ['deleteMany', [removeMany({ depth: { $lt: 4 } }), removeMany({ depth: { $lte: 6 } })], { deletedCount: 2 }, []],
  ['insertOne', [insert(BERTHS[2]), insert(BERTHS[3])], { insertedCount: 2 }, BERTHS],
  ['replaceOne', [replace({ _id: 3 }, { depth: 9 }), replace({ _id: 1 }, { depth: 5 }), replace({ _id: 3 }, { depth: 9 }, { upsert: true })],
    { matchedCount: 1, modifiedCount: 1, upsertedCount: 1, upsertedIds: { 2: 3 } }, [{ _id: 1, depth: 5 }, BERTHS[1], BERTHS[2]]],
  ['updateOne', [one({ _id: 0 }, { $set: { depth: 0 } }), one({ _id: 1 }, { $set: { depth: 4 } }), one({ _id: 2 }, deeper), one({ _id: 3 }, { $set: { depth: 9 } }, { upsert: true })],
    { matchedCount: 2, modifiedCount: 1, upsertedCount: 1, upsertedIds: { 3: 3 } }, [BERTHS[0], { _id: 2, depth: 7 }, BERTHS[2]]],
  ['updateMany', [many({ depth: { $lt: 4 } }, { $set: { depth: 0 } }), many({ depth: { $lte: 6 } }, { $unset: { name: 1 } }), many({ depth: { $lte: 6 } }, deeper), many({ _id: 3 }, { $set: { depth: 9 } }, { upsert: true })],
    { matchedCount: 4, modifiedCount: 2, upsertedCount: 1, upsertedIds: { 3: 3 } }, [{ _id: 1, depth: 5 }, { _id: 2, depth: 7 }, BERTHS[2]]],
  ['a mixture, ordered', [insert(BERTHS[2]), one({ _id: 2 }, deeper), many({ _id: { $gt: 1 } }, deeper), insert(BERTHS[3]), removeMany({ depth: { $nin: [8, 10] } }), replace({ _id: 4 }, BERTHS[3], { upsert: true })],
    { insertedCount: 2, matchedCount: 3, modifiedCount: 3, deletedCount: 2, upsertedCount: 1, upsertedIds: { 5: 4 } }, [{ _id: 2, depth: 8 }, { _id: 3, depth: 10 }, BERTHS[3]]],
  ['a mixture, unordered', [replace({ _id: 3 }, BERTHS[2], { upsert: true }), removeOne({ _id: 1 }), one({ _id: 2 }, deeper)],
    { matchedCount: 1, modifiedCount: 1, deletedCount: 1, upsertedCount: 1, upsertedIds: { 0: 3 } }, [{ _id: 2, depth: 7 }, BERTHS[2]], { ordered: false }],
]);

const goesOn = [['one exists', [BERTHS[1], BERTHS[2], BERTHS[3]]], ['one twice', [BERTHS[2], BERTHS[2], BERTHS[3]]]].map(([name, documents]) => ({
  file: 'bulkWrite', name: `unordered goes on: ${name}`, seed: TWO, operation: 'bulkWrite',
  given: { requests: documents.map(insert), ordered: false }, fails: { result: { ...NOTHING, insertedCount: 2 } }, stored: BERTHS,
}));

const refused = [
  ['bulkWrite-update-validation', 'no operators in a replacement', replace({ _id: 1 }, { $set: { depth: 1 } }), 'client'],
  ['bulkWrite-update-validation', 'updateOne needs operators', one({ _id: 1 }, { depth: 1 }), 'client'],
  ['bulkWrite-update-validation', 'updateMany needs operators', many({ _id: { $gt: 1 } }, { depth: 1 }), 'client'],
  ['bulkWrite-replaceOne-sort', 'refused before 8.0', replace({ _id: { $gt: 1 } }, { depth: 1 }, { sort: { _id: -1 } }), 'server'],
  ['bulkWrite-updateOne-sort', 'refused before 8.0', one({ _id: { $gt: 1 } }, [{ $set: { depth: 1 } }], { sort: { _id: -1 } }), 'server'],
].map(([file, name, request, fails]) => ({ file, name, seed: BERTHS, operation: 'bulkWrite', given: { requests: [request] }, fails, stored: BERTHS }));

export const bulk = [
  ...plain, ...goesOn, ...refused,
  ...at('bulkWrite-arrayFilters', PIERS, [
    ['updateOne', [one({}, crane, { arrayFilters: [{ 'c.t': 5 }] })], { matchedCount: 1, modifiedCount: 1 }, [{ _id: 1, cranes: [{ t: 9 }, { t: 2 }] }, PIERS[1]]],
    ['updateMany', [many({}, crane, { arrayFilters: [{ 'c.t': 2 }] })], { matchedCount: 2, modifiedCount: 2 }, [{ _id: 1, cranes: [{ t: 5 }, { t: 9 }] }, { _id: 2, cranes: [{ t: 0 }, { t: 9 }] }]],
    ['both', [one({}, crane, { arrayFilters: [{ 'c.t': 5 }] }), many({}, crane, { arrayFilters: [{ 'c.t': 2 }] })], { matchedCount: 3, modifiedCount: 3 }, [{ _id: 1, cranes: [{ t: 9 }, { t: 9 }] }, { _id: 2, cranes: [{ t: 0 }, { t: 9 }] }]],
  ]),
  ...at('bulkWrite-comment', BERTHS, [
    ['a text', both, bothCounts, bothStored, { comment: 'why' }],
    ['a document', both, bothCounts, bothStored, { comment: { why: 'a test' } }],
  ]),
  ...at('bulkWrite-delete-hint', BERTHS, [
    ['deleteOne', [removeOne({ _id: 1 }, { hint: '_id_' }), removeOne({ _id: 2 }, { hint: { _id: 1 } })], { deletedCount: 2 }, BERTHS.slice(2)],
    ['deleteMany', [removeMany({ _id: { $lt: 3 } }, { hint: '_id_' }), removeMany({ _id: { $gte: 4 } }, { hint: { _id: 1 } })], { deletedCount: 3 }, [BERTHS[2]]],
  ]),
  ...at('bulkWrite-deleteMany-let', TWO, [['a variable', [removeMany(isBerth)], { deletedCount: 1 }, [BERTHS[1]], { let: { berth: 1 } }]]),
  ...at('bulkWrite-deleteOne-let', TWO, [['a variable', [removeOne(isBerth)], { deletedCount: 1 }, [BERTHS[1]], { let: { berth: 1 } }]]),
  ...at('bulkWrite-replaceOne-let', TWO, [['a variable', [replace(isBerth, { name: 'e' })], { matchedCount: 1, modifiedCount: 1 }, [{ _id: 1, name: 'e' }, BERTHS[1]], { let: { berth: 1 } }]]),
  ...at('bulkWrite-updateMany-let', TWO, [['a variable', [many(isBerth, [{ $set: { depth: 6 } }])], { matchedCount: 1, modifiedCount: 1 }, [{ _id: 1, depth: 6 }, BERTHS[1]], { let: { berth: 1 } }]]),
  ...at('bulkWrite-updateOne-let', TWO, [['a variable', [one(isBerth, [{ $set: { depth: 7 } }])], { matchedCount: 1, modifiedCount: 1 }, [{ _id: 1, depth: 7 }, BERTHS[1]], { let: { berth: 1 } }]]),
  ...at('bulkWrite-update-hint', BERTHS, [
    ['updateOne', [one({ _id: 1 }, deeper, { hint: '_id_' }), one({ _id: 1 }, deeper, { hint: { _id: 1 } })], { matchedCount: 2, modifiedCount: 2 }, [{ _id: 1, depth: 6 }, ...BERTHS.slice(1)]],
    ['updateMany', [many({ _id: { $lt: 3 } }, deeper, { hint: '_id_' }), many({ _id: { $lt: 3 } }, deeper, { hint: { _id: 1 } })], { matchedCount: 4, modifiedCount: 4 }, [{ _id: 1, depth: 6 }, { _id: 2, depth: 8 }, ...BERTHS.slice(2)]],
    ['replaceOne', [replace({ _id: 3 }, { depth: 1 }, { hint: '_id_' }), replace({ _id: 4 }, { depth: 2 }, { hint: { _id: 1 } })], { matchedCount: 2, modifiedCount: 2 }, [...TWO, { _id: 3, depth: 1 }, { _id: 4, depth: 2 }]],
  ]),
  ...at('bulkWrite-updateMany-pipeline', YARDS, [
    ['project and addFields', [many({}, [{ $project: { a: 1 } }, { $addFields: { z: 1 } }])], { matchedCount: 2, modifiedCount: 2 }, [{ _id: 1, a: 1, z: 1 }, { _id: 2, a: 2, z: 1 }]]]),
  ...at('bulkWrite-updateOne-pipeline', YARDS, [
    ['replaceRoot and addFields', [one({ _id: 1 }, [{ $replaceRoot: { newRoot: '$c' } }, { $addFields: { z: 1 } }])], { matchedCount: 1, modifiedCount: 1 }, [{ _id: 1, d: { e: 1 }, z: 1 }, YARDS[1]]]]),
];
