/** Choice: npm hands on what the terminal has sent to everybody already, so that the same Ctrl-C comes twice. */
const SAME_SIGNAL_MS_MAX = 1_000;

/**
 * Aborts at the first SIGINT or SIGTERM; one that comes later than that ends the process as it would without this. It listens until
 * the process ends, so that the second of two does not end what the first one ends in order.
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
