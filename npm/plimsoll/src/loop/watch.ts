// Looks at this thread's event loop in windows of a quarter of a second: utilisation in the window itself (not since the
// start), lateness and garbage collections. One per thread, however many instances there are.

import { monitorEventLoopDelay, performance, PerformanceObserver } from 'node:perf_hooks';
import type { EventLoopUtilization, IntervalHistogram } from 'node:perf_hooks';
import type { Window } from './shedder.js';

const WINDOW = 250;
/** Timers count whole milliseconds and fire up to one too early. To wait for the next would look as if the loop was late by
 * a window. */
const SHORT = 2;
/** The histogram's timer: what it shows is late by so much when nothing is late. */
const RESOLUTION = 10;

/** Nothing was seen yet. */
const STILL: Window = { utilisation: 0, late: 0, collected: 0 };

type Listener = (window: Window) => void;

export class LoopWatch {
  private readonly listeners = new Set<Listener>();
  private histogram: IntervalHistogram | undefined;
  private collections: PerformanceObserver | undefined;
  private timer: NodeJS.Timeout | undefined;
  private begun = 0;
  private used: EventLoopUtilization | undefined;
  private collected = 0;
  private last = STILL;

  follow(listener: Listener): void {
    this.listeners.add(listener);
    if (this.timer === undefined) {
      this.start();
    }
  }

  unfollow(listener: Listener): void {
    this.listeners.delete(listener);
    if (this.listeners.size === 0) {
      this.stop();
    }
  }

  private start(): void {
    this.histogram = monitorEventLoopDelay({ resolution: RESOLUTION });
    this.histogram.enable();
    this.collections = new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        this.collected = Math.max(this.collected, entry.duration);
      }
    });
    this.collections.observe({ entryTypes: ['gc'] });
    this.begun = performance.now();
    this.used = performance.eventLoopUtilization();
    this.timer = setTimeout(() => {
      this.look(performance.now());
      this.timer?.refresh();
    }, WINDOW);
    // It keeps no process alive.
    this.timer.unref();
  }

  private stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.histogram?.disable();
    this.histogram = undefined;
    this.collections?.disconnect();
    // What was seen last is no longer so.
    this.last = STILL;
    this.collected = 0;
  }

  /** Also called when requests arrive: a loop so late that its timers do not run must be seen all the same. */
  look(now: number): void {
    const length = now - this.begun;
    if (length < WINDOW - SHORT || this.histogram === undefined) {
      return;
    }
    const used = performance.eventLoopUtilization();
    const utilisation = performance.eventLoopUtilization(used, this.used).utilization;
    const percentile = this.histogram.count > 0 ? this.histogram.percentile(99) / 1e6 - RESOLUTION : 0;
    // A window longer than asked for: our own timer was late by that.
    const late = Math.max(percentile, length - WINDOW - RESOLUTION, 0);
    this.last = { utilisation, late, collected: this.collected };
    this.begun = now;
    this.used = used;
    // The timer is due a window from here, not from when it fired last.
    this.timer?.refresh();
    this.collected = 0;
    this.histogram.reset();
    for (const listener of this.listeners) {
      listener(this.last);
    }
  }

  /** The last window that is over. */
  window(): Window {
    return this.last;
  }
}

/** This thread's. */
export const loopWatch = new LoopWatch();
