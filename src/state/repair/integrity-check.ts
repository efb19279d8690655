import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { programPath } from '../../kernel/programs.ts';
import { fault, type StoreFault } from '../tables/durable.ts';
import type { ChildLine } from './integrity-check-child.ts';
import type { EnvironmentName } from '../tables/table-names.ts';

export type IntegrityResult =
  | {
      readonly kind: 'usable';
      readonly version: number;
      readonly rows: number;
      /** Rows by sub-database. */
      readonly tables: Readonly<Record<string, number>>;
      readonly unchecked: number;
    }
  /** A newer build wrote it. */
  | { readonly kind: 'newer'; readonly version: number }
  | { readonly kind: 'damaged'; readonly detail: string };

export type IntegrityOutcome =
  | { readonly kind: 'ok'; readonly results: ReadonlyMap<EnvironmentName, IntegrityResult> }
  | StoreFault;

/**
 * Choice: verifying check sums costs 1.4 µs per row, and finding every row by its key as much again. Small stores are verified completely;
 * of large ones the small tables come first.
 */
export const INTEGRITY_VALUES_MS = 250;
/** Choice: for backups, which nobody waits for: some 40,000,000 rows. */
export const INTEGRITY_ALL_VALUES_MS = 60_000;
/**
 * Choice: 2,000,000 rows are scanned in 0.1 s; a scan that takes this long is in an endless loop. The time for check sums is added to it.
 */
const INTEGRITY_MS_MAX = 60_000;
/** LMDB files begin with two meta pages. A shorter file is invalid, and an empty one would silently open as an empty database. */
const DATA_FILE_BYTES_MIN = 8_192;
/** Signals that result from touching a damaged mapping. Any other end of the child says nothing about the file. */
const DAMAGE_SIGNALS = new Set<unknown>(['SIGBUS', 'SIGSEGV', 'SIGABRT', 'SIGILL', 'SIGFPE']);

/**
 * Integrity check: tests whether the environments in `folder` are usable, the file sizes here, the trees and check sums in a child process.
 * A fault means that the check could not be made.
 * Measured: 130 ms for a small store, nearly all of it the start of Node; 250 ms for 2,000,000 rows, plus at most `valuesMs`.
 */
export async function checkIntegrity(
  folder: string,
  environments: readonly EnvironmentName[],
  valuesMs: number,
): Promise<IntegrityOutcome> {
  const results = new Map<EnvironmentName, IntegrityResult>();
  for (const environment of environments) {
    const bytes = statSync(join(folder, environment, 'data.mdb'), { throwIfNoEntry: false })?.size;
    if (bytes === undefined) results.set(environment, { kind: 'damaged', detail: 'the data file is missing' });
    else if (bytes < DATA_FILE_BYTES_MIN)
      results.set(environment, { kind: 'damaged', detail: `the data file has ${bytes} bytes` });
  }
  // A damaged environment kills the child, so the remaining ones need another child.
  for (;;) {
    const left = environments.filter((environment) => !results.has(environment));
    const first = left[0];
    if (first === undefined) return { kind: 'ok', results };
    const run = await runChild(folder, left, valuesMs);
    if (!run.up) return fault('data_dir_unusable', `the store's integrity check did not start: ${run.end}`);
    for (const line of run.lines) {
      if (line.kind === 'up') continue;
      if (line.kind === 'unreadable')
        return fault('data_dir_unusable', `${join(folder, line.environment)} cannot be read: ${line.detail}`);
      results.set(line.environment, line);
    }
    const current = left.find((environment) => !results.has(environment));
    if (current === undefined) continue;
    if (!run.fatal) return fault('data_dir_unusable', `the integrity check of ${current} failed: ${run.end}`);
    results.set(current, { kind: 'damaged', detail: `reading the data file ends with ${run.end}` });
  }
}

interface ChildRun {
  readonly up: boolean;
  readonly lines: readonly ChildLine[];
  /** Whether the child ended in a way that only the file explains. */
  readonly fatal: boolean;
  readonly end: string;
}

function runChild(folder: string, environments: readonly EnvironmentName[], valuesMs: number): Promise<ChildRun> {
  const started = performance.now();
  const timeout = INTEGRITY_MS_MAX + valuesMs * environments.length;
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [programPath('integrity-check-child'), folder, environments.join(','), String(valuesMs)],
      { timeout, killSignal: 'SIGKILL' },
      (error, stdout, stderr) => {
        const lines = stdout.split('\n').filter((line) => line.endsWith('}'));
        const late = error !== null && performance.now() - started >= timeout;
        const end =
          error === null
            ? 'no answer'
            : late
              ? 'a time-out'
              : (error.signal ?? (stderr.trim().split('\n').at(-1) || error.message));
        resolve({
          up: lines.length > 0,
          lines: lines.map((line) => JSON.parse(line) as ChildLine),
          fatal: late || DAMAGE_SIGNALS.has(error?.signal),
          end,
        });
      },
    );
  });
}
