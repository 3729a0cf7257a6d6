// When a refused client is told to come again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retryAfter } from '../dist/answer.js';

const told = (backlog, most) =>
  Array.from(new Set(Array.from({ length: 100 }, (_, at) => retryAfter(backlog, most, at / 100)))).sort((one, other) => one - other);

test('those who were refused together come apart although nobody waits', () => {
  assert.deepEqual(told(0, 30), [1, 2, 3, 4]);
});

test('a longer backlog spreads further, and never beyond the most', () => {
  assert.deepEqual(told(4, 30), [1, 2, 3, 4, 5, 6, 7, 8]);
  assert.equal(told(1_000, 30).at(-1), 30);
  assert.deepEqual(told(0, 2), [1, 2]);
  assert.deepEqual(told(1_000, 1), [1]);
});
