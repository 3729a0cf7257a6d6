// Decides which requests are worked on, and when: limit, queue, priorities. Pure: time is passed in, in milliseconds.
// A port of the guard's admission without tenants, retry budget and learned timeouts, which belong in front of a service.

import { Floors } from './classes.js';
import { CriticalRate } from './critical-rate.js';
import type { Ended, Explained, Limit } from './limit.js';
import { Mean } from './mean.js';
import { Queue, Size, type Guest } from './queue.js';

/** Why a request was refused: too many wait, or it has waited as long as is worth waiting. */
export type Refusal = 'full' | 'waited';

/** Overloaded: more than this arrives per admission, and somebody has waited all the time for so long. Then the newest goes
 * first, because the oldest may be given up soon. */
const OVERLOADED = 1.2;
const OVERLOADED_SINCE = 1_000;
/** Of those that could be let in within the longest wait, so many times as many may wait: answers come faster than in the mean at
 * times. Once that was too few, and until nobody waits any more, it is no burst, and who waits shall be served. */
const BURST = 1.2;
const LASTING = 0.8;
/** Told of decisions, at once or later, always during a call of the admission. */
export interface Host<G extends Guest> {
  admitted(guest: G): void;
  refused(guest: G, refusal: Refusal): void;
}

export interface Counts {
  arrived: number;
  admitted: number;
  served: number;
  failed: number;
  /** Of those admitted: their clients left before the answer. */
  left: number;
  leftWaiting: number;
  /** Were answered, in a dry run, while they would have waited. */
  withdrawn: number;
  refusedFull: number;
  refusedWaited: number;
}

export class Admission<G extends Guest> {
  inFlight = 0;
  readonly counts: Counts = {
    arrived: 0,
    admitted: 0,
    served: 0,
    failed: 0,
    left: 0,
    leftWaiting: 0,
    withdrawn: 0,
    refusedFull: 0,
    refusedWaited: 0,
  };
  /** When permits of failed answers come back. */
  private readonly kept: number[] = [];
  private readonly queue = new Queue<G>();
  private readonly size: Size;
  private readonly floors = new Floors();
  private queuedSince: number | undefined;
  /** Time of good answers. */
  private readonly mean: Mean;
  /** Somebody found the queue full since it was empty last. */
  private wasFull = false;
  private readonly saturated: Saturation;
  private readonly critical: CriticalRate;

  constructor(
    private readonly rule: Limit,
    private readonly patience: number,
    private readonly host: Host<G>,
    now: number,
  ) {
    this.size = new Size(now, patience);
    this.mean = new Mean(now);
    this.saturated = new Saturation(now);
    this.critical = new CriticalRate(now);
  }

  arrives(now: number, guest: G): void {
    this.counts.arrived += 1;
    this.size.arrived();
    if (guest.place === 0) {
      this.critical.arrived();
    }
    if (this.isFull(now)) {
      // Time may have made room.
      this.turn(now);
    }
    const isFull = this.isFull(now);
    this.queue.push(guest);
    if (isFull) {
      this.wasFull = true;
      this.pushOut(this.queue.length, this.isNewestFirst(now));
    }
    this.turn(now);
  }

  /** A client that waits has left. False if its request had been let through: then `ended` reports the end of that. */
  left(now: number, guest: G): boolean {
    return this.leaves(now, guest, 'leftWaiting');
  }

  /** A request goes on without a permit, as those of a dry run do: nobody has given up. False as of `left`. */
  withdrawn(now: number, guest: G): boolean {
    return this.leaves(now, guest, 'withdrawn');
  }

  private leaves(now: number, guest: G, counted: 'leftWaiting' | 'withdrawn'): boolean {
    if (guest.admitted !== undefined) {
      return false;
    }
    if (!guest.isGone) {
      this.queue.remove(guest);
      this.counts[counted] += 1;
      this.lookAtQueue(now);
    }
    return true;
  }

  /** A request that was let through is over. */
  ended(now: number, guest: G, ended: Ended): void {
    if (guest.admitted === undefined) {
      return;
    }
    this.passTime(now);
    const began = guest.admitted;
    guest.admitted = undefined;
    this.rule.answered(now, now - began, ended);
    this.counts[ended] += 1;
    this.critical.completed();
    if (ended === 'served') {
      this.mean.add(now, now - began);
    }
    // A failed one may still be worked on; a service that fails fast would be sent the next at once.
    const until = ended === 'served' ? now : began + this.rule.keptAfterFailure();
    if (until > now) {
      this.kept.push(until);
    } else {
      this.inFlight -= 1;
    }
    this.serve(now);
  }

  /** Time has passed: permits come back, waits end, the limit moves. */
  turn(now: number): void {
    this.passTime(now);
    this.serve(now);
  }

  /** As `turn`, but nobody is let in or refused by it. */
  passTime(now: number): void {
    const turnedAway = this.refused() + this.counts.failed;
    this.rule.turn(now, this.inFlight, { arrived: this.counts.arrived, turnedAway });
    for (let at = this.kept.length - 1; at >= 0; at -= 1) {
      if ((this.kept[at] ?? 0) <= now) {
        this.kept.splice(at, 1);
        this.inFlight -= 1;
      }
    }
    this.size.pass(now);
    this.critical.pass(now);
    this.saturated.follow(now, this.inFlight / this.rule.limit(), this.refused());
  }

  private serve(now: number): void {
    let guest: G | undefined;
    while ((guest = this.queue.expired(now, this.patience)) !== undefined) {
      this.counts.refusedWaited += 1;
      this.host.refused(guest, 'waited');
    }
    const newest = this.isNewestFirst(now);
    while (this.inFlight < this.rule.limit() && this.queue.length > 0) {
      guest = this.queue.next(this.floors.next(now, (place) => this.queue.has(place)), newest);
      if (guest === undefined) {
        break;
      }
      this.admit(now, guest);
    }
    const slots = this.slots();
    while (this.queue.length > slots && this.pushOut(slots, newest));
    this.lookAtQueue(now);
  }

  private isNewestFirst(now: number): boolean {
    const isLong = this.queuedSince !== undefined && now - this.queuedSince > OVERLOADED_SINCE;
    return isLong && this.size.ratio() > OVERLOADED;
  }

  private pushOut(slots: number, newestFirst: boolean): boolean {
    const guest = this.queue.pushOut(slots, this.urgent(), newestFirst);
    if (guest === undefined) {
      return false;
    }
    this.counts.refusedFull += 1;
    this.host.refused(guest, 'full');
    return true;
  }

  /** Whoever waits behind those that wait already waits in vain, as long as the oldest go first. */
  private isFull(now: number): boolean {
    return this.queue.length >= this.servedInTime() && !this.isNewestFirst(now);
  }

  /** How many may wait. Without an overload it is a burst: as many as will be let in in time, however fast the service is. */
  private slots(): number {
    const { slots } = this.size;
    const isKnown = this.mean.value > 0 && !this.size.isOverload();
    return isKnown ? Math.max(slots, this.servedInTime()) : slots;
  }

  /** How many of the most important may wait although few places are enough to keep the service busy: they are served first, so
   * as many as will be let in in time. A queue is short where too much arrives for long; of these, too many arrive for a moment
   * only. Where they alone are more than can be done, there is nothing to be had by waiting. */
  private urgent(): number {
    return this.critical.perSecond > this.servedPerSecond() ? 0 : this.servedInTime();
  }

  /** How many of those that wait will be let in within the longest wait. */
  private servedInTime(): number {
    const inTime = (this.patience / 1e3) * this.servedPerSecond();
    return Math.max(Math.ceil((this.wasFull ? LASTING : BURST) * inTime), 1);
  }

  /** Nobody knows before the first answer, which is taken for no limit. */
  private servedPerSecond(): number {
    const mean = this.mean.value;
    const perSecond = mean > 0 ? (1e3 * this.rule.limit()) / mean : Infinity;
    return Math.min(perSecond, this.size.bestPerSecond ?? Infinity);
  }

  private admit(now: number, guest: G): void {
    guest.admitted = now;
    this.inFlight += 1;
    this.counts.admitted += 1;
    this.size.admitted();
    this.floors.gave(guest.place);
    this.host.admitted(guest);
  }

  private lookAtQueue(now: number): void {
    this.size.queueIs(now, this.queue.length === 0);
    if (this.queue.length === 0) {
      this.queuedSince = undefined;
      this.wasFull = false;
    } else {
      this.queuedSince ??= now;
    }
  }

  refused(): number {
    return this.counts.refusedFull + this.counts.refusedWaited;
  }

  waiting(): number {
    return this.queue.length;
  }

  /** The limit in force now, halved while it probes. */
  limit(): number {
    return this.rule.limit();
  }

  explain(): Explained {
    return this.rule.explain();
  }

  /** 0 to 1: how much of the limit is used, and 1 while requests are turned away; smoothed over a second. */
  saturation(): number {
    return this.saturated.value;
  }

  /** How long those that wait now will take to be let through, in seconds. */
  backlogSeconds(): number {
    const perSecond = this.size.admittedPerSecond;
    return perSecond > 0 ? this.queue.length / perSecond : 0;
  }
}

const STEP = 50;
const SMOOTHED = 1_000;

/** Port of `admission/saturation.rs`, for a host that passes no time on while nothing is in flight. */
class Saturation {
  private refused = 0;
  value = 0;

  constructor(private at: number) {}

  follow(now: number, used: number, refused: number): void {
    const past = now - this.at;
    if (past < STEP) {
      return;
    }
    // Whoever was refused was so in the first step: the rest of a long gap was idle, or a loop that did not turn.
    const full = refused > this.refused ? STEP : 0;
    this.at = now;
    this.refused = refused;
    this.pass(full, 1);
    this.pass(past - full, Math.min(used, 1));
  }

  private pass(time: number, seen: number): void {
    this.value += (1 - Math.exp(-time / SMOOTHED)) * (seen - this.value);
  }
}
