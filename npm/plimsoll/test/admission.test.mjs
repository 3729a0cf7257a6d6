// Laws of admission that hold whatever arrives. Time is passed in.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Admission } from '../dist/admission/admission.js';
import { CLASSES, classOf } from '../dist/admission/classes.js';
import { HalfLoad } from '../dist/admission/half-load.js';
import { Fixed } from '../dist/admission/limit.js';
import { Mean } from '../dist/admission/mean.js';
import { Size, slotsFor } from '../dist/admission/queue.js';

const PATIENCE = 250;
const ENDS = ['served', 'left', 'failed'];

/** An admission and all that it decided. */
function outside(rule) {
  const seen = { admitted: [], refused: [], decided: new Set() };
  const decide = (guest) => {
    assert.ok(!seen.decided.has(guest), 'decided twice');
    seen.decided.add(guest);
  };
  const host = {
    admitted: (guest) => (decide(guest), seen.admitted.push(guest)),
    refused: (guest) => (decide(guest), seen.refused.push(guest)),
  };
  const admission = new Admission(rule, PATIENCE, host, 0);
  const arrives = (now, place = 1) => {
    const guest = { place, arrived: now, admitted: undefined, isGone: false };
    admission.arrives(now, guest);
    return guest;
  };
  return { admission, seen, arrives };
}

const act = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('arrive'), which: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('leave'), which: fc.nat(1_000) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('end'), which: fc.nat(1_000) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('pass'), which: fc.nat(400) }) },
);

for (const [name, rule] of [['fixed', () => new Fixed(3)], ['half-load', () => new HalfLoad(0, 12_345)]]) {
  test(`nobody is lost, decided twice, or in beyond the limit: ${name}`, () => {
    fc.assert(
      fc.property(fc.array(act, { maxLength: 400 }), (acts) => {
        const limit = rule();
        const { admission, seen, arrives } = outside(limit);
        const guests = [];
        let now = 0;
        let leftWaiting = 0;
        for (const { kind, which } of acts) {
          const before = admission.inFlight;
          if (kind === 'arrive') {
            guests.push(arrives(now, which));
          } else if (kind === 'pass') {
            now += which;
            admission.turn(now);
          } else if (kind === 'end') {
            const flying = guests.filter((guest) => guest.admitted !== undefined);
            if (flying.length > 0) {
              admission.ended(now, flying[which % flying.length], ENDS[which % 3]);
            }
          } else {
            const waiting = guests.filter((guest) => !guest.isGone);
            if (waiting.length > 0) {
              assert.ok(admission.left(now, waiting[which % waiting.length]));
              leftWaiting += 1;
            }
          }
          // A limit that fell lets nobody in until enough are out.
          assert.ok(admission.inFlight <= Math.max(before, limit.limit()), 'too many in flight');
          const waiting = guests.filter((guest) => !guest.isGone);
          assert.equal(waiting.length, admission.waiting());
          assert.equal(seen.decided.size + leftWaiting + waiting.length, guests.length);
          assert.ok(waiting.length === 0 || admission.inFlight >= limit.limit(), 'somebody waits beside a free permit');
        }
        // All that wait are decided in the end, and no permit is kept for ever.
        for (const guest of guests) {
          admission.ended(now, guest, 'served');
        }
        admission.turn(now + PATIENCE);
        for (const guest of guests) {
          admission.ended(now + PATIENCE, guest, 'served');
        }
        admission.turn(now + 1e9);
        assert.equal(admission.waiting(), 0);
        for (const guest of guests) {
          admission.ended(now + 1e9, guest, 'served');
        }
        assert.equal(admission.inFlight, 0);
      }),
      { numRuns: 300, seed: 7 },
    );
  });
}

test('nobody waits longer than the patience', () => {
  const { admission, seen, arrives } = outside(new Fixed(1));
  arrives(0);
  const second = arrives(10);
  admission.turn(10 + PATIENCE - 1);
  assert.equal(seen.refused.length, 0);
  admission.turn(10 + PATIENCE);
  assert.deepEqual(seen.refused, [second]);
});

test('the critical go first, and every class that waits has its floor', () => {
  const { admission, seen, arrives } = outside(new Fixed(1));
  for (let now = 0; now < 20_000; now += 1) {
    arrives(now, now % CLASSES.length);
    if (now % 10 === 0) {
      const flying = seen.admitted.find((guest) => guest.admitted !== undefined);
      admission.ended(now, flying, 'served');
    }
  }
  const shares = CLASSES.map((_, place) => seen.admitted.filter((guest) => guest.place === place).length / seen.admitted.length);
  assert.ok(shares[0] > 0.5, `${shares}`);
  for (const [place, floor] of [[1, 0.25], [2, 0.1], [3, 0.05]]) {
    assert.ok(shares[place] > 0.8 * floor, `${CLASSES[place]}: ${shares}`);
  }
});

test('an unknown class is the default one', () => {
  assert.deepEqual(['critical', 'background', 'root', undefined, 7].map(classOf), [0, 3, 1, 1, 1]);
});

test('the more too much arrives, the fewer need to wait', () => {
  assert.deepEqual([1.002, 1.2, 2, 5, 10].map((ratio) => Math.floor(slotsFor(ratio))), [190, 52, 22, 13, 10]);
});

test('the queue is bounded by time where requests are turned away, and somebody may always wait', () => {
  const size = new Size(0, PATIENCE);
  size.queueIs(0, false);
  for (let count = 0; count < 8; count += 1) {
    size.arrived();
  }
  for (let count = 0; count < 4; count += 1) {
    size.admitted();
  }
  size.pass(1_000);
  assert.equal(size.slots, 1);
});

test('an overload that is over is forgotten', () => {
  const size = new Size(0, PATIENCE);
  size.queueIs(0, false);
  for (let count = 0; count < 100; count += 1) {
    size.arrived();
    if (count < 40) {
      size.admitted();
    }
  }
  size.pass(500);
  size.queueIs(500, true);
  assert.ok(size.slots <= 20);
  for (let now = 1_000; now <= 3_500; now += 500) {
    size.pass(now);
  }
  assert.ok(size.slots > 60, `${size.slots}`);
});

test('a burst that finds the service idle is not refused', () => {
  const { admission, seen, arrives } = outside(new HalfLoad(0, 0));
  admission.turn(5_000);
  for (let count = 0; count < 40; count += 1) {
    arrives(5_000);
  }
  for (let now = 5_005; admission.inFlight > 0; now += 5) {
    admission.ended(now, seen.admitted.find((guest) => guest.admitted !== undefined), 'served');
  }
  assert.equal(seen.refused.length, 0);
  assert.equal(admission.counts.served, 40);
});

test('all that came while the loop stood still is done', () => {
  const { admission, seen, arrives } = outside(new Fixed(16));
  const flying = [];
  const end = (now) => {
    for (const guest of flying.splice(0)) {
      admission.ended(now, guest, 'served');
    }
    flying.push(...seen.admitted.splice(0));
  };
  let now = 0;
  for (let turn = 0; turn < 125; turn += 1, now += 1.5) {
    for (let count = 0; count < 16; count += 1) {
      arrives(now);
    }
    end(now + 1.5);
  }
  // Fifty milliseconds of some eight thousand a second, and sixteen are done every one and a half.
  for (let count = 0; count < 400; count += 1) {
    arrives(now);
  }
  for (let turn = 0; turn < 40; turn += 1, now += 1.5) {
    end(now);
  }
  assert.equal(seen.refused.length, 0);
  assert.equal(admission.counts.served, 2_400);
});

test('a pause of a fast service leaves its mean, and a change does not', () => {
  const mean = new Mean(0);
  let now = 0;
  const add = (count, took) => {
    for (let index = 0; index < count; index += 1) {
      now += 0.1;
      mean.add(now, took);
    }
  };
  add(100_000, 1);
  add(300, 10);
  assert.ok(mean.value < 1.2, `${mean.value}`);
  add(200_000, 10);
  assert.ok(mean.value > 9, `${mean.value}`);
});

test('half a second in which somebody waits is no overload yet', () => {
  const size = new Size(0, PATIENCE);
  let now = 0;
  const window = (isCalm) => {
    size.queueIs(now, isCalm);
    for (let count = 0; count < 130; count += 1) {
      size.arrived();
      if (count < 100) {
        size.admitted();
      }
    }
    now += 500;
    size.pass(now);
    return size.ratio();
  };
  assert.ok(window(false) < 1.05);
  assert.ok(Math.abs(window(false) - 1.3) < 1e-9);
  const calmer = window(true);
  assert.ok(Math.abs(window(false) - calmer) < 1e-9);
  assert.ok(window(false) > calmer);
});

test('who would wait in vain is refused at once, and not who came before', () => {
  const { admission, seen, arrives } = outside(new HalfLoad(0, 0));
  for (let count = 0; count < 50; count += 1) {
    const guest = arrives(100 * count);
    admission.ended(100 * count + 50, guest, 'served');
  }
  // Four at once of 50 ms each: some twenty can be done in a quarter of a second.
  const burst = Array.from({ length: 200 }, () => arrives(10_000));
  assert.ok(seen.refused.length >= 160 && seen.refused.length <= 180, `${seen.refused.length}`);
  assert.deepEqual(new Set(seen.refused), new Set(burst.slice(-seen.refused.length)));
});

/** Four at once of 10 ms each, and at each millisecond whoever `comes`. */
function played(milliseconds, comes) {
  const outer = outside(new Fixed(4));
  const { admission, seen, arrives } = outer;
  const flying = [];
  let most = 0;
  for (let now = 0; now < milliseconds; now += 1) {
    while (flying.length > 0 && flying[0].admitted + 10 <= now) {
      admission.ended(now, flying.shift(), 'served');
      flying.push(...seen.admitted.splice(0));
    }
    admission.turn(now);
    comes(now).forEach((place) => arrives(now, place));
    flying.push(...seen.admitted.splice(0));
    most = now > milliseconds / 2 ? Math.max(most, admission.waiting()) : 0;
  }
  return { ...outer, most };
}

test('a burst of the most important is not refused because too much else arrives for long', () => {
  const { seen } = played(4_000, (now) => [1, 1, 1, 1, ...Array.from({ length: now === 3_500 ? 60 : 0 }, () => 0)]);
  assert.ok(seen.refused.length > 5_000);
  assert.deepEqual(seen.refused.filter(({ place }) => place === 0), []);
});

test('the most important do not wait in larger numbers where they alone are more than can be done', () => {
  const { most } = played(8_000, () => [0, 0, 0, 0]);
  assert.ok(most < 40, `${most} wait`);
});

test('saturation fades while nothing passes the time on, although somebody was refused last', () => {
  const { admission, seen, arrives } = outside(new Fixed(1));
  for (let now = 0; now < 3_000; now += 10) {
    arrives(now);
    admission.turn(now);
  }
  assert.ok(admission.saturation() > 0.9);
  const now = 3_000;
  admission.turn(now);
  for (let flying; (flying = seen.admitted.find((guest) => guest.admitted !== undefined)) !== undefined; ) {
    admission.ended(now, flying, 'served');
  }
  assert.equal(admission.inFlight, 0);
  admission.counts.refusedFull += 1;
  admission.passTime(now + 10_000);
  assert.ok(admission.saturation() < 0.01, `${admission.saturation()}`);
});

test('a dry run takes back who still waited, and counts nobody as gone', () => {
  const { admission, arrives } = outside(new Fixed(1));
  const [first, second] = [arrives(0), arrives(0)];
  assert.equal(admission.withdrawn(1, second), true);
  assert.equal(admission.withdrawn(1, second), true);
  assert.equal(admission.withdrawn(1, first), false);
  admission.ended(2, first, 'served');
  const { withdrawn, leftWaiting } = admission.counts;
  assert.deepEqual([withdrawn, leftWaiting, admission.waiting(), admission.inFlight], [1, 0, 0, 0]);
});

test('a pause of the service at half load refuses nobody', () => {
  const { admission, seen, arrives } = outside(new Fixed(8));
  // Eight at once of 20 ms: 400 a second; every 5 ms somebody comes, and from 2 s on nothing is done for 200 ms.
  const flying = [];
  for (let now = 0; now < 6_000; now += 1) {
    if (now % 5 === 0) {
      arrives(now);
    }
    const stands = now % 2_000 < 200 && now >= 2_000;
    for (const guest of seen.admitted.splice(0)) {
      flying.push({ guest, left: 20 });
    }
    for (const entry of stands ? [] : [...flying]) {
      entry.left -= 1;
      if (entry.left === 0) {
        flying.splice(flying.indexOf(entry), 1);
        admission.ended(now, entry.guest, 'served');
      }
    }
    admission.turn(now);
  }
  assert.equal(seen.refused.length, 0);
  assert.ok(admission.counts.served > 1_150, `${admission.counts.served}`);
});

test('clients that go before an answer could come cost the others nothing', () => {
  const { admission, seen, arrives } = outside(new HalfLoad(0, 0));
  const patient = [];
  const hasty = [];
  for (let now = 1; now < 20_000; now += 1) {
    if (now % 25 === 0) {
      patient.push(arrives(now));
    }
    if (now > 3_000 && now % 7 === 0) {
      hasty.push(arrives(now));
    }
    for (const guest of seen.admitted) {
      if (guest.admitted !== undefined && now >= guest.admitted + 30) {
        admission.ended(now, guest, 'served');
      }
    }
    for (const guest of hasty.filter(({ arrived }) => now === arrived + 15)) {
      if (!admission.left(now, guest)) {
        admission.ended(now, guest, 'left');
      }
    }
    admission.turn(now);
  }
  const refused = patient.filter((guest) => seen.refused.includes(guest));
  assert.ok(refused.length < 0.01 * patient.length, `${refused.length} of ${patient.length}, limit ${admission.limit()}`);
});
