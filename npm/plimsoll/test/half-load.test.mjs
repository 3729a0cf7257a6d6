// The port of the guard's limit chooses the limits that the guard chooses: both play these services, and the guard's test
// (`same_elsewhere.rs`) holds its side against the same file.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { HalfLoad } from '../dist/admission/half-load.js';

const SECONDS = 20;
const PATIENCE = 1_000;
const WALL_AHEAD = 37;
/** Milliseconds between which one of them stands still. */
const STILL = [8_000, 11_000];
const SERVICES = {
  pool: { workers: 8, work: [20, 40], arrivals: 39_000, failsAbove: 1_000 },
  loop: { workers: 1, work: [5, 1], arrivals: 60_000, failsAbove: 1_000 },
  fails: { workers: 12, work: [30, 20], arrivals: 60_000, failsAbove: 20 },
  slow: { workers: 40, work: [200, 300], arrivals: 13_000, failsAbove: 1_000 },
  late: { workers: 2, work: [300, 500], arrivals: 9_000, failsAbove: 1_000 },
  still: { workers: 6, work: [10, 20], arrivals: 25_000, failsAbove: 1_000, standsStill: true },
};

/** When work that begins at `from` is done. */
function done(service, from, work) {
  const over = from + work;
  return service.standsStill && over > STILL[0] && from < STILL[1] ? over + STILL[1] - Math.max(from, STILL[0]) : over;
}

function limits(service, limit = new HalfLoad(0, WALL_AHEAD)) {
  let seed = 1;
  const roll = () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return seed >>> 16;
  };
  const free = Array.from({ length: service.workers }, () => 0);
  const flying = [];
  const demand = { arrived: 0, turnedAway: 0 };
  const seen = [];
  for (let ms = 0; ms < SECONDS * 1_000; ms += 1) {
    let at;
    while ((at = flying.findIndex(({ over }) => over <= ms)) >= 0) {
      const inFlight = flying.length;
      const [{ began, within }] = flying.splice(at, 1);
      limit.turn(ms, inFlight, { ...demand });
      let ended = 'served';
      if (ms - began >= PATIENCE) {
        ended = 'left';
      } else if (within > service.failsAbove) {
        demand.turnedAway += 1;
        ended = 'failed';
      }
      limit.answered(ms, ms - began, ended);
    }
    if (roll() < service.arrivals) {
      demand.arrived += 1;
      limit.turn(ms, flying.length, { ...demand });
      if (flying.length < limit.limit()) {
        const worker = free.indexOf(Math.min(...free));
        const work = service.work[0] + (roll() % service.work[1]);
        free[worker] = done(service, Math.max(free[worker], ms), work);
        // The client leaves when it has waited long enough; the worker does not notice.
        flying.push({ began: ms, over: Math.min(free[worker], ms + PATIENCE), within: flying.length + 1 });
      } else {
        demand.turnedAway += 1;
      }
    }
    limit.turn(ms, flying.length, { ...demand });
    if (ms % 100 === 99) {
      seen.push(limit.limit());
    }
  }
  return seen;
}

const expected = readFileSync(new URL('half-load.txt', import.meta.url), 'utf8').trim().split('\n');
for (const line of expected) {
  const [name, ...wanted] = line.split(' ');
  test(`the same limits as the guard: ${name}`, () => {
    assert.deepEqual(limits(SERVICES[name]), wanted.map(Number));
  });
}

test('a wall clock that is compared later says the same', () => {
  const [name, ...wanted] = expected[0].split(' ');
  const limit = new HalfLoad(0, 0);
  limit.wallIs(WALL_AHEAD);
  // So little is the clock being read in whole milliseconds.
  limit.wallIs(WALL_AHEAD + 1);
  assert.deepEqual(limits(SERVICES[name], limit), wanted.map(Number));
});

test('every service was played', () => assert.equal(expected.length, Object.keys(SERVICES).length));
