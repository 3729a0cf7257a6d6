// What the loop itself says: a share is refused in proportion, pauses and single windows refuse nobody, and work that was
// let in starts so that the loop sees what arrives. Loops of these tests are simulated; time is passed in.
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { acceptQueue, listeningIn, waitingIn } from '../dist/loop/accept-queue.js';
import { LoopShedder } from '../dist/loop/shedder.js';
import { Starter } from '../dist/loop/starter.js';
import { LoopWatch } from '../dist/loop/watch.js';

const LATE_MOST = 125;
const busy = (late, collected = 0) => ({ utilisation: 1, late, collected });

test('one bad window, a pause for garbage, or a late loop with time left refuses nobody', () => {
  const shedder = new LoopShedder(LATE_MOST);
  for (const window of [busy(600), busy(5), busy(5), busy(400, 390), busy(400, 390), busy(400, 390)]) {
    shedder.see(window);
    assert.equal(shedder.pass, 1);
  }
  for (let count = 0; count < 10; count += 1) {
    shedder.see({ utilisation: 0.5, late: 400, collected: 0 });
  }
  assert.equal(shedder.pass, 1);
});

test('two bad windows of three refuse a share, less than all, and good ones end it', () => {
  const shedder = new LoopShedder(LATE_MOST);
  shedder.see(busy(250));
  shedder.see(busy(5));
  shedder.see(busy(250));
  assert.ok(shedder.pass < 0.8 && shedder.pass > 0.6, `${shedder.pass}`);
  for (let count = 0; count < 20; count += 1) {
    shedder.see(busy(5));
  }
  assert.equal(shedder.pass, 1);
});

test('the share that passes is spread evenly, and the critical always pass', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 126, max: 3_000 }), { minLength: 2, maxLength: 30 }), (lates) => {
      const shedder = new LoopShedder(LATE_MOST);
      lates.sort((one, other) => one - other).forEach((late) => shedder.see(busy(late)));
      assert.ok(shedder.pass >= 0.05 && shedder.pass < 1);
      const passed = Array.from({ length: 1_000 }, () => shedder.passes(1)).filter(Boolean).length;
      assert.ok(Math.abs(passed / 1_000 - shedder.pass) < 0.005, `${passed} of 1000 at ${shedder.pass}`);
      assert.ok(shedder.passes(0));
    }),
    { numRuns: 100, seed: 3 },
  );
});

/** A loop with work that goes on after the answer: `times` its capacity, windows of 250 ms. */
function played(times, windows) {
  const shedder = new LoopShedder(LATE_MOST);
  let backlog = 0;
  const passes = [];
  let done = 0;
  for (let window = 0; window < windows; window += 1) {
    backlog += 250 * times * shedder.pass;
    const worked = Math.min(backlog, 250);
    done += worked;
    backlog -= worked;
    shedder.see({ utilisation: worked / 250, late: backlog, collected: 0 });
    passes.push(shedder.pass);
  }
  return { passes, goodput: done / (250 * windows), backlog };
}

test('work after the answer: the loop stays useful, its lateness bounded, and it does not swing from all to nothing', () => {
  for (const times of [1.2, 2, 5, 10]) {
    const { passes, goodput, backlog } = played(times, 200);
    const settled = passes.slice(100);
    assert.ok(goodput > 0.95, `${times}x: ${goodput}`);
    assert.ok(backlog < 4 * LATE_MOST, `${times}x: ${backlog} ms late`);
    assert.ok(Math.max(...settled) < 4 * Math.min(...settled), `${times}x swings: ${settled.slice(-8)}`);
  }
});

/** A loop in which each turn takes the time of what it does; `perTurn` things come in with each, until none are left. */
function loop({ waiting, perTurn, workMs, seeMs }) {
  let now = 0;
  let next = [];
  const log = [];
  const starter = new Starter(
    () => {
      log.push({ at: now, seen });
      now += workMs;
    },
    () => now,
    (turn) => next.push(turn),
  );
  let seen = 0;
  const turn = () => {
    for (let count = 0; count < perTurn && waiting > 0; count += 1) {
      waiting -= 1;
      seen += 1;
      now += seeMs;
      starter.arrived();
    }
    now += 0.005;
    const turns = next;
    next = [];
    turns.forEach((one) => one());
  };
  return { starter, turn, log, idle: () => next.length === 0 };
}

test('work waits until all that came in has been seen', () => {
  const { starter, turn, log, idle } = loop({ waiting: 40, perTurn: 1, workMs: 5, seeMs: 0.05 });
  starter.start('first', false);
  starter.start('second', false);
  while (!idle()) {
    turn();
  }
  assert.equal(log.length, 2);
  assert.ok(log[1].seen >= 40, `only ${log[1].seen} of 40 were seen before the second piece of work`);
});

test('work has half of the time at least, whatever arrives', () => {
  const { starter, turn, log } = loop({ waiting: 1e6, perTurn: 10, workMs: 5, seeMs: 0.1 });
  for (let count = 0; count < 50; count += 1) {
    starter.start(count, false);
  }
  while (log.length < 50) {
    turn();
  }
  const took = log[49].at - log[1].at;
  assert.ok((48 * 5) / took > 0.4, `${(48 * 5) / took}`);
});

test('work that throws does not keep the rest from its turn', () => {
  let next = [];
  const done = [];
  const run = (work) => {
    done.push(work);
    assert.notEqual(work, 'throws');
  };
  const starter = new Starter(run, () => done.length, (turn) => next.push(turn));
  ['throws', 'second', 'third'].forEach((work) => starter.start(work, false));
  for (let turns = 0; turns < 20; turns += 1) {
    const turning = next;
    next = [];
    for (const turn of turning) {
      try {
        turn();
      } catch {
        // As a handler of `uncaughtException` would.
      }
    }
  }
  assert.deepEqual(done, ['throws', 'second', 'third']);
});

test('short pieces of work share a turn, and a calm loop starts them at once', () => {
  const { starter, turn, log, idle } = loop({ waiting: 0, perTurn: 0, workMs: 0.1, seeMs: 0 });
  starter.start('at once', true);
  assert.equal(log.length, 1);
  for (let count = 0; count < 10; count += 1) {
    starter.start(count, false);
  }
  let turns = 0;
  while (!idle()) {
    turn();
    turns += 1;
  }
  assert.equal(log.length, 11);
  assert.ok(turns <= 4, `${turns} turns`);
});

const TABLE = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0BB8 00000000:0000 0A 00000000:0000002A 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 00000000:0BB9 00000000:0000 0A 00000000:00000001 00:00000000 00000000     0        0 2 1 0 100 0 0 10 0
   2: 0100007F:0BB8 0100007F:C350 01 00000000:000000FF 00:00000000 00000000     0        0 3 1 0 20 4 30 10 -1
`;

test('the queue of the kernel is read of the listening socket only', () => {
  assert.equal(waitingIn(TABLE, 3000), 42);
  assert.equal(waitingIn(TABLE, 3001), 1);
  assert.equal(waitingIn(TABLE, 80), undefined);
  fc.assert(fc.property(fc.string(), (text) => typeof waitingIn(text, 80) !== 'string'), { seed: 1 });
});

test('connections that are not accepted yet are seen where the platform shows them', async () => {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const seen = acceptQueue(server.address());
  assert.equal(seen, process.platform === 'linux' ? 0 : undefined);
  server.close();
});

test('a table is read until its listening sockets are over, in whole lines', () => {
  const [head, ...lines] = TABLE.trimEnd().split('\n');
  const read = (pieces) => listeningIn(() => pieces.shift() ?? '');
  const parts = [`${head}\n${lines[0].slice(0, 40)}`, `${lines[0].slice(40)}\n`, `${lines[1]}\n`, `${lines[2]}\n`, 'not wanted'];
  const left = [...parts];
  const table = read(left);
  assert.equal(waitingIn(table, 3000), 42);
  assert.equal(waitingIn(table, 3001), 1);
  assert.deepEqual(left, ['not wanted']);
  assert.equal(waitingIn(read(parts.slice(0, 1)), 3000), undefined, 'half a line');
  const endless = `${lines[0]}\n`;
  assert.ok(listeningIn(() => endless).length < 200_000);
});

test('more listening sockets than one page of the table holds', async () => {
  const servers = Array.from({ length: 80 }, () => createServer());
  await Promise.all(servers.map((server) => new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))));
  const seen = servers.map((server) => acceptQueue(server.address()));
  servers.forEach((server) => server.close());
  assert.deepEqual(new Set(seen), new Set([process.platform === 'linux' ? 0 : undefined]));
});

test('a timer that fires a little early ends its window, and no lateness is left of a watch that ended', () => {
  const watch = new LoopWatch();
  const windows = [];
  const listener = (window) => windows.push(window);
  watch.follow(listener);
  const { begun } = watch;
  watch.look(begun + 249.3);
  assert.equal(windows.length, 1, 'it would have been taken for half a window late at the next');
  watch.look(begun + 249.3 + 900);
  assert.ok(watch.window().late > 600);
  watch.unfollow(listener);
  assert.equal(watch.window().late, 0);
  watch.look(begun + 10_000);
  assert.equal(windows.length, 2, 'somebody looked after the end');
});

test('the timer of a window is due from where the last one ended, whoever ended that', () => {
  const watch = new LoopWatch();
  const listener = () => {};
  watch.follow(listener);
  let refreshed = 0;
  const { timer } = watch;
  const refresh = timer.refresh.bind(timer);
  timer.refresh = () => ((refreshed += 1), refresh());
  watch.look(watch.begun + 100);
  assert.equal(refreshed, 0);
  watch.look(watch.begun + 250);
  assert.equal(refreshed, 1);
  watch.unfollow(listener);
});
