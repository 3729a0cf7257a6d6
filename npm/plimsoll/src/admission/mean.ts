// The mean of how long answers take, over some of the last and some seconds. Port of `admission/mean.rs`.

/** So many answers are looked back on at least, */
const ANSWERS = 300;
/** and so much time: three hundred answers of a fast service come within a pause of it, and say nothing of what it does after. */
const REACH = 5_000;

export class Mean {
  private count = 0;
  /** Answers of the last seconds, those of long ago faded. */
  private recent = 0;
  /** Zero before the first answer. */
  value = 0;

  constructor(private at: number) {}

  add(now: number, took: number): void {
    const passed = now - this.at;
    this.at = now;
    this.count += 1;
    this.recent = this.recent / (1 + passed / REACH) + 1;
    this.value += (took - this.value) / Math.max(this.recent, Math.min(this.count, ANSWERS));
  }
}
