// Facts of MongoDB's public CRUD specification about reads, over our own documents; `file` names the specification's file.

const BERTHS = [{ _id: 1, depth: 4 }, { _id: 2, depth: 6 }, { _id: 3, depth: 9 }];
const QUAY = [...BERTHS, { _id: 4, depth: 12 }, { _id: 5, depth: 14 }, { _id: 6, depth: 15 }];
const AFTER_FIRST = QUAY.slice(1);
const COMMENTS = [['a text', 'why'], ['a document', { why: 'a test' }]];

const at = (file, seed, operation, list) => list.map(([name, given, result]) => ({ file, name, seed, operation, given, result }));

const commented = (file, operation, given, result, seed = BERTHS) =>
  at(file, seed, operation, COMMENTS.map(([kind, comment]) => [`${kind} as comment`, { ...given, comment }, result]));

export const reads = [
  ...at('aggregate-allowdiskuse', [], 'aggregate', [
    ['not given', { pipeline: [{ $match: {} }] }, []],
    ['false', { pipeline: [{ $match: {} }], allowDiskUse: false }, []],
    ['true', { pipeline: [{ $match: {} }], allowDiskUse: true }, []],
  ]),
  ...at('aggregate-let', [{ _id: 1 }], 'aggregate', [
    ['variables of every kind', {
      pipeline: [{ $match: { $expr: { $eq: ['$_id', '$$berth'] } } }, { $project: { _id: 0, a: '$$a', b: '$$b', c: { $type: '$$c' } } }],
      let: { berth: 1, a: 'east', b: { $literal: '$west' }, c: { $rand: {} } },
    }, [{ a: 'east', b: '$west', c: 'double' }]],
  ]),
  ...at('aggregate', QUAY, 'aggregate', [
    ['several batches', { pipeline: [{ $match: { _id: { $gt: 1 } } }], batchSize: 2 }, AFTER_FIRST],
    ['a text as comment', { pipeline: [{ $match: { _id: { $gt: 1 } } }], comment: 'why' }, AFTER_FIRST],
    ['a document as comment', { pipeline: [{ $match: { _id: { $gt: 1 } } }], comment: { why: 'a test' } }, AFTER_FIRST],
    ['the comment goes with getMore', { pipeline: [{ $match: { _id: { $gt: 1 } } }], batchSize: 2, comment: { why: 'a test' } }, AFTER_FIRST],
    ['several stages', { pipeline: [{ $sort: { depth: 1 } }, { $match: { _id: { $gt: 1 } } }], batchSize: 2 }, AFTER_FIRST],
  ]),
  ...at('count-empty', [], 'estimatedDocumentCount', [['estimated', {}, 0]]),
  ...at('count-empty', [], 'countDocuments', [['documents', { filter: {} }, 0]]),
  ...at('count-empty', [], 'count', [['the old count', { filter: {} }, 0]]),
  ...at('count', BERTHS, 'estimatedDocumentCount', [['estimated', {}, 3]]),
  ...at('count', BERTHS, 'countDocuments', [
    ['without a filter', { filter: {} }, 3],
    ['with a filter', { filter: { _id: { $gt: 1 } } }, 2],
    ['with skip and limit', { filter: {}, skip: 1, limit: 3 }, 2],
  ]),
  ...at('count', BERTHS, 'count', [
    ['the old count without a filter', { filter: {} }, 3],
    ['the old count with a filter', { filter: { _id: { $gt: 1 } } }, 2],
    ['the old count with skip and limit', { filter: {}, skip: 1, limit: 3 }, 2],
  ]),
  ...commented('countDocuments-comment', 'countDocuments', { filter: {} }, 3),
  ...commented('distinct-comment', 'distinct', { field: 'depth', filter: {} }, [4, 6, 9]),
  ...at('distinct', BERTHS, 'distinct', [
    ['without a filter', { field: 'depth', filter: {} }, [4, 6, 9]],
    ['with a filter', { field: 'depth', filter: { _id: { $gt: 1 } } }, [6, 9]],
  ]),
  ...commented('estimatedDocumentCount-comment', 'estimatedDocumentCount', {}, 3),
  ...at('estimatedDocumentCount', BERTHS, 'estimatedDocumentCount', [
    ['uses count', {}, 3],
    ['with maxTimeMS', { maxTimeMS: 6_000 }, 3],
  ]),
  ...at('estimatedDocumentCount', [], 'estimatedDocumentCount', [['a collection that does not exist', {}, 0]]),
  ...at('find-allowdiskuse', [], 'find', [
    ['not given', { filter: {} }, []],
    ['false', { filter: {}, allowDiskUse: false }, []],
    ['true', { filter: {}, allowDiskUse: true }, []],
  ]),
  ...commented('find-comment', 'find', { filter: { _id: 1 } }, [QUAY[0]], QUAY),
  ...at('find-comment', QUAY, 'find', [
    ['the comment goes with getMore', { filter: { _id: { $gt: 1 } }, batchSize: 2, comment: { why: 'a test' } }, AFTER_FIRST],
  ]),
  ...at('find-let', [{ _id: 1 }, { _id: 2 }], 'find', [
    ['a variable', { filter: { $expr: { $eq: ['$_id', '$$berth'] } }, let: { berth: 1 } }, [{ _id: 1 }]],
  ]),
  ...at('find', QUAY, 'find', [
    ['several batches', { filter: { _id: { $gt: 1 } }, batchSize: 2 }, AFTER_FIRST],
    ['a filter', { filter: { _id: 1 } }, [QUAY[0]]],
    ['filter, sort, skip and limit', { filter: { _id: { $gt: 2 } }, sort: { _id: 1 }, skip: 2, limit: 2 }, QUAY.slice(4)],
    ['limit, sort and batchSize', { filter: {}, sort: { _id: 1 }, limit: 4, batchSize: 2 }, QUAY.slice(0, 4)],
    ['batchSize equal to limit', { filter: { _id: { $gt: 1 } }, sort: { _id: 1 }, limit: 4, batchSize: 4 }, QUAY.slice(1, 5)],
  ]),
  ...at('findOne', QUAY, 'findOne', [
    ['a filter', { filter: { _id: 1 } }, { whole: QUAY[0] }],
    ['filter, sort and skip', { filter: { _id: { $gt: 2 } }, sort: { _id: 1 }, skip: 2 }, { whole: QUAY[4] }],
  ]),
];
