/** Returns the name that was most likely meant; null if none is similar. */
export function closest(name: string, known: readonly string[]): string | null {
  let best: string | null = null;
  // Choice: two typos, in names that are long enough for that.
  let distanceMin = Math.min(3, Math.ceil(name.length / 3));
  for (const one of known) {
    const distance = editDistance(name, one);
    if (distance >= distanceMin) continue;
    best = one;
    distanceMin = distance;
  }
  return best;
}

/** Optimal string alignment: two letters in the wrong order are one typo. Source: the usual three rows. */
function editDistance(a: string, b: string): number {
  let twoAbove: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (above[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = isSwapped ? (twoAbove[j - 2] ?? Infinity) + 1 : Infinity;
      row.push(Math.min(change, swap, (above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    twoAbove = above;
    above = row;
  }
  return above[b.length] ?? 0;
}
