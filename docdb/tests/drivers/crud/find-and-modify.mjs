// Facts of MongoDB's public CRUD specification about findOneAndDelete, -Replace and -Update, over our own documents.

const BERTHS = [{ _id: 1, depth: 4 }, { _id: 2, depth: 6 }, { _id: 3, depth: 9 }];
const TWO = BERTHS.slice(0, 2);
const PIERS = [{ _id: 1, cranes: [{ t: 5 }, { t: 2 }] }, { _id: 2, cranes: [{ t: 0 }, { t: 2 }] }];
const COMMENTS = [['a text as comment', { comment: 'why' }], ['a document as comment', { comment: { why: 'a test' } }]];
const HINTS = [['a hint by name', { hint: '_id_' }], ['a hint by keys', { hint: { _id: 1 } }]];

const at = (file, seed, operation, list) => list.map(([name, given, result, stored]) => (
  { file, name, seed, operation, given, result: result && { whole: result }, stored, ...(result === null ? { result: null } : {}) }));
const each = (file, seed, operation, variants, given, result, stored) =>
  at(file, seed, operation, variants.map(([name, more]) => [name, { ...given, ...more }, result, stored]));

const onlyDepth = { projection: { depth: 1, _id: 0 }, sort: { depth: 1 } };
const after = { returnDocument: 'after' };
const MATCHES = [['many match', { _id: { $gt: 1 } }], ['one matches', { _id: 2 }]];
const isBerth = { $expr: { $eq: ['$_id', '$$berth'] } };
const replaced = (_id, depth) => [...BERTHS.filter((one) => one._id !== _id), { _id, depth }].sort((l, r) => l._id - r._id);

const deletes = [
  ...at('findOneAndDelete', BERTHS, 'findOneAndDelete', [
    ...MATCHES.map(([name, filter]) => [name, { filter, ...onlyDepth }, { depth: 6 }, [BERTHS[0], BERTHS[2]]]),
    ['none matches', { filter: { _id: 4 }, ...onlyDepth }, null, BERTHS],
  ]),
  ...each('findOneAndDelete-comment', TWO, 'findOneAndDelete', COMMENTS, { filter: { _id: 1 } }, BERTHS[0], [BERTHS[1]]),
  ...each('findOneAndDelete-hint', TWO, 'findOneAndDelete', HINTS, { filter: { _id: 1 } }, BERTHS[0], [BERTHS[1]]),
  ...at('findOneAndDelete-let', TWO, 'findOneAndDelete', [['a variable', { filter: isBerth, let: { berth: 1 } }, BERTHS[0], [BERTHS[1]]]]),
];

const replacements = [
  ...at('findOneAndReplace', BERTHS, 'findOneAndReplace', [
    ...MATCHES.flatMap(([name, filter]) => [
      [`${name}, before`, { filter, replacement: { depth: 8 }, ...onlyDepth }, { depth: 6 }, replaced(2, 8)],
      [`${name}, after`, { filter, replacement: { depth: 8 }, ...onlyDepth, ...after }, { depth: 8 }, replaced(2, 8)],
    ]),
    ['none matches, before', { filter: { _id: 4 }, replacement: { depth: 8 }, ...onlyDepth }, null, BERTHS],
    ['none matches, after', { filter: { _id: 4 }, replacement: { depth: 8 }, ...onlyDepth, ...after }, null, BERTHS],
  ]),
  ...at('findOneAndReplace-upsert', BERTHS, 'findOneAndReplace', [['without an id', { depth: 12 }], ['with an id', { _id: 4, depth: 12 }]].flatMap(([name, replacement]) => [
    [`${name}, before`, { filter: { _id: 4 }, replacement, projection: onlyDepth.projection, upsert: true }, null, replaced(4, 12)],
    [`${name}, after`, { filter: { _id: 4 }, replacement, ...onlyDepth, ...after, upsert: true }, { depth: 12 }, replaced(4, 12)],
  ])),
  ...each('findOneAndReplace-comment', TWO, 'findOneAndReplace', COMMENTS, { filter: { _id: 1 }, replacement: { depth: 5 } }, BERTHS[0], [{ _id: 1, depth: 5 }, BERTHS[1]]),
  ...each('findOneAndReplace-hint', TWO, 'findOneAndReplace', HINTS, { filter: { _id: 1 }, replacement: { depth: 5 } }, BERTHS[0], [{ _id: 1, depth: 5 }, BERTHS[1]]),
  ...at('findOneAndReplace-let', TWO, 'findOneAndReplace', [['a variable', { filter: isBerth, replacement: { name: 'east' }, let: { berth: 1 } }, BERTHS[0], [{ _id: 1, name: 'east' }, BERTHS[1]]]]),
];

const deeper = { $inc: { depth: 1 } };
const crane = (t) => ({ filter: {}, update: { $set: { 'cranes.$[c].t': 9 } }, arrayFilters: [{ 'c.t': t }] });

const updates = [
  ...at('findOneAndUpdate', BERTHS, 'findOneAndUpdate', [
    ...MATCHES.flatMap(([name, filter]) => [
      [`${name}, before`, { filter, update: deeper, ...onlyDepth }, { depth: 6 }, replaced(2, 7)],
      [`${name}, after`, { filter, update: deeper, ...onlyDepth, ...after }, { depth: 7 }, replaced(2, 7)],
    ]),
    ['none matches, before', { filter: { _id: 4 }, update: deeper, ...onlyDepth }, null, BERTHS],
    ['none matches, upsert, before', { filter: { _id: 4 }, update: deeper, projection: onlyDepth.projection, upsert: true }, null, replaced(4, 1)],
    ['none matches, after', { filter: { _id: 4 }, update: deeper, ...onlyDepth, ...after }, null, BERTHS],
    ['none matches, upsert, after', { filter: { _id: 4 }, update: deeper, ...onlyDepth, ...after, upsert: true }, { depth: 1 }, replaced(4, 1)],
  ]),
  ...at('findOneAndUpdate-arrayFilters', PIERS, 'findOneAndUpdate', [
    ['no element matches', crane(4), PIERS[0], PIERS],
    ['one element matches', crane(5), PIERS[0], [{ _id: 1, cranes: [{ t: 9 }, { t: 2 }] }, PIERS[1]]],
    ['an element of each document would match', crane(2), PIERS[0], [{ _id: 1, cranes: [{ t: 5 }, { t: 9 }] }, PIERS[1]]],
  ]),
  ...each('findOneAndUpdate-comment', TWO, 'findOneAndUpdate', COMMENTS, { filter: { _id: 1 }, update: [{ $set: { depth: 5 } }] }, BERTHS[0], [{ _id: 1, depth: 5 }, BERTHS[1]]),
  ...each('findOneAndUpdate-hint', TWO, 'findOneAndUpdate', HINTS, { filter: { _id: 1 }, update: deeper }, BERTHS[0], [{ _id: 1, depth: 5 }, BERTHS[1]]),
  ...at('findOneAndUpdate-let', TWO, 'findOneAndUpdate', [
    ['variables in filter and pipeline', { filter: isBerth, update: [{ $set: { name: '$$name' } }], let: { berth: 1, name: 'east' } }, BERTHS[0], [{ _id: 1, depth: 4, name: 'east' }, BERTHS[1]]],
  ]),
  ...at('findOneAndUpdate-pipeline', [{ _id: 1, a: 1, b: 1, c: { d: 1 } }], 'findOneAndUpdate', [
    ['project and addFields', { filter: { _id: 1 }, update: [{ $project: { a: 1 } }, { $addFields: { z: 1 } }] }, undefined, [{ _id: 1, a: 1, z: 1 }]],
  ]),
];

const refused = [
  { name: 'a duplicate key comes with its keys', prepare: ({ collection }) => collection.createIndex({ depth: 1 }, { unique: true }),
    given: { filter: { _id: 2 }, update: { $set: { depth: 4 } }, upsert: true }, fails: { code: 11000, reply: { keyPattern: { depth: 1 }, keyValue: { depth: 4 } } } },
].map((one) => ({ ...one, file: 'findOneAndUpdate-errorResponse', seed: TWO, operation: 'findOneAndUpdate', stored: TWO }));

export const findAndModify = [...deletes, ...replacements, ...updates, ...refused];
