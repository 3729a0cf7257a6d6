// Facts of MongoDB's public CRUD specification about field names with dots and dollars, over our own documents.

const ODD = [
  ['a dollar at the top', { _id: 1, $k: 1 }],
  ['a dot at the top', { _id: 1, 'k.l': 1 }],
  ['a dollar inside', { _id: 1, in: { $k: 1 } }],
  ['a dot inside', { _id: 1, in: { 'k.l': 1 } }],
];

const inserts = ODD.flatMap(([name, document]) => [
  { file: 'insertOne-dots_and_dollars', name, operation: 'insertOne', given: { document }, result: { insertedId: 1 } },
  { file: 'insertMany-dots_and_dollars', name, operation: 'insertMany', given: { documents: [document] }, result: { insertedCount: 1 } },
  { file: 'bulkWrite-insertOne-dots_and_dollars', name, operation: 'bulkWrite', given: { requests: [{ insertOne: { document } }] }, result: { insertedCount: 1 } },
].map((one) => ({ ...one, seed: [], stored: [document] })));

const ids = [
  { name: 'a dollar in _id is refused', given: { document: { _id: { $k: 1 } } }, fails: 'server', stored: [] },
  { name: 'a dot in _id', given: { document: { _id: { 'k.l': 1 } } }, stored: [{ _id: { 'k.l': 1 } }] },
  { name: 'a key as of a DBRef', given: { document: { _id: 1, in: { $db: 'x' } } }, stored: [{ _id: 1, in: { $db: 'x' } }] },
].map((one) => ({ ...one, file: 'insertOne-dots_and_dollars', seed: [], operation: 'insertOne' }));

// A dollar at the top of a replacement would be an operator, which the driver refuses.
const changed = { matchedCount: 1, modifiedCount: 1, upsertedCount: 0 };
const replacements = ODD.slice(1).flatMap(([name, replacement]) => [
  { file: 'replaceOne-dots_and_dollars', operation: 'replaceOne', given: { filter: { _id: 1 }, replacement }, result: changed },
  { file: 'findOneAndReplace-dots_and_dollars', operation: 'findOneAndReplace', given: { filter: { _id: 1 }, replacement }, result: { whole: { _id: 1 } } },
  { file: 'bulkWrite-replaceOne-dots_and_dollars', operation: 'bulkWrite', given: { requests: [{ replaceOne: { filter: { _id: 1 }, replacement } }] }, result: changed },
].map((one) => ({ ...one, name, seed: [{ _id: 1 }], stored: [replacement] })));

const field = (name, input) => ({ $setField: { field: { $literal: name }, value: 1, input } });
const PIPELINES = [
  ['a dollar at the top', [{ $replaceWith: field('$k', '$$ROOT') }], { _id: 1, in: {}, $k: 1 }],
  ['a dot at the top', [{ $replaceWith: field('k.l', '$$ROOT') }], { _id: 1, in: {}, 'k.l': 1 }],
  ['a dollar inside', [{ $set: { in: field('$k', '$in') } }], { _id: 1, in: { $k: 1 } }],
  ['a dot inside', [{ $set: { in: field('k.l', '$in') } }], { _id: 1, in: { 'k.l': 1 } }],
];
const filter = { _id: 1 };
const updates = PIPELINES.flatMap(([name, update, document]) => [
  { file: 'updateOne-dots_and_dollars', operation: 'updateOne', given: { filter, update }, result: changed },
  { file: 'updateMany-dots_and_dollars', operation: 'updateMany', given: { filter, update }, result: changed },
  { file: 'findOneAndUpdate-dots_and_dollars', operation: 'findOneAndUpdate', given: { filter, update }, result: { whole: { _id: 1, in: {} } } },
  { file: 'bulkWrite-updateOne-dots_and_dollars', operation: 'bulkWrite', given: { requests: [{ updateOne: { filter, update } }] }, result: changed },
  { file: 'bulkWrite-updateMany-dots_and_dollars', operation: 'bulkWrite', given: { requests: [{ updateMany: { filter, update } }] }, result: changed },
].map((one) => ({ ...one, name, seed: [{ _id: 1, in: {} }], stored: [document] })));

export const names = [...inserts, ...ids, ...replacements, ...updates];
