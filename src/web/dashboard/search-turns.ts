/** Calls that search the decision log: the service runs four of a customer at once and refuses more. */
const SEARCH =
  /^\/dashboard\/api\/v1\/(?:decisions\?|links\?|top\?|fingerprints\/|policy\/(?:rules|challenger)|rules$|lists\?.*usage|lists\/candidates)/;

/** Choice: one tab leaves room for another one and for the customer's own programs. */
const AT_ONCE = 2;

let running = 0;
const waiting: (() => void)[] = [];

/** Waits for its turn if `url` is a search, first in first out. The result must be called when the response has come. */
export async function acquireSearchTurn(url: string, signal: AbortSignal): Promise<() => void> {
  if (!SEARCH.test(url)) return () => undefined;
  if (running >= AT_ONCE) {
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      signal.addEventListener('abort', () => {
        const place = waiting.indexOf(resolve);
        if (place === -1) return;
        waiting.splice(place, 1);
        // Resolves without waiting; its request is aborted, so it releases the slot at once.
        running++;
        resolve();
      });
    });
  } else running++;
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    const next = waiting.shift();
    // The slot passes to the next one.
    if (next === undefined) running--;
    else next();
  };
}
