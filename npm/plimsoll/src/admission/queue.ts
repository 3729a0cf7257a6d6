// Who waits for a permit, by class, and how many may: enough that the service hardly ever idles, at the overload that was
// measured. Port of `admission/queue.rs` (without tenants) and `admission/queue/size.rs`.

import { CLASSES, floorOf } from './classes.js';

/** One request on its way. */
export interface Guest {
  readonly place: number;
  readonly arrived: number;
  /** When it was let through. */
  admitted: number | undefined;
  /** Out of the queue, whatever became of it. */
  isGone: boolean;
}

/** First in, first out; whoever leaves in the middle is only marked. */
class Line<G extends Guest> {
  private guests: G[] = [];
  private head = 0;
  length = 0;

  push(guest: G): void {
    this.guests.push(guest);
    this.length += 1;
  }

  /** The oldest, which stays. */
  first(): G | undefined {
    while (this.guests[this.head]?.isGone) {
      this.head += 1;
    }
    if (this.head > 64 && this.head * 2 > this.guests.length) {
      this.guests = this.guests.slice(this.head);
      this.head = 0;
    }
    return this.guests[this.head];
  }

  private last(): G | undefined {
    while (this.guests.length > this.head && this.guests[this.guests.length - 1]?.isGone) {
      this.guests.pop();
    }
    return this.guests[this.guests.length - 1];
  }

  take(newest: boolean): G | undefined {
    const guest = this.length === 0 ? undefined : newest ? this.last() : this.first();
    if (guest !== undefined) {
      this.remove(guest);
    }
    return guest;
  }

  remove(guest: G): void {
    guest.isGone = true;
    this.length -= 1;
    if (this.length === 0) {
      this.guests = [];
      this.head = 0;
    }
  }
}

export class Queue<G extends Guest> {
  private readonly lines = CLASSES.map(() => new Line<G>());
  length = 0;

  has(place: number): boolean {
    return (this.lines[place]?.length ?? 0) > 0;
  }

  push(guest: G): void {
    this.lines[guest.place]?.push(guest);
    this.length += 1;
  }

  next(place: number, newest: boolean): G | undefined {
    return this.counted(this.lines[place]?.take(newest));
  }

  private counted(guest: G | undefined): G | undefined {
    this.length -= guest === undefined ? 0 : 1;
    return guest;
  }

  /** The one that goes when too many wait, if there is one: of the least important class that has more than it is owed, the one
   * that would be served last. Of the most important, so many `urgent` ones are never too many. */
  pushOut(slots: number, urgent: number, newestFirst: boolean): G | undefined {
    for (let place = CLASSES.length - 1; place >= 0; place -= 1) {
      const line = this.lines[place];
      if (line !== undefined && line.length > this.owed(place, slots, urgent)) {
        return this.counted(line.take(!newestFirst));
      }
    }
    return undefined;
  }

  /** How many of so many places a class may keep: its floor, and the most important what the others leave, one and the
   * urgent at least. Where places are few, that is a few more than there are. */
  private owed(place: number, slots: number, urgent: number): number {
    if (place > 0) {
      return Math.ceil(floorOf(place) * slots);
    }
    let left = slots;
    for (let other = 1; other < CLASSES.length; other += 1) {
      left -= this.has(other) ? Math.ceil(floorOf(other) * slots) : 0;
    }
    return Math.max(left, slots === 0 ? 0 : Math.max(urgent, 1));
  }

  /** One that has waited for `patience`. */
  expired(now: number, patience: number): G | undefined {
    for (const line of this.lines) {
      const oldest = line.first();
      if (oldest !== undefined && now - oldest.arrived >= patience) {
        return this.counted(line.take(false));
      }
    }
    return undefined;
  }

  /** Its client has left. */
  remove(guest: G): void {
    this.lines[guest.place]?.remove(guest);
    this.length -= 1;
  }
}

const WINDOW = 500;
const SMOOTHING = 0.3;
/** Of so many times as many arrivals as before the first window is believed. */
const JUMP = 2;
/** Share of time without work that is put up with. */
const IDLE = 0.02;
/** For arrivals and services that vary more than those of the formula. */
const VARIABILITY = 4;
const RATIO_LEAST = 1.002;
/** Up to here what is admitted says what was asked for, not what can be done: nothing to size a queue by. */
const NOT_OVERLOADED = 1.05;
/** Somebody waits for a larger part of a window only in an overload: a burst is done, or refused, after the longest wait. */
const BURST_AT_MOST = 0.6;
/** Of one window this is believed only if so many times as much arrives as is let in: after a pause of the loop a fast service
 * has as much to make up for, and those that wait for it shall not be sent away. */
const AT_ONCE = 2;
/** So much of an overload is believed after a window without one. */
const CALM_LEAVES = 0.5;
/** Somebody waits for all of a window. */
const FULL = 0.95;
/** What remains of the best rate after a window of an overload that let in less. */
const BEST_FADES = 0.98;
/** So many times as much arrives as is let in: whoever is let in, others are there at once. Then those that wait in vain shall
 * know it after so many seconds. */
const HEAVY = 4;
const IN_VAIN = 0.004;
/** For a burst that finds a service idle: about what `slotsFor` gives where nothing is refused. The patience bounds the wait. */
const SLOTS_FIRST = 190;

export class Size {
  private isFirst = true;
  /** For so long somebody has waited in this window, and since when somebody does now. */
  private waited = 0;
  private waitingSince: number | undefined;
  private arrivals = 0;
  private admissions = 0;
  /** Windows in a row in which somebody waited for most of the time. */
  private waitingWindows = 0;
  private fullWindows = 0;
  private arrivedPerSecond = 0;
  admittedPerSecond = 0;
  /** The most that was let in per second while somebody always waited; fades in overloads that let in less. */
  bestPerSecond: number | undefined;
  slots = SLOTS_FIRST;

  /** `patience` is the longest wait. */
  constructor(private begun: number, private readonly patience: number) {}

  arrived(): void {
    this.arrivals += 1;
  }

  admitted(): void {
    this.admissions += 1;
  }

  /** Somebody waits now, or nobody does. */
  queueIs(now: number, isEmpty: boolean): void {
    if (this.waitingSince !== undefined) {
      this.waited += now - this.waitingSince;
    }
    this.waitingSince = isEmpty ? undefined : now;
  }

  /** Arrivals over admissions. */
  ratio(): number {
    return Math.max(this.arrivedPerSecond / Math.max(this.admittedPerSecond, 1e-9), RATIO_LEAST);
  }

  /** More arrives than can be done, and not for a moment only. */
  isOverload(): boolean {
    return this.ratio() > NOT_OVERLOADED;
  }

  pass(now: number): void {
    if (now - this.begun < WINDOW) {
      return;
    }
    const seconds = (now - this.begun) / 1e3;
    this.queueIs(now, this.waitingSince === undefined);
    const hasWaited = this.waited > BURST_AT_MOST * (now - this.begun);
    if (this.isBelieved(hasWaited)) {
      const isJump = this.arrivals > JUMP * this.arrivedPerSecond * seconds;
      const weight = this.isFirst || isJump ? 1 : SMOOTHING;
      this.isFirst = false;
      this.arrivedPerSecond += weight * (this.arrivals / seconds - this.arrivedPerSecond);
      this.admittedPerSecond += weight * (this.admissions / seconds - this.admittedPerSecond);
    } else if (!hasWaited) {
      // A burst at most: what was admitted then is no measure of what can be, and an overload is over soon.
      const excess = CALM_LEAVES * (this.ratio() - RATIO_LEAST);
      this.arrivedPerSecond = this.admittedPerSecond * (RATIO_LEAST + excess);
    }
    this.measureBest(this.admissions / seconds, this.waited > FULL * (now - this.begun));
    this.waited = 0;
    this.begun = now;
    this.arrivals = 0;
    this.admissions = 0;
    this.slots = Math.max(Math.floor(this.wanted()), 1);
  }

  private isBelieved(hasWaited: boolean): boolean {
    this.waitingWindows = hasWaited ? this.waitingWindows + 1 : 0;
    return this.waitingWindows >= 2 || (hasWaited && this.arrivals >= AT_ONCE * this.admissions);
  }

  private measureBest(perSecond: number, isFull: boolean): void {
    this.fullWindows = isFull ? this.fullWindows + 1 : 0;
    const best = this.bestPerSecond;
    // A pause of the service, and what has to be made up for after it, are over sooner; a standstill shows nothing.
    if (this.fullWindows >= 2 && perSecond > 0) {
      this.bestPerSecond = Math.max(perSecond, BEST_FADES * (best ?? 0));
    } else if (best !== undefined) {
      this.bestPerSecond = Math.max(perSecond, best);
    }
  }

  private wanted(): number {
    const ratio = this.ratio();
    let wanted = slotsFor(ratio);
    if (this.isOverload()) {
      wanted = Math.min(wanted, (this.patience / 1e3) * this.admittedPerSecond);
    }
    if (ratio > HEAVY) {
      const inVainPerSecond = this.arrivedPerSecond - this.admittedPerSecond;
      wanted = Math.min(wanted, Math.max(IN_VAIN * inVainPerSecond, wanted / VARIABILITY));
    }
    return wanted;
  }
}

/** For so many arrivals per admission: where a queue that is born and dies idles so little. */
export function slotsFor(ratio: number): number {
  return (VARIABILITY * Math.log1p((ratio - 1) / IDLE)) / Math.log(ratio);
}
