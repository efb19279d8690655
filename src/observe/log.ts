import { pino, type Logger, type LoggerOptions } from 'pino';

export type Log = Logger;

/**
 * The log: one JSON object a line on standard output. Fields that could hold a secret are struck out wherever they turn up,
 * although nothing passes them in.
 */
export function createLog(level: string): Log {
  // Choice: lines are written 4 KiB at a time, and at least every second, so that a busy server does not write per line.
  return pino(optionsOf(level), pino.destination({ dest: 1, sync: false, minLength: 4_096, periodicFlush: 1_000 }));
}

/** Makes its lines and drops them, so that a start can compile what makes them. */
export function createUnreadLog(level: string): Log {
  return pino(optionsOf(level), { write: () => {} });
}

function optionsOf(level: string): LoggerOptions {
  return {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
    redact: {
      paths: ['secret', 'secret_key', 'authorization', 'cookie', 'session_token', 'key', '*.secret', '*.session_token'],
      censor: '[struck out]',
    },
  };
}

/**
 * Which decisions get a log line: all while there are few, then a sample. Choice: 200 lines a second are read by people, more
 * only fill disks; past them every 100th keeps the picture. The lines of a busy second are spread over it.
 * Measured: with 200 lines in a row at the beginning of each second, requests waited for 10 ms behind them, and for 60 ms while
 * their code was cold.
 */
export class LogSampler {
  readonly #linesPerSecond: number;
  readonly #linesMax: number;
  readonly #every: number;
  /** Lines that may be written now, at most half a second's. */
  #lines: number;
  #atMs = Number.NEGATIVE_INFINITY;
  #skipped = 0;

  constructor(linesPerSecond = 200, every = 100) {
    this.#linesPerSecond = linesPerSecond;
    this.#linesMax = Math.max(1, linesPerSecond / 2);
    this.#every = every;
    this.#lines = this.#linesMax;
  }

  /** How many decisions the next line stands for, or 0 when it gets none. `nowMs` never runs back. */
  next(nowMs: number): number {
    const earned = ((nowMs - this.#atMs) * this.#linesPerSecond) / 1_000;
    this.#lines = Math.min(this.#linesMax, this.#lines + earned);
    this.#atMs = nowMs;
    if (this.#lines < 1 && this.#skipped + 1 < this.#every) {
      this.#skipped++;
      return 0;
    }
    const stands = this.#skipped + 1;
    this.#lines = Math.max(0, this.#lines - 1);
    this.#skipped = 0;
    return stands;
  }
}
