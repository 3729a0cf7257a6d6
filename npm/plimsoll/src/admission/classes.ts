// How important a request is, what even the least important class is owed, and which one is served next. Port of
// `admission/class.rs` and `admission/floors.rs`.

/** From the most important. */
export const CLASSES = ['critical', 'default', 'sheddable', 'background'] as const;
export type Priority = (typeof CLASSES)[number];

/** Shares of the permits that a class is owed while it has requests; the most important needs none. */
const FLOORS = [0, 0.25, 0.1, 0.05] as const;
const WINDOW = 1_000;
const FADING = 0.8;

/** The place of a class in the order; of any other word that of `default`. */
export function classOf(word: unknown): number {
  const at = CLASSES.indexOf(word as Priority);
  return at < 0 ? 1 : at;
}

export function floorOf(place: number): number {
  return FLOORS[place] ?? 0;
}

/** Permits given to each class lately: strict order, but each class that waits gets its floor of every few seconds. */
export class Floors {
  private begun = 0;
  private readonly given = CLASSES.map(() => 0);

  /** The place of the class that is next, of those that wait; -1 for none. */
  next(now: number, waits: (place: number) => boolean): number {
    const windows = Math.floor((now - this.begun) / WINDOW);
    if (windows > 0) {
      this.begun = now;
      // What was given before fades, so that no window begins with a rush and a slow service has a share to give.
      const kept = FADING ** windows;
      this.given.forEach((given, place) => (this.given[place] = given * kept));
    }
    const all = this.given.reduce((sum, given) => sum + given, 0);
    // The next one would still be within its floor.
    const isOwed = (place: number) => (this.given[place] ?? 0) + 1 <= floorOf(place) * all;
    for (let place = CLASSES.length - 1; place >= 0; place -= 1) {
      if (waits(place) && isOwed(place)) {
        return place;
      }
    }
    return CLASSES.findIndex((_, place) => waits(place));
  }

  gave(place: number): void {
    this.given[place] = (this.given[place] ?? 0) + 1;
  }
}
