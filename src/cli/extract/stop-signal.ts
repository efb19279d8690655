/** Choice: npm forwards a signal that the terminal has already sent to all processes, so the same Ctrl-C arrives twice. */
const SAME_SIGNAL_MS_MAX = 1_000;

/**
 * Aborts at the first SIGINT or SIGTERM; a later one ends the process as it would without this listener. Listens until the process ends, so
 * that the second of two copies does not kill what the first one stops gracefully.
 */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  let firstMs = Infinity;
  const stop = (name: NodeJS.Signals): void => {
    const now = performance.now();
    if (now - firstMs > SAME_SIGNAL_MS_MAX) {
      process.off('SIGINT', stop);
      process.off('SIGTERM', stop);
      process.kill(process.pid, name);
      return;
    }
    firstMs = Math.min(firstMs, now);
    controller.abort();
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  return controller.signal;
}
