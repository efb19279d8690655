import type { Log } from '../observe/log.ts';
import { endProcess } from '../kernel/end-process.ts';

/** Choice: supervisors wait 10 s before they kill. */
const STOP_MS = 8_000;

/** Stops gracefully at the first SIGTERM or SIGINT, and ends the process at once after an uncaught exception. */
export function stopOnSignals(running: { stop(): Promise<void> }, log: Log): void {
  let stopping = false;
  const stop = (signal: string): void => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'stopping');
    const giveUp = setTimeout(endProcess, STOP_MS);
    running.stop().then(
      () => {
        clearTimeout(giveUp);
        log.info('stopped');
        log.flush(() => process.exit(0));
      },
      (error: unknown) => {
        log.error({ err: error }, 'graceful shutdown failed');
        log.flush(() => process.exit(1));
      },
    );
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop(signal));
  process.on('unhandledRejection', (error) => log.error({ err: error }, 'unhandled promise rejection'));
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'uncaught exception; exiting for a restart by the supervisor');
    log.flush(endProcess);
  });
}
