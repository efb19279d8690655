/** Source: `LIST_BATCH_ENTRIES_MAX`; a body has at most 1 MiB. */
const ENTRIES_MAX = 1_000;
const BYTES_MAX = 900_000;

/** Cuts entries into bodies that the service accepts, each with at most `entriesMax`. */
export function toBodies<Entry>(entries: readonly Entry[], entriesMax = ENTRIES_MAX): Entry[][] {
  const utf8 = new TextEncoder();
  const bodies: Entry[][] = [];
  let bytes = BYTES_MAX;
  for (const entry of entries) {
    const size = utf8.encode(JSON.stringify(entry)).length + 1;
    const last = bodies.at(-1);
    if (last === undefined || last.length === entriesMax || bytes + size > BYTES_MAX) {
      bodies.push([entry]);
      bytes = size;
    } else {
      last.push(entry);
      bytes += size;
    }
  }
  return bodies;
}
