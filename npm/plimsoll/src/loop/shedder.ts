// What the event loop itself says: a share of new requests is refused while the loop is busy all the time and late, although
// the limit on requests in flight is kept: work that goes on after the answer, or that belongs to no request. Pure.

/** What was seen of the loop in one window. */
export interface Window {
  /** Share of the time in which the loop did not wait for events. */
  readonly utilisation: number;
  /** How late the loop was, in milliseconds: the 99th percentile. */
  readonly late: number;
  /** The longest collection of garbage, in milliseconds. */
  readonly collected: number;
}

/** Below it the loop has time left, however late it is now and then: one long computation is no overload. */
const BUSY = 0.9;
/** Windows that are looked back on, and how many of them must be bad: one burst or pause is no overload. */
const LOOK_BACK = 3;
const BAD_LEAST = 2;
/** The share that passes is never less, or nothing would be known of a recovery. */
const PASS_LEAST = 0.05;
/** What passes may at most halve, and grow by a tenth and two hundredths, in a window. */
const FALL_MOST = 0.5;
const RISE = 1.1;
const RISE_LEAST = 0.02;
/** A loop that catches up by so much in a window is refused enough already. */
const CATCHES_UP = 0.9;

/** How late the loop was without the garbage collector, whose pauses pass by themselves. */
export function lateness(window: Window): number {
  return Math.max(window.late - window.collected, 0);
}

export class LoopShedder {
  private readonly bad: boolean[] = [];
  private lateBefore = 0;
  /** Share of requests that pass. */
  pass = 1;
  private readonly credit = [1, 1, 1, 1];

  /** `lateMost` in milliseconds: the loop is late beyond it. */
  constructor(private readonly lateMost: number) {}

  see(window: Window): void {
    const late = lateness(window);
    const isBad = window.utilisation >= BUSY && late > this.lateMost;
    this.bad.push(isBad);
    if (this.bad.length > LOOK_BACK) {
      this.bad.shift();
    }
    const isOverloaded = this.bad.filter(Boolean).length >= BAD_LEAST;
    const catchesUp = late < CATCHES_UP * this.lateBefore;
    this.lateBefore = late;
    if (isBad && isOverloaded && !catchesUp) {
      // In proportion: a loop that is twice as late as it may be has about that much too much to do. The root, because
      // what is late now was let in some windows ago.
      const factor = Math.max(Math.sqrt(this.lateMost / late), FALL_MOST);
      this.pass = Math.max(this.pass * factor, PASS_LEAST);
    } else if (!isBad) {
      this.pass = Math.min(this.pass * RISE + RISE_LEAST, 1);
    }
  }

  /** Whether the next request of the class at this place passes: evenly spread, and of the critical class always. */
  passes(place: number): boolean {
    if (this.pass >= 1 || place === 0) {
      return true;
    }
    const credit = (this.credit[place] ?? 0) + this.pass;
    const passes = credit >= 1;
    this.credit[place] = passes ? credit - 1 : credit;
    return passes;
  }
}
