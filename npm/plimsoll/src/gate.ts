// The gate of one instance: takes requests, asks the admission, and starts or refuses them. Reads the clocks.

import { AsyncResource } from 'node:async_hooks';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { Admission, type Refusal } from './admission/admission.js';
import { classOf } from './admission/classes.js';
import { HalfLoad } from './admission/half-load.js';
import { Fixed, type Ended, type Limit } from './admission/limit.js';
import type { Guest } from './admission/queue.js';
import { refuse, retryAfter, sayLoad, type Reason } from './answer.js';
import { LoopShedder, type Window } from './loop/shedder.js';
import { Starter } from './loop/starter.js';
import { loopWatch } from './loop/watch.js';
import type { Settings } from './options.js';
import { isOver, whenOver } from './over.js';

/** While anybody waits or is in flight, time is passed on so often. */
const TICK = 5;
/** A loop that is busier than this starts work in turns of its own. */
const BUSY = 0.9;
/** So long after somebody had to wait the loop is not taken to be calm again. */
const CALM_AFTER = 1_000;

interface Entry extends Guest {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly work: () => void;
  isStarted: boolean;
  isDone: boolean;
  /** Where it came in, for what starts later. */
  context: AsyncResource | undefined;
}

export class Gate {
  readonly admission: Admission<Entry>;
  private readonly rule: Limit;
  private readonly shedder: LoopShedder;
  private readonly starter: Starter<Entry>;
  private readonly mark = Symbol('plimsoll');
  private waitedAt = -Infinity;
  private isLoopBusy = false;
  private tick: NodeJS.Timeout | undefined;
  /** Turned away by the loop; in a dry run they would have been. */
  late = 0;
  /** Connections that wait in the kernel, as far as that can be seen. */
  acceptQueue: number | undefined;

  /** `kernelQueue` looks how many connections wait in the kernel. */
  constructor(
    private readonly settings: Settings,
    private readonly kernelQueue: () => number | undefined,
  ) {
    const now = performance.now();
    const { limit } = settings;
    this.rule = limit === 'half-load' ? new HalfLoad(now, Date.now() - now) : new Fixed(limit);
    const host = {
      admitted: (entry: Entry) => this.admitted(entry),
      refused: (entry: Entry, refusal: Refusal) => this.refused(entry, refusal),
    };
    this.admission = new Admission<Entry>(this.rule, settings.patience, host, now);
    this.shedder = new LoopShedder(settings.lateMost);
    const run = (entry: Entry) => this.run(entry);
    this.starter = new Starter(run, () => performance.now(), (turn) => setImmediate(turn));
    loopWatch.follow(this.look);
  }

  /** The loop is not looked at any more, so that it refuses nobody. Who waits is still decided: the clock of that goes on. */
  close(): void {
    loopWatch.unfollow(this.look);
    this.shedder.pass = 1;
    this.isLoopBusy = false;
    this.acceptQueue = undefined;
  }

  private readonly look = (window: Window): void => {
    this.shedder.see(window);
    this.acceptQueue = this.kernelQueue();
    this.isLoopBusy = window.utilisation >= BUSY || (this.acceptQueue ?? 0) > 0;
    this.rule.wallIs(Date.now() - performance.now());
  };

  /** A connection was accepted: the loop has brought something in. */
  connected(): void {
    this.starter.arrived();
  }

  /** A request is here, and `work` is what answers it, at once or later. Nothing is done twice for one request. */
  enter(req: IncomingMessage, res: ServerResponse, work: () => void): void {
    const marked = req as IncomingMessage & { [mark: symbol]: unknown };
    if (marked[this.mark] === true) {
      work();
      return;
    }
    const now = performance.now();
    if (this.settings.skip?.(req) === true) {
      this.admission.passTime(now);
      this.sayLoad(res);
      work();
      return;
    }
    marked[this.mark] = true;
    this.starter.arrived();
    loopWatch.look(now);
    if (this.settings.dryRun) {
      this.tryDry(req, res, now, work);
      return;
    }
    if (isOver(req, res)) {
      // It has left while others worked on its request: as if it had waited here.
      return;
    }
    const place = this.placeOf(req);
    if (!this.shedder.passes(place)) {
      this.late += 1;
      this.answerRefused(req, res, 'late');
      return;
    }
    const entry = this.arrives(req, res, place, now, work);
    if (entry.admitted === undefined) {
      this.waitedAt = now;
    }
    if (!entry.isStarted && !entry.isDone) {
      // It will start in a turn that another request brought about. Not `AsyncResource.bind` for all: who is refused or starts
      // at once, in its own context, needs none.
      entry.context = new AsyncResource('plimsoll');
    }
  }

  /** Lets it through at once, and looks what would have become of it. */
  private tryDry(req: IncomingMessage, res: ServerResponse, now: number, work: () => void): void {
    const place = this.placeOf(req);
    if (!this.shedder.passes(place)) {
      this.late += 1;
    } else if (!isOver(req, res)) {
      this.arrives(req, res, place, now, work);
    }
    work();
  }

  private arrives(req: IncomingMessage, res: ServerResponse, place: number, now: number, work: () => void): Entry {
    const entry: Entry = {
      place,
      arrived: now,
      admitted: undefined,
      isGone: false,
      req,
      res,
      work,
      isStarted: false,
      isDone: false,
      context: undefined,
    };
    whenOver(req, res, () => this.closed(entry));
    try {
      this.admission.arrives(now, entry);
    } finally {
      // Also if work throws that was started by it.
      this.passTimeOn();
    }
    return entry;
  }

  private placeOf(req: IncomingMessage): number {
    const { priority } = this.settings;
    if (priority === undefined) {
      return classOf(undefined);
    }
    return classOf(typeof priority === 'function' ? priority(req) : req.headers[priority.toLowerCase()]);
  }

  private passTimeOn(): void {
    const isNeeded = this.admission.inFlight > 0 || this.admission.waiting() > 0;
    if (isNeeded && this.tick === undefined) {
      this.tick = setTimeout(() => {
        this.tick = undefined;
        this.admission.turn(performance.now());
        this.passTimeOn();
      }, TICK);
      this.tick.unref();
    }
  }

  private admitted(entry: Entry): void {
    if (this.settings.dryRun) {
      return;
    }
    const now = entry.admitted ?? 0;
    const isCalm = !this.isLoopBusy && now - this.waitedAt > CALM_AFTER;
    this.starter.start(entry, isCalm);
  }

  private run(entry: Entry): void {
    if (entry.isDone) {
      return;
    }
    entry.isStarted = true;
    this.sayLoad(entry.res);
    if (entry.context === undefined) {
      entry.work();
    } else {
      entry.context.runInAsyncScope(entry.work);
    }
  }

  private refused(entry: Entry, refusal: Refusal): void {
    entry.isDone = true;
    if (!this.settings.dryRun) {
      this.answerRefused(entry.req, entry.res, refusal);
    }
  }

  private answerRefused(req: IncomingMessage, res: ServerResponse, reason: Reason): void {
    const { retryAfterMost, status } = this.settings;
    const seconds = retryAfter(this.admission.backlogSeconds(), retryAfterMost, Math.random());
    refuse(req, res, reason, status, seconds, this.loadToSay());
  }

  /** The answer was given, or its client has left. */
  private closed(entry: Entry): void {
    if (entry.isDone) {
      return;
    }
    entry.isDone = true;
    const now = performance.now();
    const hasWaited = this.settings.dryRun ? this.admission.withdrawn(now, entry) : this.admission.left(now, entry);
    if (!hasWaited) {
      this.admission.ended(now, entry, endOf(entry.res));
    }
  }

  /** 0 to 100. */
  saturation(): number {
    // While nothing is in flight nobody else passes the time on.
    this.admission.passTime(performance.now());
    return this.percent();
  }

  /** As it was when time was passed on last. All is in use, for balancers, while the loop refuses a share. */
  private percent(): number {
    return this.shedder.pass < 1 ? 100 : Math.round(100 * this.admission.saturation());
  }

  private sayLoad(res: ServerResponse): void {
    const load = this.loadToSay();
    if (load !== undefined) {
      sayLoad(res, load);
    }
  }

  /** In a dry run answers are as without us. */
  private loadToSay(): number | undefined {
    return this.settings.loadHeader && !this.settings.dryRun ? this.percent() / 100 : undefined;
  }

  passRatio(): number {
    return this.shedder.pass;
  }
}

function endOf(res: ServerResponse): Ended {
  // Of HTTP/2 an answer that broke off is finished too, but nobody ended it.
  const isComplete = res.writableEnded && ((res.writableFinished as boolean | undefined) ?? true);
  if (!isComplete) {
    return 'left';
  }
  return res.statusCode >= 500 || res.statusCode === 429 ? 'failed' : 'served';
}
