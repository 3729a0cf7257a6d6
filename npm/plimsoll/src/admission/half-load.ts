// The limit that needs no number: compares goodput at the limit with goodput at half of it, and follows the slope. A port
// of the guard's rule, step by step (`crates/plimsoll-control/src/admission/half_load.rs`); a test holds both together.

import { Brake, type Verdict } from './brake.js';
import { Epoch, type Measured } from './epoch.js';
import type { Demand, Ended, Explained, Limit } from './limit.js';
import { Line } from './line.js';
import { Mean } from './mean.js';
import { Pace } from './pace.js';

const LIMIT_FIRST = 4;
const LIMIT_MOST = 20_000;
/** Slope at which the limit rests: about 1.85 workers' worth for a pool, the peak less 5 % under pure contention. */
const TARGET = 0.12;
/** What one step may change, as a factor in logarithms. */
const STEP_LEAST = -0.5;
const STEP_MOST = 0.7;
/** A slope that leaves no doubt, and the step that it is worth at least. */
const CLEAR = 0.5;
const STEP_CLEAR = 0.35;
/** A slope of which this is the deviation is known well enough for whole steps. */
const DEVIATION_FINE = 0.25;
/** Probing costs something: not while (almost) nobody is turned away. */
const DEMAND_LEAST = 0.02;
/** A limit of which less is used is not what holds goodput back. */
const USED_LEAST = 0.75;
/** Where more would surely help, it may be what holds bursts back although less of it is used on the average. */
const BURSTS_LEAST = 0.4;
/** Smoothing of the shares of failed answers. */
const SHARE_WEIGHT = 0.3;
/** The wall clock is read in whole milliseconds: following each would end slots twice. Processes agree well enough all the same. */
const WALL_NEWS = 5;
/** Below so many independent answers a slot of the ramp says nothing, unless it is the longest. */
const RAMP_ANSWERS = 10;

/** Step by step upwards, a slot each; takes back a step that lost something. */
interface Ramp {
  readonly before: number;
  readonly height: number | undefined;
  /** What the first slot showed, when it seemed to gain nothing. */
  readonly doubted: number | undefined;
}

/** At the limit between probes, a slot at half of it, or a ramp. */
type Phase = 'whole' | 'half' | Ramp;

export class HalfLoad implements Limit {
  private level = LIMIT_FIRST;
  private line = new Line();
  private readonly pace = new Pace();
  private epoch: Epoch;
  private readonly brakes = new Brake();
  /** Limit and line from before a standstill. */
  private held: { readonly level: number; readonly line: Line } | undefined;
  private phase: Phase = { before: LIMIT_FIRST, height: undefined, doubted: undefined };
  private slotIndex = 0;
  /** Latency in seconds of answers that were good, for permits of those that were not. */
  private goodSeconds = 0;
  /** How long answers take that came to a client. */
  private readonly usual: Mean;
  /** Smoothed share of failed answers at the limit and at half of it. */
  private failedWhole = 0;
  private failedHalf = 0;
  /** Mean in flight of the last epoch at the limit. */
  private used = 0;
  /** Goodput, in logarithms, of the last epoch at the limit. */
  private height: number | undefined;
  private asked: Demand = { arrived: 0, turnedAway: 0 };
  private demand: Demand = { arrived: 0, turnedAway: 0 };
  /** Turned away when the phase began. */
  private turnedAwayBefore = 0;

  /**
   * `wallAhead` is wall time less `now`: slots begin at the same moment in every process, so that several in front of one
   * database probe it together (each alone would see only its own slope).
   */
  constructor(now: number, private wallAhead: number) {
    this.epoch = new Epoch(now);
    this.usual = new Mean(now);
  }

  private slot(): number {
    return typeof this.phase === 'object' ? this.pace.rampSlot() : this.pace.slot();
  }

  private index(now: number): number {
    return Math.floor((now + this.wallAhead) / this.slot());
  }

  /** Slots from one probe to the next. */
  private cycle(): number {
    if (this.pace.isSlowest()) {
      return 4;
    }
    return this.line.deviation() > 0.2 ? 6 : 12;
  }

  private change(now: number, phase: Phase): void {
    this.phase = phase;
    this.epoch = new Epoch(now);
    this.slotIndex = this.index(now);
    this.turnedAwayBefore = this.demand.turnedAway;
  }

  private step(by: number): void {
    const level = Math.min(Math.max(this.level * Math.exp(by), 1), LIMIT_MOST);
    const moved = Math.log(level / this.level);
    this.level = level;
    this.line.moveBy(moved);
  }

  private boundary(now: number): void {
    if (this.phase === 'whole') {
      this.wholeSlotOver(now);
    } else if (this.phase === 'half') {
      this.halfSlotOver(now);
    } else {
      this.rampSlotOver(now, this.phase);
    }
  }

  private isCycleStart(): boolean {
    const cycle = this.cycle();
    return ((this.slotIndex % cycle) + cycle) % cycle === 0;
  }

  private wholeSlotOver(now: number): void {
    if (!this.isCycleStart()) {
      return;
    }
    this.pace.shorten();
    this.slotIndex = this.index(now);
    if (!this.isCycleStart()) {
      return;
    }
    const arrived = this.demand.arrived - this.asked.arrived;
    const turnedAway = this.demand.turnedAway - this.asked.turnedAway;
    const measured = this.epoch.measured(now);
    // Where more would surely help, the limit is to blame for even a few.
    const isTight = (measured?.inFlight ?? 0) >= BURSTS_LEAST * this.level;
    const least = this.line.slope() > CLEAR && isTight ? 0 : DEMAND_LEAST;
    const isAskedFor = turnedAway >= least * arrived && turnedAway > 0;
    this.asked = this.demand;
    if (measured === undefined || !isAskedFor) {
      this.change(now, 'whole');
      return;
    }
    this.see(measured);
    this.used = measured.inFlight;
    this.height = measured.logGoodput;
    this.failedWhole += SHARE_WEIGHT * (measured.failedRatio - this.failedWhole);
    if (whole(this.level) < 2) {
      // One cannot be halved.
      this.step(Math.log(2 / this.level));
      this.change(now, 'whole');
    } else {
      this.change(now, 'half');
    }
  }

  private see(measured: Measured): void {
    const load = Math.log(measured.inFlight / this.level);
    this.line.see(measured.logGoodput, load, measured.served / this.pace.dispersion());
  }

  private halfSlotOver(now: number): void {
    const measured = this.epoch.measured(now);
    if (measured === undefined || measured.answers === 0) {
      // What was in flight before the probe has not gone yet: the same slot once more would probe alone.
      this.change(now, 'whole');
      return;
    }
    this.see(measured);
    this.failedHalf += SHARE_WEIGHT * (measured.failedRatio - this.failedHalf);
    const before = this.level;
    const by = this.wantedStep();
    const wasClear = this.line.slope() > CLEAR;
    this.step(by);
    const isRamp = by >= 0.3 || (wasClear && by > 0);
    this.change(now, isRamp ? { before, height: this.height, doubted: undefined } : 'whole');
  }

  private wantedStep(): number {
    const failsMore = this.failedWhole - this.failedHalf;
    const slope = this.line.slope();
    const gain = Math.min(DEVIATION_FINE / this.line.deviation(), 1);
    let step = gain * (slope - 3 * Math.max(failsMore, 0) - TARGET);
    step = Math.min(Math.max(step, STEP_LEAST), STEP_MOST);
    const isClear = slope > CLEAR && failsMore <= 0;
    if (isClear) {
      step = Math.max(step, STEP_CLEAR);
    }
    if (failsMore > 0.05) {
      step = Math.min(step, 0);
    }
    if (this.used < (isClear ? BURSTS_LEAST : USED_LEAST) * this.level) {
      step = Math.min(step, 0);
      if (failsMore > 0.02) {
        step = Math.min(step, -0.15);
      }
    }
    return step;
  }

  private rampSlotOver(now: number, ramp: Ramp): void {
    const longEnough = this.slot() >= 2_000;
    const enough = this.epoch.answers() >= RAMP_ANSWERS * this.pace.dispersion() || longEnough;
    const measured = this.epoch.measured(now);
    if (measured === undefined || !enough) {
      return;
    }
    const isBinding = measured.inFlight > USED_LEAST * this.level;
    if (ramp.height === undefined && !isBinding) {
      // Nobody needs more yet: the steps are taken when the load comes, and not given up because it had not.
      this.change(now, ramp);
      return;
    }
    this.see(measured);
    this.failedWhole += SHARE_WEIGHT * (measured.failedRatio - this.failedWhole);
    this.used = measured.inFlight;
    const first = ramp.doubted;
    const seen = first === undefined ? measured.logGoodput : (first + measured.logGoodput) / 2;
    this.height = seen;
    const needed = TARGET * Math.log(this.level / ramp.before);
    const gained = ramp.height === undefined || seen - ramp.height > needed;
    if (!gained && this.demand.turnedAway === this.turnedAwayBefore) {
      // All that came was let in: so much was asked for, and it says nothing of what can be done.
      this.change(now, 'whole');
    } else if (!gained && first === undefined) {
      this.change(now, { before: ramp.before, height: ramp.height, doubted: seen });
    } else if (ramp.height !== undefined && seen - ramp.height < -needed) {
      this.step(Math.log(ramp.before / this.level));
      this.height = ramp.height;
      this.change(now, 'whole');
    } else if (!gained) {
      // As good as before: a limit that stands just at the knee would be sent back to it again and again, and half of it
      // costs half of the goodput at every probe.
      this.change(now, 'whole');
    } else if (isBinding && this.line.slope() > 0.35) {
      const before = this.level;
      this.step(Math.max(this.wantedStep(), STEP_CLEAR));
      this.change(now, { before, height: seen, doubted: undefined });
    } else {
      this.change(now, 'whole');
    }
  }

  private heed(now: number, verdict: Verdict): void {
    if (verdict === 'fall') {
      this.fall(now);
    } else if (verdict === 'takeUp') {
      if (this.held !== undefined) {
        this.level = Math.max(this.held.level, this.level);
        this.line = this.held.line;
        this.held = undefined;
        this.change(now, 'whole');
      }
    } else if (verdict !== 'nothing') {
      this.held = { level: verdict.fine, line: this.line.copy() };
      this.fall(now);
    }
  }

  /** Its client went before an answer could be expected, as one does that types on or sends one request to two places: that
   * says nothing about the service. When many do so, they must not make the limit fall for those that stay. */
  private isAbandoned(took: number, ended: Ended): boolean {
    return ended === 'left' && took < this.usual.value;
  }

  private fall(now: number): void {
    this.level = Math.max(this.level * 0.6, 1);
    this.line.doubt(0.3);
    this.change(now, 'whole');
  }

  limit(): number {
    return whole(this.phase === 'half' ? this.level / 2 : this.level);
  }

  turn(now: number, inFlight: number, demand: Demand): void {
    this.demand = demand;
    this.epoch.pass(now, inFlight, this.limit(), this.pace.mean());
    const index = this.index(now);
    if (index !== this.slotIndex) {
      this.slotIndex = index;
      this.boundary(now);
    }
  }

  answered(now: number, took: number, ended: Ended): void {
    if (ended === 'served') {
      this.usual.add(now, took);
    } else if (this.isAbandoned(took, ended)) {
      return;
    }
    const saysNothing = ended === 'failed' || this.brakes.isOfStandstill(now, took, ended);
    this.epoch.count(ended);
    if (!saysNothing) {
      this.pace.answered(now, took);
      const seconds = took / 1e3;
      const isFirst = this.goodSeconds === 0;
      this.goodSeconds += (isFirst ? 1 : 1 / 300) * (seconds - this.goodSeconds);
      const inRamp = typeof this.phase === 'object';
      if (this.pace.lengthen() && !inRamp) {
        // The epoch under way was planned in shorter slots.
        this.change(now, 'whole');
      }
    }
    this.heed(now, this.brakes.answered(now, took, ended, this.level, this.pace.mean()));
  }

  keptAfterFailure(): number {
    return this.goodSeconds * 1e3;
  }

  /** A clock that jumps ends the slot under way, no more. */
  wallIs(ahead: number): void {
    if (Math.abs(ahead - this.wallAhead) >= WALL_NEWS) {
      this.wallAhead = ahead;
    }
  }

  explain(): Explained {
    return { level: this.level, slope: this.line.slope(), isProbing: this.phase === 'half' };
  }
}

/** A limit counts requests. */
function whole(level: number): number {
  return Math.max(Math.round(level), 1);
}
