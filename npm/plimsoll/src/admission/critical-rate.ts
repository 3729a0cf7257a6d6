// How many requests of the most important class arrive per second, whatever becomes of them. Port of what `admission/rejector.rs`
// measures of them.

const WINDOW = 100;
/** Answers that the rate looks back on, and the shortest and longest time in seconds for it. */
const ANSWERS = 20;
const BACK_LEAST = 0.3;
const BACK_MOST = 10;

export class CriticalRate {
  private arrivals = 0;
  private completions = 0;
  private completedPerSecond = 0;
  perSecond = 0;

  constructor(private begun: number) {}

  arrived(): void {
    this.arrivals += 1;
  }

  /** A request of any class is over. */
  completed(): void {
    this.completions += 1;
  }

  pass(now: number): void {
    if (now - this.begun < WINDOW) {
      return;
    }
    const seconds = (now - this.begun) / 1e3;
    this.begun = now;
    const back = Math.min(Math.max(ANSWERS / Math.max(this.completedPerSecond, 1e-3), BACK_LEAST), BACK_MOST);
    const weight = seconds / (seconds + back);
    this.completedPerSecond += weight * (this.completions / seconds - this.completedPerSecond);
    this.perSecond += weight * (this.arrivals / seconds - this.perSecond);
    this.arrivals = 0;
    this.completions = 0;
  }
}
