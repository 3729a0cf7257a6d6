// Runs the data of the CRUD specification's cases: seed a collection, do one operation, compare its result and what is stored.
import assert from 'node:assert/strict';
import { BSON } from 'mongodb';
import { sameFields, suite, test } from '../harness.mjs';
import { bulk } from './bulk.mjs';
import { findAndModify } from './find-and-modify.mjs';
import { names } from './names.mjs';
import { reads } from './reads.mjs';
import { writes } from './writes.mjs';

// Of the specification's 487 cases (source/crud/tests/unified) 246 do not apply to a standalone that announces 7.0: 100
// need server 8.0 or newer (client bulk writes, rawData, sort of an update, distinct with a hint; their counterparts for
// older servers are here); 74 are only for servers before that; 26 watch only how the client sends an unacknowledged write
// with a hint (how w: 0 behaves is in node/bulk.mjs); 15 use collations, 13 $out, $merge, views or $listLocalSessions and 1
// a validator, which are not supported; 9 set fail points; 8 need a replica set or a read preference.
suite('crud specification');

/** What an operation's arguments are, in the order of the Node driver's methods. */
const ARGUMENTS = {
  aggregate: ['pipeline'], find: ['filter'], findOne: ['filter'], distinct: ['field', 'filter'], countDocuments: ['filter'], count: ['filter'],
  estimatedDocumentCount: [], insertOne: ['document'], insertMany: ['documents'], deleteOne: ['filter'], deleteMany: ['filter'],
  updateOne: ['filter', 'update'], updateMany: ['filter', 'update'], replaceOne: ['filter', 'replacement'], findOneAndDelete: ['filter'],
  findOneAndUpdate: ['filter', 'update'], findOneAndReplace: ['filter', 'replacement'], bulkWrite: ['requests'],
};

async function perform(collection, operation, given) {
  const names = ARGUMENTS[operation];
  const options = Object.fromEntries(Object.entries(given).filter(([name]) => !names.includes(name)));
  const answer = collection[operation](...names.map((name) => structured(given[name] ?? {})), options);
  return ['find', 'aggregate'].includes(operation) ? answer.toArray() : answer;
}

/** A copy, because the driver adds _id to what it is given. */
const structured = (value) => (value === null || typeof value !== 'object' ? value : BSON.EJSON.deserialize(BSON.EJSON.serialize({ value })).value);

/** What a refusal of the server must look like: any code, or the one given with the fields beside it. */
function checkRefusal(error, wanted) {
  assert.equal(typeof error.code, 'number', `the server should refuse: ${error.stack}`);
  if (wanted.code) assert.equal(error.code, wanted.code, error.message);
  if (wanted.reply) compare(error.errorResponse, wanted.reply);
  if (wanted.result) compare(error.result ?? error, wanted.result);
}

/** Compares the fields that are expected; what the driver adds beside them is its own affair. */
function compare(found, expected) {
  const whole = Array.isArray(expected) || expected === null || typeof expected !== 'object' || expected.whole;
  if (whole) return sameFields(found, expected?.whole ?? expected);
  return sameFields(Object.fromEntries(Object.keys(expected).map((name) => [name, found[name]])), expected);
}

async function check(given, one) {
  const { collection } = given;
  await one.prepare?.(given);
  if (one.seed.length) await collection.insertMany(structured(one.seed));
  if (one.fails) {
    const error = await perform(collection, one.operation, one.given).then(() => null, (thrown) => thrown);
    assert.ok(error, 'expected an error');
    if (one.fails === 'client') assert.equal(error.code, undefined, `the driver itself should refuse: ${error.message}`);
    else checkRefusal(error, one.fails);
  } else {
    const result = await perform(collection, one.operation, one.given);
    if (one.result !== undefined) compare(result, one.result);
  }
  if (one.stored) sameFields(await collection.find().sort({ _id: 1 }).toArray(), one.stored);
}

for (const one of [...reads, ...writes, ...bulk, ...findAndModify, ...names]) {
  test(`${one.file}: ${one.name}`, (given) => check(given, one));
}
