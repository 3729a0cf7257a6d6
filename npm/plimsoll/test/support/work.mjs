// Work that is done when a test says so, and waiting for what a test expects.
import assert from 'node:assert/strict';

/** Answers when told to, so that permits are held as long as a test wants. */
export class Work {
  waiting = [];
  seen = 0;

  begin(answer) {
    this.seen += 1;
    this.waiting.push(answer);
  }

  end() {
    this.waiting.splice(0).forEach((answer) => answer());
  }
}

export async function until(condition) {
  for (let count = 0; !condition(); count += 1) {
    assert.ok(count < 1_000, `never: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
