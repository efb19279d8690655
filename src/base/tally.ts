/** Adds to the count of a key; one that comes to 0 is no longer in the map. */
export function tally<K>(counts: Map<K, number>, key: K, by: number): void {
  const now = (counts.get(key) ?? 0) + by;
  if (now === 0) counts.delete(key);
  else counts.set(key, now);
}
