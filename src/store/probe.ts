import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { programPath } from '../base/programs.ts';
import { fault, type StoreFault } from './durable.ts';
import type { ChildLine } from './probe-child.ts';
import type { EnvironmentName } from './tables.ts';

export type ProbeResult =
  | { readonly kind: 'usable'; readonly rows: number; readonly unchecked: number }
  | { readonly kind: 'damaged'; readonly detail: string };

export type ProbeOutcome =
  | { readonly kind: 'ok'; readonly results: ReadonlyMap<EnvironmentName, ProbeResult> }
  | StoreFault;

/** Choice: comparing check sums costs 1.4 µs a row; small stores are compared whole, of large ones the small tables come first. */
export const PROBE_VALUES_MS = 250;
/** Choice: for backups, which nobody waits for: some 40,000,000 rows. */
export const PROBE_ALL_VALUES_MS = 60_000;
/** Choice: 2,000,000 rows are walked in 0.1 s; what has not ended by then runs in circles. Comparing check sums comes on top. */
const PROBE_MS_MAX = 60_000;
/** LMDB begins with two meta pages; a shorter file is none, and one of no bytes would open silently as an empty database. */
const DATA_FILE_BYTES_MIN = 8_192;
/** What touching a damaged mapping ends in. Any other end of the child says nothing about the file. */
const DAMAGE_SIGNALS = new Set<unknown>(['SIGBUS', 'SIGSEGV', 'SIGABRT', 'SIGILL', 'SIGFPE']);

/**
 * Looks whether the environments in `folder` can be used: the file sizes here, the trees and check sums in a child process. A
 * fault means that the question could not be answered.
 * Measured: 130 ms for a small store, nearly all of it the start of Node; 250 ms for 2,000,000 rows, and `valuesMs` at most on top.
 */
export async function probe(
  folder: string,
  environments: readonly EnvironmentName[],
  valuesMs: number,
): Promise<ProbeOutcome> {
  const results = new Map<EnvironmentName, ProbeResult>();
  for (const environment of environments) {
    const bytes = statSync(join(folder, environment, 'data.mdb'), { throwIfNoEntry: false })?.size;
    if (bytes === undefined) results.set(environment, { kind: 'damaged', detail: 'the data file is missing' });
    else if (bytes < DATA_FILE_BYTES_MIN)
      results.set(environment, { kind: 'damaged', detail: `the data file has ${bytes} bytes` });
  }
  // A damaged environment ends the child, so what comes after it needs another one.
  for (;;) {
    const left = environments.filter((environment) => !results.has(environment));
    const first = left[0];
    if (first === undefined) return { kind: 'ok', results };
    const run = await runChild(folder, left, valuesMs);
    if (!run.up) return fault('data_dir_unusable', `the store's probe did not start: ${run.end}`);
    for (const line of run.lines) {
      if (line.kind === 'up') continue;
      if (line.kind === 'unreadable')
        return fault('data_dir_unusable', `${line.environment} cannot be read: ${line.detail}`);
      results.set(line.environment, line);
    }
    const current = left.find((environment) => !results.has(environment));
    if (current === undefined) continue;
    if (!run.fatal) return fault('data_dir_unusable', `the probe of ${current} did not end well: ${run.end}`);
    results.set(current, { kind: 'damaged', detail: `reading it ends with ${run.end}` });
  }
}

interface ChildRun {
  readonly up: boolean;
  readonly lines: readonly ChildLine[];
  /** The child ended in a way that only the file explains. */
  readonly fatal: boolean;
  readonly end: string;
}

function runChild(folder: string, environments: readonly EnvironmentName[], valuesMs: number): Promise<ChildRun> {
  const started = performance.now();
  const timeout = PROBE_MS_MAX + valuesMs * environments.length;
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [programPath('probe-child'), folder, environments.join(','), String(valuesMs)],
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
