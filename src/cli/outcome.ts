import { writeSync } from 'node:fs';
import type { StoreFault } from '../store/durable.ts';

/** What a command has to say: `json` is the one object of `--json`, `text` is what a person reads. */
export type Outcome =
  | {
      readonly kind: 'ok';
      readonly json: object;
      readonly text: string;
      /** The work was done, but not all of it was good: the output is as usual and the exit code 1. */
      readonly failed?: boolean;
    }
  | { readonly kind: 'error'; readonly code: string; readonly message: string };

export function ok(json: object, text: string, failed = false): Outcome {
  return { kind: 'ok', json, text, failed };
}

export function failure(code: string, message: string): Outcome {
  return { kind: 'error', code, message };
}

export function failureOf(fault: StoreFault): Outcome {
  return failure(fault.code, fault.detail);
}

/** Prints an outcome and answers the exit code. Output goes out at once, so that an end by signal right after loses nothing. */
export function printOutcome(outcome: Outcome, json: boolean): number {
  if (outcome.kind === 'ok') {
    write(1, json ? JSON.stringify(outcome.json) : outcome.text);
    return outcome.failed === true ? 1 : 0;
  }
  printError(outcome.code, outcome.message, json);
  return 1;
}

export function printError(code: string, message: string, json: boolean): void {
  if (json) write(1, JSON.stringify({ error: { code, message } }));
  else write(2, `error: ${message}`);
}

function write(file: 1 | 2, text: string): void {
  let left = Buffer.from(text.endsWith('\n') ? text : `${text}\n`);
  while (left.length > 0) {
    try {
      left = left.subarray(writeSync(file, left));
    } catch (error) {
      // A pipe whose reader is slow says EAGAIN, one whose reader has gone says EPIPE.
      if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') continue;
      return;
    }
  }
}
