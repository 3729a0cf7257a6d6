// Starts what was let in, so that the loop sees all that arrives: under load a piece of work begins only after the loop
// has turned at least once, and while turns still bring in requests they are seen first.

/** Work that is started in one turn at most, in milliseconds, and at least one piece of it. */
const QUANTUM = 1;
/** The longest time that looking may take, after work that itself waited for something else. */
const LOOK_MOST = 50;

/**
 * Node accepts one connection per turn and runs handlers as their requests are read. A handler that computes for 5 ms in
 * every turn therefore lets in 200 connections a second, and everybody else waits in the kernel, unseen and unanswered.
 * Here work waits until a turn brings nothing new; but only for as long as the work before it took, so that at least half
 * of the time goes into work whatever arrives.
 */
export class Starter<T> {
  private readonly ready: T[] = [];
  private isArmed = false;
  private arrivals = 0;
  private seen = 0;
  private lastStart = 0;
  private turns = 0;
  private budgetUntil = 0;

  constructor(
    private readonly run: (work: T) => void,
    private readonly now: () => number,
    private readonly nextTurn: (turn: () => void) => void,
  ) {}

  /** Something came in: a request, or a connection. */
  arrived(): void {
    this.arrivals += 1;
  }

  waiting(): number {
    return this.ready.length;
  }

  /** At once while the loop is calm, else in a turn of its own. */
  start(work: T, isCalm: boolean): void {
    if (isCalm && this.ready.length === 0) {
      this.run(work);
      return;
    }
    this.ready.push(work);
    this.arm();
  }

  private arm(): void {
    if (!this.isArmed) {
      this.isArmed = true;
      this.nextTurn(this.turn);
    }
  }

  private readonly turn = (): void => {
    this.isArmed = false;
    const now = this.now();
    this.turns += 1;
    if (this.turns === 1) {
      // The work since the last start may have kept the loop from looking; now it may look for as long.
      this.budgetUntil = now + Math.min(now - this.lastStart, LOOK_MOST);
      this.seen = this.arrivals;
      this.arm();
      return;
    }
    const hasNews = this.arrivals !== this.seen;
    this.seen = this.arrivals;
    if (hasNews && now < this.budgetUntil) {
      this.arm();
      return;
    }
    this.turns = 0;
    const from = this.now();
    try {
      do {
        const work = this.ready.shift();
        if (work === undefined) {
          break;
        }
        this.lastStart = this.now();
        this.run(work);
      } while (this.now() - from < QUANTUM);
    } finally {
      // Work that throws ends the process unless somebody catches that; then the rest still has its turn.
      if (this.ready.length > 0) {
        this.arm();
      }
    }
  };
}
