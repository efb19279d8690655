/** Shared by both searches of the decision log: the search text, and the format of a cursor's position. */

/** Returns null if there is nothing to search for. `q` is trimmed already. */
export function searchText(q: string | undefined): string | null {
  return q === undefined || q === '' ? null : q;
}

/** Returns the numbers of a position from one of our cursors, or null if another version wrote it in another format. */
export function readPlace(place: string, count: number): readonly number[] | null {
  const numbers = place.split('.').map(Number);
  return numbers.length === count && numbers.every((number) => Number.isSafeInteger(number)) ? numbers : null;
}

export function writePlace(...numbers: readonly number[]): string {
  return numbers.join('.');
}
