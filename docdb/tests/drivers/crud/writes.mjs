// Facts of MongoDB's public CRUD specification about inserts, updates, replacements and deletes, over our own documents.

const BERTHS = [{ _id: 1, depth: 4 }, { _id: 2, depth: 6 }, { _id: 3, depth: 9 }];
const TWO = BERTHS.slice(0, 2);
const PIERS = [{ _id: 1, cranes: [{ t: 5 }, { t: 2 }] }, { _id: 2, cranes: [{ t: 0 }, { t: 2 }] }];
const YARDS = [{ _id: 1, a: 1, b: 1, c: { d: { e: 1 } } }, { _id: 2, a: 2, b: 1 }];
const COMMENTS = [['a text as comment', 'why'], ['a document as comment', { why: 'a test' }]];
const HINTS = [['a hint by name', '_id_'], ['a hint by keys', { _id: 1 }]];

const at = (file, seed, operation, list) =>
  list.map(([name, given, result, stored]) => ({ file, name, seed, operation, given, result, stored }));
const commented = (file, seed, operation, given, result, stored) =>
  at(file, seed, operation, COMMENTS.map(([name, comment]) => [name, { ...given, comment }, result, stored]));
const hinted = (file, seed, operation, given, result, stored) =>
  at(file, seed, operation, HINTS.map(([name, hint]) => [name, { ...given, hint }, result, stored]));

const changed = (matchedCount, modifiedCount = matchedCount) => ({ matchedCount, modifiedCount, upsertedCount: 0 });
const upserted = (upsertedId) => ({ matchedCount: 0, modifiedCount: 0, upsertedCount: 1, upsertedId });
const deeper = { $inc: { depth: 1 } };
const crane = (given) => ({ filter: {}, update: { $set: { 'cranes.$[c].t': 9 } }, ...given });
const isBerth = { $expr: { $eq: ['$_id', '$$berth'] } };
const beyondOne = { _id: { $gt: 1 } };

const inserts = [
  ...at('insertOne', [BERTHS[0]], 'insertOne', [['a new document', { document: BERTHS[1] }, { insertedId: 2 }, TWO]]),
  ...commented('insertOne-comment', [BERTHS[0]], 'insertOne', { document: BERTHS[1] }, { insertedId: 2 }, TWO),
  ...at('insertMany', [BERTHS[0]], 'insertMany', [['new documents', { documents: BERTHS.slice(1), ordered: true }, { insertedCount: 2 }, BERTHS]]),
  ...[['one exists', BERTHS], ['one twice', [BERTHS[1], BERTHS[1], BERTHS[2]]]].map(([name, documents]) => ({
    file: 'insertMany', name: `unordered goes on: ${name}`, seed: [BERTHS[0]], operation: 'insertMany',
    given: { documents, ordered: false }, fails: { result: { insertedCount: 2, upsertedCount: 0 } }, stored: BERTHS,
  })),
  ...commented('insertMany-comment', [BERTHS[0]], 'insertMany', { documents: [BERTHS[1]] }, { insertedCount: 1 }, TWO),
];

const deletes = [
  ...at('deleteOne', BERTHS, 'deleteOne', [
    ['many match', { filter: beyondOne }, { deletedCount: 1 }],
    ['one matches', { filter: { _id: 2 } }, { deletedCount: 1 }, [BERTHS[0], BERTHS[2]]],
    ['none matches', { filter: { _id: 4 } }, { deletedCount: 0 }, BERTHS],
  ]),
  ...commented('deleteOne-comment', TWO, 'deleteOne', { filter: { _id: 1 } }, { deletedCount: 1 }, [BERTHS[1]]),
  ...hinted('deleteOne-hint', TWO, 'deleteOne', { filter: { _id: 1 } }, { deletedCount: 1 }, [BERTHS[1]]),
  ...at('deleteOne-let', TWO, 'deleteOne', [['a variable', { filter: isBerth, let: { berth: 1 } }, { deletedCount: 1 }, [BERTHS[1]]]]),
  ...at('deleteMany', BERTHS, 'deleteMany', [
    ['many match', { filter: beyondOne }, { deletedCount: 2 }, [BERTHS[0]]],
    ['none matches', { filter: { _id: 4 } }, { deletedCount: 0 }, BERTHS],
  ]),
  ...commented('deleteMany-comment', BERTHS, 'deleteMany', { filter: beyondOne }, { deletedCount: 2 }, [BERTHS[0]]),
  ...hinted('deleteMany-hint', BERTHS, 'deleteMany', { filter: beyondOne }, { deletedCount: 2 }, [BERTHS[0]]),
  ...at('deleteMany-let', BERTHS, 'deleteMany', [
    ['a variable', { filter: { $expr: { $gt: ['$depth', '$$limit'] } }, let: { limit: 5 } }, { deletedCount: 2 }, [BERTHS[0]]],
  ]),
];

const replacements = [
  ...at('replaceOne', BERTHS, 'replaceOne', [
    ['many match', { filter: beyondOne, replacement: { depth: 20 } }, changed(1)],
    ['one matches', { filter: { _id: 1 }, replacement: { _id: 1, depth: 20 } }, changed(1), [{ _id: 1, depth: 20 }, ...BERTHS.slice(1)]],
    ['none matches', { filter: { _id: 4 }, replacement: { _id: 4, depth: 1 } }, changed(0), BERTHS],
    ['upsert without an id', { filter: { _id: 4 }, replacement: { depth: 1 }, upsert: true }, upserted(4), [...BERTHS, { _id: 4, depth: 1 }]],
    ['upsert with an id', { filter: { _id: 4 }, replacement: { _id: 4, depth: 1 }, upsert: true }, upserted(4), [...BERTHS, { _id: 4, depth: 1 }]],
  ]),
  ...commented('replaceOne-comment', [BERTHS[0]], 'replaceOne', { filter: { _id: 1 }, replacement: { depth: 7 } }, changed(1), [{ _id: 1, depth: 7 }]),
  ...hinted('replaceOne-hint', TWO, 'replaceOne', { filter: beyondOne, replacement: { depth: 7 } }, changed(1), [BERTHS[0], { _id: 2, depth: 7 }]),
  ...at('replaceOne-let', TWO, 'replaceOne', [
    ['a variable', { filter: isBerth, replacement: { name: 'east' }, let: { berth: 1 } }, changed(1), [{ _id: 1, name: 'east' }, BERTHS[1]]],
  ]),
  { file: 'replaceOne-validation', name: 'no operators in a replacement', seed: TWO, operation: 'replaceOne', given: { filter: { _id: 1 }, replacement: { $set: { depth: 1 } } }, fails: 'client', stored: TWO },
  { file: 'replaceOne-sort', name: 'refused before 8.0', seed: BERTHS, operation: 'replaceOne', given: { filter: beyondOne, sort: { _id: -1 }, replacement: { depth: 1 } }, fails: 'server', stored: BERTHS },
];

const updateOne = [
  ...at('updateOne', BERTHS, 'updateOne', [
    ['many match', { filter: beyondOne, update: deeper }, changed(1)],
    ['one matches', { filter: { _id: 1 }, update: deeper }, changed(1), [{ _id: 1, depth: 5 }, ...BERTHS.slice(1)]],
    ['none matches', { filter: { _id: 4 }, update: deeper }, changed(0), BERTHS],
    ['upsert', { filter: { _id: 4 }, update: deeper, upsert: true }, upserted(4), [...BERTHS, { _id: 4, depth: 1 }]],
  ]),
  ...at('updateOne-arrayFilters', PIERS, 'updateOne', [
    ['no element matches', crane({ arrayFilters: [{ 'c.t': 4 }] }), changed(1, 0), PIERS],
    ['one element matches', crane({ arrayFilters: [{ 'c.t': 5 }] }), changed(1), [{ _id: 1, cranes: [{ t: 9 }, { t: 2 }] }, PIERS[1]]],
    ['one element of each document would match', crane({ arrayFilters: [{ 'c.t': 2 }] }), changed(1), [{ _id: 1, cranes: [{ t: 5 }, { t: 9 }] }, PIERS[1]]],
  ]),
  ...at('updateOne-arrayFilters', [{ _id: 3, piers: [{ n: 5, cranes: [{ t: 2 }, { t: 1 }] }] }], 'updateOne', [
    ['two filters, none matches both', { filter: { _id: 3 }, update: { $set: { 'piers.$[p].cranes.$[c].t': 0 } }, arrayFilters: [{ 'p.n': 5 }, { 'c.t': 3 }] },
      changed(1, 0), [{ _id: 3, piers: [{ n: 5, cranes: [{ t: 2 }, { t: 1 }] }] }]],
    ['two filters, one matches both', { filter: { _id: 3 }, update: { $set: { 'piers.$[p].cranes.$[c].t': 0 } }, arrayFilters: [{ 'p.n': 5 }, { 'c.t': 1 }] },
      changed(1), [{ _id: 3, piers: [{ n: 5, cranes: [{ t: 2 }, { t: 0 }] }] }]],
  ]),
  ...commented('updateOne-comment', [BERTHS[0]], 'updateOne', { filter: { _id: 1 }, update: { $set: { depth: 7 } } }, changed(1), [{ _id: 1, depth: 7 }]),
  ...hinted('updateOne-hint', TWO, 'updateOne', { filter: beyondOne, update: deeper }, changed(1), [BERTHS[0], { _id: 2, depth: 7 }]),
  ...at('updateOne-let', [{ _id: 1 }, { _id: 2 }], 'updateOne', [
    ['variables in filter and pipeline', { filter: isBerth, update: [{ $set: { name: '$$name' } }], let: { berth: 1, name: 'east' } }, changed(1), [{ _id: 1, name: 'east' }, { _id: 2 }]],
  ]),
  ...at('updateOne-pipeline', YARDS, 'updateOne', [
    ['replaceRoot and addFields', { filter: { _id: 1 }, update: [{ $replaceRoot: { newRoot: '$c' } }, { $addFields: { z: 1 } }] }, changed(1), [{ _id: 1, d: { e: 1 }, z: 1 }, YARDS[1]]],
  ]),
  { file: 'updateOne-validation', name: 'an update needs operators', seed: TWO, operation: 'updateOne', given: { filter: { _id: 1 }, update: { depth: 1 } }, fails: 'client', stored: TWO },
  { file: 'updateOne-sort', name: 'refused before 8.0', seed: BERTHS, operation: 'updateOne', given: { filter: beyondOne, sort: { _id: -1 }, update: deeper }, fails: 'server', stored: BERTHS },
];

const updateMany = [
  ...at('updateMany', BERTHS, 'updateMany', [
    ['many match', { filter: beyondOne, update: deeper }, changed(2), [BERTHS[0], { _id: 2, depth: 7 }, { _id: 3, depth: 10 }]],
    ['one matches', { filter: { _id: 1 }, update: deeper }, changed(1), [{ _id: 1, depth: 5 }, ...BERTHS.slice(1)]],
    ['none matches', { filter: { _id: 4 }, update: deeper }, changed(0), BERTHS],
    ['upsert', { filter: { _id: 4 }, update: deeper, upsert: true }, upserted(4), [...BERTHS, { _id: 4, depth: 1 }]],
  ]),
  ...at('updateMany-arrayFilters', PIERS, 'updateMany', [
    ['no element matches', crane({ arrayFilters: [{ 'c.t': 4 }] }), changed(2, 0), PIERS],
    ['an element of one document matches', crane({ arrayFilters: [{ 'c.t': 5 }] }), changed(2, 1), [{ _id: 1, cranes: [{ t: 9 }, { t: 2 }] }, PIERS[1]]],
    ['an element of each matches', crane({ arrayFilters: [{ 'c.t': 2 }] }), changed(2), [{ _id: 1, cranes: [{ t: 5 }, { t: 9 }] }, { _id: 2, cranes: [{ t: 0 }, { t: 9 }] }]],
  ]),
  ...commented('updateMany-comment', [BERTHS[0]], 'updateMany', { filter: { _id: 1 }, update: { $set: { depth: 7 } } }, changed(1), [{ _id: 1, depth: 7 }]),
  ...hinted('updateMany-hint', BERTHS, 'updateMany', { filter: beyondOne, update: deeper }, changed(2), [BERTHS[0], { _id: 2, depth: 7 }, { _id: 3, depth: 10 }]),
  ...at('updateMany-let', BERTHS, 'updateMany', [
    ['variables in filter and pipeline', { filter: { $expr: { $gt: ['$depth', '$$limit'] } }, update: [{ $set: { a: '$$a', b: '$$b' } }], let: { limit: 5, a: 'east', b: { $literal: 'west' } } },
      changed(2), [BERTHS[0], ...BERTHS.slice(1).map((one) => ({ ...one, a: 'east', b: 'west' }))]],
  ]),
  ...at('updateMany-pipeline', YARDS, 'updateMany', [
    ['project and addFields', { filter: {}, update: [{ $project: { a: 1 } }, { $addFields: { z: 1 } }] }, changed(2), [{ _id: 1, a: 1, z: 1 }, { _id: 2, a: 2, z: 1 }]],
  ]),
  { file: 'updateMany-validation', name: 'an update needs operators', seed: BERTHS, operation: 'updateMany', given: { filter: beyondOne, update: { depth: 1 } }, fails: 'client', stored: BERTHS },
];

const bypass = [
  ['bulkWrite', { requests: [{ insertOne: { document: { _id: 4 } } }] }],
  ['findOneAndReplace', { filter: beyondOne, replacement: { depth: 8 } }],
  ['findOneAndUpdate', { filter: beyondOne, update: deeper }],
  ['insertMany', { documents: [{ _id: 4 }] }],
  ['insertOne', { document: { _id: 4 } }],
  ['replaceOne', { filter: beyondOne, replacement: { depth: 8 } }],
  ['updateMany', { filter: beyondOne, update: deeper }],
  ['updateOne', { filter: beyondOne, update: deeper }],
].map(([operation, given]) => ({
  file: 'bypassDocumentValidation', name: `${operation} with false`, seed: BERTHS, operation, given: { ...given, bypassDocumentValidation: false },
}));

// The Node driver puts an ObjectId in the place of null unless it is told to leave _id to the server.
const nullIds = [
  ['insertMany', { documents: [{ _id: null }] }],
  ['insertOne', { document: { _id: null } }],
  ['updateOne', { filter: { _id: null }, update: { $unset: { a: '' } }, upsert: true }],
  ['updateMany', { filter: { _id: null }, update: { $unset: { a: '' } }, upsert: true }],
  ['replaceOne', { filter: { _id: null }, replacement: {}, upsert: true }],
  ['bulkWrite', { requests: [{ insertOne: { document: { _id: null } } }] }],
].map(([operation, given]) => ({ file: 'create-null-ids', name: `${operation} keeps null`, seed: [], operation, given: { ...given, forceServerObjectId: true }, stored: [{ _id: null }] }));

export const writes = [...inserts, ...deletes, ...replacements, ...updateOne, ...updateMany, ...bypass, ...nullIds];
