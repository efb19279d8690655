import { SingleBar } from 'cli-progress';
import type { Io } from '../io.ts';

export interface ExtractProgress {
  /** `target`: records that are hoped for, 0 while nothing tells. */
  update(now: {
    readonly records: number;
    readonly target: number;
    readonly pages: number;
    readonly errors: number;
  }): void;
  stop(): void;
}

/** Choice: often enough to see that it moves, seldom enough for a log. */
const LINE_EVERY_MS = 5_000;

/**
 * On standard error: a bar where that is a terminal, else a line every 5 s. Where the records themselves go to the same terminal
 * they are what is seen of the progress, and a bar would be written into them.
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
    // Ctrl-C ends the job in order; the bar's own listener would end the process.
    gracefulExit: false,
  });
  shown.start(1, 0, { of: '?', pages: 0, errors: 0 });
  return {
    update({ records, target, pages, errors }) {
      // An empty bar while nobody knows how many there will be.
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
