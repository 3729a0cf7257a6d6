// Collects the cases of the suites, runs each against a server in a database of its own, and prints one line a case.
import assert from 'node:assert/strict';
import { BSON, MongoClient } from 'mongodb';

// A case that takes longer hangs; the slowest legitimate one (10,000 documents) takes seconds on a busy core.
const CASE_TIMEOUT_MS = 60_000;

const cases = [];
let suiteName = '';

/** What follows belongs to this suite. */
export function suite(name) {
  suiteName = name;
}

/** A case: `body` gets {client, db, collection, uri, authUri}; the database is empty and dropped afterwards. */
export function test(name, body) {
  cases.push({ suite: suiteName, name, body });
}

/** A case that needs a server with users; it is counted as skipped when no --auth-uri was given. */
export function testWithUsers(name, body) {
  cases.push({ suite: suiteName, name, body, needsUsers: true });
}

/** Equal as BSON values, whatever JavaScript class carries them; the order of fields counts. */
export function same(actual, expected, about) {
  assert.equal(text(actual), text(expected), about);
}

function text(value) {
  return value === undefined ? 'undefined' : BSON.EJSON.stringify({ value }, { relaxed: true });
}

/** Equal apart from the order of a document's fields. */
export function sameFields(actual, expected, about) {
  assert.deepEqual(JSON.parse(text(actual)), JSON.parse(text(expected)), about);
}

/** The operation fails on the server with this code (or one of these); returns the error. */
export async function fails(code, operation) {
  let error;
  try {
    await operation();
  } catch (thrown) {
    error = thrown;
  }
  assert.ok(error, `expected error ${code}, but the operation succeeded`);
  const found = error.code ?? error.errorResponse?.code;
  assert.ok([code].flat().includes(found), `expected code ${code}, got ${found}: ${error.message}`);
  return error;
}

/** A client that gives up soon when nobody answers. */
export function connect(uri, options = {}) {
  return new MongoClient(uri, { serverSelectionTimeoutMS: 5_000, ...options });
}

/** A client for the length of `body`. */
export async function withClient(uri, options, body) {
  const client = connect(uri, options);
  try {
    return await body(client);
  } finally {
    await client.close();
  }
}

function limited(promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end after ${CASE_TIMEOUT_MS / 1000} s`)), CASE_TIMEOUT_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function runCase(one, client, settings, index) {
  const database = `case_${one.suite.replaceAll(/\W/g, '_')}_${index}`;
  const db = client.db(database);
  const given = { client, db, collection: db.collection('ships'), database, ...settings };
  const begun = performance.now();
  let problem;
  try {
    await limited(one.body(given));
  } catch (error) {
    problem = error;
  }
  await limited(db.dropDatabase()).catch((error) => { problem ??= error; });
  const took = `${Math.round(performance.now() - begun)} ms`;
  console.log(`${problem ? 'FAIL' : 'ok  '} ${one.suite}: ${one.name} (${took})`);
  if (problem) console.log(String(problem.stack ?? problem).split('\n').slice(0, 12).map((line) => `       ${line}`).join('\n'));
  return !problem;
}

/** Runs what `only` and `suites` leave; true when all passed. */
export async function run({ uri, authUri, only, suites, list }) {
  const chosen = cases.map((one, index) => ({ ...one, index }))
    .filter((one) => !suites.length || suites.some((name) => one.suite.startsWith(name)))
    .filter((one) => !only || `${one.suite}: ${one.name}`.includes(only));
  if (list) {
    for (const one of chosen) console.log(`${one.suite}: ${one.name}`);
    return true;
  }
  if (!chosen.length) {
    console.log('no case has that name');
    return false;
  }
  const tally = new Map();
  const client = connect(uri);
  for (const one of chosen) {
    const counts = tally.get(one.suite) ?? { passed: 0, ran: 0, skipped: 0 };
    tally.set(one.suite, counts);
    if (one.needsUsers && !authUri) {
      counts.skipped += 1;
      continue;
    }
    counts.ran += 1;
    counts.passed += await runCase(one, client, { uri, authUri }, one.index);
  }
  await client.close();
  return summary(tally);
}

function summary(tally) {
  let passed = 0;
  let ran = 0;
  for (const [name, counts] of tally) {
    const skipped = counts.skipped ? `, ${counts.skipped} skipped: no --auth-uri` : '';
    console.log(`${name}: ${counts.passed} of ${counts.ran} pass${skipped}`);
    passed += counts.passed;
    ran += counts.ran;
  }
  console.log(`total: ${passed} of ${ran} pass`);
  return passed === ran;
}
