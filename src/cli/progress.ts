import { SingleBar } from 'cli-progress';
import type { Io } from './io.ts';

export interface Progress {
  /** Processed bytes, and the counts shown beside them, such as `12 accepted, 3 rejected`. */
  update(bytes: number, counts: string): void;
  stop(): void;
}

/** Choice: frequent enough to show progress, rare enough for a log. */
const LINE_EVERY_MS = 5_000;
const LINE_EVERY_SHARE = 0.1;

/** Shows progress on standard error: a bar on a terminal, otherwise a line at every tenth or every 5 s. */
export function createProgress(totalBytes: number, write: Io['write']): Progress {
  return process.stderr.isTTY ? bar(totalBytes) : lines(totalBytes, write);
}

function bar(totalBytes: number): Progress {
  const shown = new SingleBar({
    format: '{bar} {percentage}% | {counts} | {eta_formatted} left',
    stream: process.stderr,
    hideCursor: true,
    clearOnComplete: true,
    fps: 5,
  });
  shown.start(totalBytes, 0, { counts: '' });
  return {
    update: (bytes, counts) => shown.update(bytes, { counts }),
    stop: () => shown.stop(),
  };
}

function lines(totalBytes: number, write: Io['write']): Progress {
  let share = LINE_EVERY_SHARE;
  let at = performance.now();
  return {
    update(bytes, counts) {
      const done = totalBytes === 0 ? 1 : bytes / totalBytes;
      const now = performance.now();
      if (done < share && now - at < LINE_EVERY_MS) return;
      at = now;
      while (share <= done) share += LINE_EVERY_SHARE;
      write(2, `${Math.floor(done * 100)} %: ${counts}\n`);
    },
    stop: () => {},
  };
}
