// What a limit is told and asked: answers in, the number of requests that may be in flight out. Times are milliseconds.

/** How a request that was let through ended. */
export type Ended =
  /** A good answer, to a client that still waited. */
  | 'served'
  /** Its client had left before the answer. */
  | 'left'
  /** An answer that was no success, or none at all. */
  | 'failed';

/** Requests since the start. */
export interface Demand {
  readonly arrived: number;
  /** Refused, or failed after they were let through. */
  readonly turnedAway: number;
}

/** What a limit knows, for people. */
export interface Explained {
  /** The limit between whole numbers, without a probe. */
  readonly level: number;
  /** Log-log slope of goodput over the limit, where the rule estimates one. */
  readonly slope: number | undefined;
  /** A slot at half the limit is under way. */
  readonly isProbing: boolean;
}

/** A rule for how many requests may be in flight. It is given time and never reads it. */
export interface Limit {
  /** At least one. */
  limit(): number;
  /** Time has passed, or the number in flight is about to change from `inFlight`. */
  turn(now: number, inFlight: number, demand: Demand): void;
  answered(now: number, took: number, ended: Ended): void;
  /** How long the permit of a failed answer is kept, from its start. */
  keptAfterFailure(): number;
  /** Wall time less `now`, which is compared now and then. */
  wallIs(ahead: number): void;
  explain(): Explained;
}

/** So many, chosen by somebody. */
export class Fixed implements Limit {
  constructor(private readonly count: number) {}

  limit(): number {
    return this.count;
  }

  turn(): void {}

  answered(): void {}

  keptAfterFailure(): number {
    return 0;
  }

  wallIs(): void {}

  explain(): Explained {
    return { level: this.count, slope: undefined, isProbing: false };
  }
}
