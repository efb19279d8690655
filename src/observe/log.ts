import { pino, type Logger } from 'pino';

export type Log = Logger;

/**
 * The log: one JSON object a line on standard output. Fields that could hold a secret are struck out wherever they turn up,
 * although nothing passes them in.
 */
export function createLog(level: string): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: [
          'secret',
          'secret_key',
          'authorization',
          'cookie',
          'session_token',
          'key',
          '*.secret',
          '*.session_token',
        ],
        censor: '[struck out]',
      },
    },
    // Choice: lines are written 4 KiB at a time, and at least every second, so that a busy server does not write per line.
    pino.destination({ dest: 1, sync: false, minLength: 4_096, periodicFlush: 1_000 }),
  );
}

/**
 * Which decisions get a log line: all while there are few, then a sample. Choice: 200 lines a second are read by people, more
 * only fill disks; past them every 100th keeps the picture.
 */
export class LogSampler {
  readonly #linesPerSecond: number;
  readonly #every: number;
  #second = 0;
  #lines = 0;
  #skipped = 0;

  constructor(linesPerSecond = 200, every = 100) {
    this.#linesPerSecond = linesPerSecond;
    this.#every = every;
  }

  /** How many decisions the next line stands for, or 0 when it gets none. */
  next(nowMs: number): number {
    const second = Math.floor(nowMs / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#lines = 0;
    }
    if (this.#lines >= this.#linesPerSecond && this.#skipped + 1 < this.#every) {
      this.#skipped++;
      return 0;
    }
    const stands = this.#skipped + 1;
    this.#lines++;
    this.#skipped = 0;
    return stands;
  }
}
