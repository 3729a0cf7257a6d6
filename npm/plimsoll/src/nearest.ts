// The known word that an unknown one was most likely meant to be.

function distance(one: string, other: string): number {
  let before = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row += 1) {
    const now = [row];
    for (let at = 1; at <= other.length; at += 1) {
      const same = one[row - 1] === other[at - 1] ? 0 : 1;
      now[at] = Math.min((before[at] ?? 0) + 1, (now[at - 1] ?? 0) + 1, (before[at - 1] ?? 0) + same);
    }
    before = now;
  }
  return before[other.length] ?? one.length;
}

/** `; did you mean \`limit\`?`, or nothing if no known word is near. */
export function hint(word: string, known: readonly string[]): string {
  const simple = word.toLowerCase();
  const near = known
    .map((name) => ({ name, far: distance(simple, name.toLowerCase()) }))
    .filter(({ name, far }) => far <= Math.max(1, Math.floor(name.length / 3)))
    .sort((one, other) => one.far - other.far)[0];
  return near === undefined ? '' : `; did you mean \`${near.name}\`?`;
}
