// What is counted between two changes of the limit, once the change has settled. Port of `half_load/epoch.rs`.

import type { Ended } from './limit.js';

/** A finished epoch. */
export interface Measured {
  /** Logarithm of goodput per second. */
  readonly logGoodput: number;
  readonly served: number;
  readonly answers: number;
  readonly failedRatio: number;
  readonly inFlight: number;
}

/** Answers under one limit, from when what the limit before it let in is gone. */
export class Epoch {
  /** When counting began. */
  private from: number | undefined;
  private served = 0;
  private answersSeen = 0;
  private failed = 0;
  /** Milliseconds × requests in flight, until `integrated`. */
  private inFlightTime = 0;
  private integrated = 0;

  constructor(private readonly changed: number) {}

  /** Before anything changes at `now`: so many were in flight until then, under this limit. `settle` is in seconds. */
  pass(now: number, inFlight: number, limit: number, settle: number): void {
    if (this.from !== undefined) {
      this.inFlightTime += (now - this.integrated) * inFlight;
      this.integrated = now;
    } else if (inFlight <= limit && (now - this.changed) / 1e3 >= settle) {
      this.from = now;
      this.integrated = now;
    }
  }

  count(ended: Ended): void {
    if (this.from !== undefined) {
      this.answersSeen += 1;
      this.served += ended === 'served' ? 1 : 0;
      this.failed += ended === 'failed' ? 1 : 0;
    }
  }

  answers(): number {
    return this.answersSeen;
  }

  /** Nothing if counting has not begun, or nothing was in flight. */
  measured(now: number): Measured | undefined {
    if (this.from === undefined || now <= this.from) {
      return undefined;
    }
    const inFlight = this.inFlightTime / (now - this.from);
    if (inFlight <= 0) {
      return undefined;
    }
    return {
      logGoodput: Math.log((this.served + 0.5) / ((now - this.from) / 1e3)),
      served: this.served,
      answers: this.answersSeen,
      failedRatio: this.answersSeen > 0 ? this.failed / this.answersSeen : 0,
      inFlight,
    };
  }
}
