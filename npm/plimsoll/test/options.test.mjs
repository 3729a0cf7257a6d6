// Options: one table feeds defaults, errors and the README.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { OPTIONS, optionsTable, settings } from '../dist/options.js';

test('an unknown option is an error that names the nearest known one', () => {
  assert.throws(() => settings({ patiance: 100 }), /no option `patiance`; did you mean `patience`\?/);
  assert.throws(() => settings({ dryrun: true }), /did you mean `dryRun`\?/);
  assert.throws(() => settings({ colour: 1 }), /no option `colour` There are limit, patience/);
});

test('a wrong value is an error that says what is wrong', () => {
  const wrong = [
    [{ limit: 0 }, /`limit`: 0 is no whole number from 1 to 20000, nor 'half-load'/],
    [{ limit: 'half' }, /`limit`: 'half' is no whole number/],
    [{ patience: 1.5 }, /`patience`: 1.5 is no whole number/],
    [{ priority: 'x class' }, /neither the name of a header nor a function/],
    [{ skip: true }, /`skip`: true is no function/],
    [{ status: 200 }, /`status`: 200 is no whole number from 400 to 599/],
    [{ dryRun: 'yes' }, /`dryRun`: 'yes' is neither true nor false/],
    [{ name: 'a"b' }, /`name`/],
  ];
  for (const [options, error] of wrong) {
    assert.throws(() => settings(options), error);
  }
  assert.throws(() => settings(null), /must be an object/);
});

test('whatever is given, the answer is settings or a TypeError', () => {
  const names = fc.oneof(fc.constantFrom(...Object.keys(OPTIONS)), fc.string());
  fc.assert(
    fc.property(fc.dictionary(names, fc.anything()), (given) => {
      try {
        assert.deepEqual(Object.keys(settings(given)), Object.keys(OPTIONS));
      } catch (error) {
        assert.ok(error instanceof TypeError);
      }
    }),
    { numRuns: 500, seed: 5 },
  );
});

test('an option without a value is as if it was not given', () => {
  assert.deepEqual(settings({ limit: undefined }), settings());
});

test('the README has this table', () => {
  const path = new URL('../README.md', import.meta.url);
  const text = readFileSync(path, 'utf8');
  const written = /(<!-- options: begin -->\n)[^]*(\n<!-- options: end -->)/;
  assert.match(text, written);
  const expected = text.replace(written, (_, begin, end) => `${begin}\n${optionsTable()}\n${end}`);
  if (process.env.UPDATE_DOCS === '1') {
    writeFileSync(path, expected);
  } else {
    assert.equal(text, expected, 'run the tests with UPDATE_DOCS=1');
  }
});
