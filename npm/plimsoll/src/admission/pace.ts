// How long a slot must be: from the latencies and the rate of recent answers. Port of `half_load/pace.rs`; seconds within.

/** Answers that the averages look back on. */
const RECENT = 300;
/** Lengths of slots in milliseconds; factors of four, so that processes that differ a little agree on the length. */
const LADDER = [125, 500, 2_000, 8_000] as const;
/** The longest slot, unless answers are too few for it: a latency that the overload made must not stretch the clock. */
const LONGEST_BUT_FOR_FEW = 2;
/** Answers that a slot must hold. */
const ANSWERS_LEAST = 10;

export class Pace {
  private answers = 0;
  private meanSeconds = 0;
  private meanSquare = 0;
  private gap = 0;
  private last: number | undefined;
  /** The place of the slot's length in the ladder. */
  private rung = 0;

  answered(now: number, took: number): void {
    this.answers = Math.min(this.answers + 1, RECENT);
    const weight = 1 / this.answers;
    const seconds = took / 1e3;
    this.meanSeconds += weight * (seconds - this.meanSeconds);
    this.meanSquare += weight * (seconds * seconds - this.meanSquare);
    if (this.last !== undefined) {
      this.gap += weight * ((now - this.last) / 1e3 - this.gap);
    }
    this.last = now;
  }

  /** Mean latency in seconds. */
  mean(): number {
    return this.meanSeconds;
  }

  /** Size-biased latency: after this time what is in flight has been replaced. */
  private replaced(): number {
    return this.meanSeconds > 0 ? this.meanSquare / this.meanSeconds : 0;
  }

  /**
   * Variance over mean of the number of answers in a long time: of permits that each renew themselves it is the squared
   * coefficient of variation of the latency. At least that of arrivals without memory.
   */
  dispersion(): number {
    const square = this.meanSeconds * this.meanSeconds;
    return square > 0 ? Math.max(this.meanSquare / square - 1, 1) : 1;
  }

  private needed(): number {
    return Math.max(this.replaced(), ANSWERS_LEAST * this.gap + this.meanSeconds);
  }

  private highest(): number {
    // What the overload itself adds to the mean is no reason for a longer slot.
    const few = ANSWERS_LEAST * this.gap + Math.min(this.meanSeconds, 0.5) > 2;
    return few ? LADDER.length - 1 : LONGEST_BUT_FOR_FEW;
  }

  /** A longer slot at once where it is needed. True if the length has changed. */
  lengthen(): boolean {
    const before = this.rung;
    const needed = this.needed();
    while (this.rung < this.highest() && needed > this.slot() / 1e3) {
      this.rung += 1;
    }
    return this.rung !== before;
  }

  /** A shorter slot, at the start of a cycle only. */
  shorten(): void {
    while (this.rung > 0 && (this.needed() < this.slot() / 1e3 / 8 || this.rung > this.highest())) {
      this.rung -= 1;
    }
  }

  slot(): number {
    return LADDER[this.rung] ?? LADDER[0];
  }

  isSlowest(): boolean {
    return this.rung === LADDER.length - 1;
  }

  /** A slot of the ramp: settling and one replacement of what is in flight, a power of two of the shortest slot. */
  rampSlot(): number {
    const needed = this.meanSeconds + Math.max(this.replaced(), ANSWERS_LEAST * this.gap);
    let slot: number = LADDER[0];
    while (slot < LADDER[2] && slot / 1e3 < needed) {
      slot *= 2;
    }
    return slot;
  }
}
