// The late brake: when most answers find their client gone, the limit is far too high, whatever its slope; or the service
// stands still, and then the limit was right and is again when it goes on. Port of `half_load/brake.rs`.

import type { Ended } from './limit.js';

/** Answers that a batch has at least. */
const BATCH_LEAST = 8;
/** Share of late answers beyond which it brakes. A smaller one brakes slow services to death. */
const LATE_RATIO = 0.5;
/** Up to this share of late answers a limit did well. */
const FINE_RATIO = 0.1;
/** Of the late ones, so many saw nobody else served either: it stands still. */
const STILL_RATIO = 0.8;
/** A limit that was taken up so lately and is too high again was perhaps no standstill's: less of it is taken up the next time. */
const TAKEN_UP_LATELY = 10_000;
const LESS = 0.6;
/** After a standstill, work that nobody waits for any more is done first, and others are late for it. */
const AFTERMATH = 3_000;

/** What the limit has to do: fall now; fall, for it was `fine` and is to be taken up when the service goes on; take it up. */
export type Verdict = 'nothing' | 'fall' | 'takeUp' | { readonly fine: number };

export class Brake {
  private answers = 0;
  private late = 0;
  /** Late ones of a standstill. */
  private still = 0;
  private last: number | undefined;
  private served: number | undefined;
  /** The limit under which the last batch did well. */
  private fineLimit: number | undefined;
  /** It braked in a standstill. */
  private isHeld = false;
  /** When it stood still last. */
  private stood = -Infinity;
  private takenUp: number | undefined;

  /** It says nothing of how long work takes: nobody at all was served in the second half of its stay, or a moment ago nobody was. */
  isOfStandstill(now: number, took: number, ended: Ended): boolean {
    return ended === 'left' && (this.sawNobodyServed(now, took, ended) || this.isAftermath(now));
  }

  private sawNobodyServed(now: number, took: number, ended: Ended): boolean {
    return ended === 'left' && (this.served === undefined || now - this.served >= took / 2);
  }

  private isAftermath(now: number): boolean {
    return now - this.stood <= AFTERMATH;
  }

  /** It falls at most once in `pause` seconds. */
  answered(now: number, took: number, ended: Ended, limit: number, pause: number): Verdict {
    this.still += this.sawNobodyServed(now, took, ended) ? 1 : 0;
    if (ended === 'served') {
      this.served = now;
    }
    const batch = Math.max(limit, BATCH_LEAST);
    this.answers += 1;
    this.late += ended === 'left' ? 1 : 0;
    const isTooLate = this.late > LATE_RATIO * batch;
    if (!isTooLate && this.answers < batch) {
      return 'nothing';
    }
    const { late, still } = this;
    this.answers = this.late = this.still = 0;
    if (isTooLate) {
      return this.tooLate(now, limit, pause, still > STILL_RATIO * late);
    }
    return late <= FINE_RATIO * batch ? this.fine(now, limit) : 'nothing';
  }

  private tooLate(now: number, limit: number, pause: number, isStill: boolean): Verdict {
    if (this.last !== undefined && (now - this.last) / 1e3 < pause) {
      return 'nothing';
    }
    this.last = now;
    if (isStill) {
      this.stood = now;
    }
    if (!this.isAftermath(now)) {
      this.isHeld = false;
      return 'fall';
    }
    if (this.isHeld) {
      return 'fall';
    }
    const wasTakenUp = this.takenUp !== undefined && now - this.takenUp < TAKEN_UP_LATELY;
    const fine = isStill && this.fineLimit !== undefined ? Math.min(this.fineLimit, limit) : undefined;
    const held = wasTakenUp ? LESS * limit : fine;
    this.isHeld = held !== undefined;
    return held === undefined ? 'fall' : { fine: held };
  }

  private fine(now: number, limit: number): Verdict {
    if (this.isHeld) {
      this.isHeld = false;
      this.takenUp = now;
      return 'takeUp';
    }
    this.fineLimit = limit;
    return 'nothing';
  }
}
