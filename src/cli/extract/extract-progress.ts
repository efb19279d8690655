import { SingleBar } from 'cli-progress';
import type { Io } from '../io.ts';

export interface ExtractProgress {
  /** `target`: expected number of records, 0 if unknown. */
  update(now: {
    readonly records: number;
    readonly target: number;
    readonly pages: number;
    readonly errors: number;
  }): void;
  stop(): void;
}

/** Choice: frequent enough to show progress, rare enough for a log. */
const LINE_EVERY_MS = 5_000;

/**
 * Shows progress on standard error: a bar if that is a terminal, otherwise a line every 5 s. If the records are written to the same
 * terminal, no bar is shown: the records themselves show the progress, and a bar would be mixed into them.
 */
export function createExtractProgress(isShownInRecords: boolean, write: Io['write']): ExtractProgress {
  if (!process.stderr.isTTY) return lines(write);
  return isShownInRecords ? { update: () => {}, stop: () => {} } : bar();
}

function bar(): ExtractProgress {
  const shown = new SingleBar({
    format: '{bar} {value} of {of} records | {pages} pages, {errors} errors | {duration_formatted}',
    stream: process.stderr,
    hideCursor: true,
    clearOnComplete: true,
    fps: 5,
    // Ctrl-C stops the job gracefully; the bar's own listener would end the process.
    gracefulExit: false,
  });
  shown.start(1, 0, { of: '?', pages: 0, errors: 0 });
  return {
    update({ records, target, pages, errors }) {
      // The bar stays empty while the number of records is unknown.
      shown.setTotal(target === 0 ? Number.MAX_SAFE_INTEGER : Math.max(target, records));
      shown.update(records, { of: target === 0 ? '?' : String(target), pages, errors });
    },
    stop: () => shown.stop(),
  };
}

function lines(write: Io['write']): ExtractProgress {
  let at = performance.now();
  return {
    update({ records, pages, errors }) {
      const now = performance.now();
      if (now - at < LINE_EVERY_MS) return;
      at = now;
      write(2, `${records} records from ${pages} pages, ${errors} errors\n`);
    },
    stop: () => {},
  };
}
