// Goodput near the limit as a line in logarithms: its level and slope, and how sure both are. Port of `half_load/line.rs`.

/** Process noise of level and slope from one epoch to the next, as standard deviations. */
const LEVEL_NOISE = 0.05;
const SLOPE_NOISE = 0.03;
/** The slope before anything was seen: a small limit is taken to be too small. */
const SLOPE_FIRST = 1;
const SLOPE_FIRST_VARIANCE = 0.25;
/** An innovation this unlikely (in variances) is a change of capacity, not of the slope. */
const JUMP = 9;
const DISPERSION_LEAST = 0.3;
const DISPERSION_MOST = 20;

/** A Kalman filter whose measurement noise follows the dispersion of the answers. */
export class Line {
  /** Log goodput at the limit; unknown before the first epoch. */
  private level: number | undefined;
  private slopeSeen = SLOPE_FIRST;
  private levelVariance = 0;
  private covariance = 0;
  private slopeVariance = SLOPE_FIRST_VARIANCE;
  /** By how much counts vary more than they were said to. */
  private dispersion = 1;

  /** As it is now; it goes on changing, the copy does not. */
  copy(): Line {
    return Object.assign(new Line(), this);
  }

  slope(): number {
    return this.slopeSeen;
  }

  deviation(): number {
    return Math.sqrt(this.slopeVariance);
  }

  /** An epoch showed log goodput `y` at a load of e^`u` limits, by as much as so many independent answers. */
  see(y: number, u: number, count: number): void {
    const answers = Math.max(count, 1);
    if (this.level === undefined) {
      this.level = y;
      this.levelVariance = this.dispersion / answers;
      return;
    }
    this.levelVariance += LEVEL_NOISE * LEVEL_NOISE;
    this.slopeVariance += SLOPE_NOISE * SLOPE_NOISE;
    const noise = this.dispersion / answers;
    const innovation = y - this.level - this.slopeSeen * u;
    const surprise = (innovation * innovation) / this.innovationVariance(u, noise);
    const dispersion = this.dispersion * Math.exp(0.08 * (Math.min(surprise, 6) - 1));
    this.dispersion = Math.min(Math.max(dispersion, DISPERSION_LEAST), DISPERSION_MOST);
    if (surprise > JUMP) {
      this.levelVariance += innovation * innovation;
    }
    const variance = this.innovationVariance(u, noise);
    const levelGain = (this.levelVariance + this.covariance * u) / variance;
    const slopeGain = (this.covariance + this.slopeVariance * u) / variance;
    this.level += levelGain * innovation;
    this.slopeSeen += slopeGain * innovation;
    const before = this.levelVariance;
    const covariance = this.covariance;
    this.levelVariance -= levelGain * (before + covariance * u);
    this.covariance -= levelGain * (covariance + this.slopeVariance * u);
    this.slopeVariance -= slopeGain * (covariance + this.slopeVariance * u);
    this.levelVariance = Math.max(this.levelVariance, 1e-9);
    this.slopeVariance = Math.max(this.slopeVariance, 1e-9);
  }

  private innovationVariance(u: number, noise: number): number {
    return this.levelVariance + 2 * u * this.covariance + u * u * this.slopeVariance + noise;
  }

  /** The limit was multiplied by e^`step`: the line is read there from now on. */
  moveBy(step: number): void {
    if (this.level !== undefined) {
      this.level += this.slopeSeen * step;
    }
    this.levelVariance += 2 * step * this.covariance + step * step * this.slopeVariance;
    this.covariance += step * this.slopeVariance;
    this.slopeVariance += 0.25 * step * step;
    // It falls on the way up, by less the flatter it is already.
    if (this.slopeSeen < 0.7) {
      this.slopeSeen -= 0.25 * step;
    }
  }

  /** Far too high: whatever was believed of the slope, it is no more than this. */
  doubt(slopeMost: number): void {
    this.slopeSeen = Math.min(this.slopeSeen, slopeMost);
    this.levelVariance += 0.25;
    this.slopeVariance += 0.1;
  }
}
