// The gate of one instance: takes requests, asks the admission, and starts or refuses them. Reads the clocks.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { Admission, type Refusal } from './admission/admission.js';
import { classOf } from './admission/classes.js';
import { HalfLoad } from './admission/half-load.js';
import { Fixed, type Ended } from './admission/limit.js';
import type { Guest } from './admission/queue.js';
import { refuse, retryAfter, type Reason } from './answer.js';
import { LoopShedder, type Window } from './loop/shedder.js';
import { Starter } from './loop/starter.js';
import { loopWatch } from './loop/watch.js';
import type { Settings } from './options.js';

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
  isDone: boolean;
}

export class Gate {
  readonly admission: Admission<Entry>;
  private readonly shedder: LoopShedder;
  private readonly starter: Starter<Entry>;
  private readonly mark = Symbol('plimsoll');
  private waitedAt = -Infinity;
  private isLoopBusy = false;
  private tick: NodeJS.Timeout | undefined;
  refusedLate = 0;
  wouldRefuse = 0;
  /** Connections that wait in the kernel, as far as that can be seen. */
  acceptQueue: number | undefined;

  /** `kernelQueue` looks how many connections wait in the kernel. */
  constructor(
    private readonly settings: Settings,
    private readonly kernelQueue: () => number | undefined,
  ) {
    const now = performance.now();
    const { limit } = settings;
    const rule = limit === 'half-load' ? new HalfLoad(now, performance.timeOrigin) : new Fixed(limit);
    const host = {
      admitted: (entry: Entry) => this.admitted(entry),
      refused: (entry: Entry, refusal: Refusal) => this.refused(entry, refusal),
    };
    this.admission = new Admission<Entry>(rule, settings.patience, host, now);
    this.shedder = new LoopShedder(settings.lateMost);
    const run = (entry: Entry) => this.run(entry);
    this.starter = new Starter(run, () => performance.now(), (turn) => setImmediate(turn));
    loopWatch.follow(this.look);
  }

  close(): void {
    loopWatch.unfollow(this.look);
    clearTimeout(this.tick);
    this.tick = undefined;
  }

  private readonly look = (window: Window): void => {
    this.shedder.see(window);
    this.acceptQueue = this.kernelQueue();
    this.isLoopBusy = window.utilisation >= BUSY || (this.acceptQueue ?? 0) > 0;
  };

  /** A connection was accepted: the loop has brought something in. */
  connected(): void {
    this.starter.arrived();
  }

  /** A request is here, and `work` is what answers it, at once or later. Nothing is done twice for one request. */
  enter(req: IncomingMessage, res: ServerResponse, work: () => void): void {
    const marked = req as IncomingMessage & { [mark: symbol]: unknown };
    if (marked[this.mark] === true || this.settings.skip?.(req) === true) {
      work();
      return;
    }
    marked[this.mark] = true;
    this.starter.arrived();
    const now = performance.now();
    loopWatch.look(now);
    const place = this.placeOf(req);
    if (!this.shedder.passes(place)) {
      this.refusedLate += 1;
      if (!this.settings.dryRun) {
        this.answerRefused(req, res, 'late');
        return;
      }
      this.wouldRefuse += 1;
    }
    const entry: Entry = { place, arrived: now, admitted: undefined, isGone: false, req, res, work, isDone: false };
    res.on('close', () => this.closed(entry));
    this.admission.arrives(now, entry);
    if (entry.admitted === undefined) {
      this.waitedAt = now;
    }
    this.passTimeOn();
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
    const now = entry.admitted ?? 0;
    const isCalm = !this.isLoopBusy && now - this.waitedAt > CALM_AFTER;
    this.starter.start(entry, isCalm);
  }

  private run(entry: Entry): void {
    if (entry.isDone) {
      return;
    }
    const load = this.load();
    if (load !== undefined && !entry.res.headersSent) {
      entry.res.setHeader('Endpoint-Load-Metrics', load);
    }
    entry.work();
  }

  private refused(entry: Entry, refusal: Refusal): void {
    if (this.settings.dryRun) {
      this.wouldRefuse += 1;
      this.starter.start(entry, true);
      return;
    }
    entry.isDone = true;
    this.answerRefused(entry.req, entry.res, refusal);
  }

  private answerRefused(req: IncomingMessage, res: ServerResponse, reason: Reason): void {
    const { retryAfterMost, status } = this.settings;
    const seconds = retryAfter(this.admission.backlogSeconds(), retryAfterMost, Math.random());
    refuse(req, res, reason, status, seconds, this.load());
  }

  /** The answer was given, or its client has left. */
  private closed(entry: Entry): void {
    if (entry.isDone) {
      return;
    }
    entry.isDone = true;
    const now = performance.now();
    if (!this.admission.left(now, entry)) {
      this.admission.ended(now, entry, endOf(entry.res));
    }
  }

  /** 0 to 100. */
  saturation(): number {
    const ofLimit = this.admission.saturation();
    return Math.round(100 * Math.max(ofLimit, 1 - this.shedder.pass));
  }

  /** The text format of the open request cost aggregation, which balancers read. */
  private load(): string | undefined {
    return this.settings.loadHeader ? `TEXT application_utilization=${this.saturation() / 100}` : undefined;
  }

  passRatio(): number {
    return this.shedder.pass;
  }
}

function endOf(res: ServerResponse): Ended {
  // Answers of HTTP/2 only say that they have been ended.
  const isComplete = (res.writableFinished as boolean | undefined) ?? res.writableEnded;
  if (!isComplete) {
    return 'left';
  }
  return res.statusCode >= 500 || res.statusCode === 429 ? 'failed' : 'served';
}
