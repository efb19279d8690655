import type { FieldError } from '../contract/problem.ts';
import type { StoreFault } from '../state/tables/durable.ts';
import type { Io } from './io.ts';
import { forTerminal } from './terminal-text.ts';

/** Exit codes: 0 success, 1 failure or partial failure, 2 wrong usage, 78 a data directory of a newer build. */
export const USAGE_EXIT = 2;
/** `EX_CONFIG` of sysexits.h, as for `serve`. */
const NEWER_EXIT = 78;

/** The result of a command: `json` is the single object of `--json`, `text` is for people. */
export type CommandOutcome =
  | {
      readonly kind: 'ok';
      readonly json: object;
      readonly text: string;
      /** The work was done, but parts of it failed: the output is as usual and the exit code 1. */
      readonly failed?: boolean;
      /** Standard output is used for something else, so the text is written to standard error. */
      readonly isBeside?: boolean;
    }
  | {
      readonly kind: 'error';
      readonly code: string;
      readonly message: string;
      /** Wrong usage: the exit code is 2. */
      readonly isUsage?: boolean;
      /** A newer build wrote the data directory: the exit code is 78. */
      readonly isNewer?: boolean;
      /** Which part of the input is wrong, and why. */
      readonly errors?: readonly FieldError[];
      /** Hints for people only: what to do next. */
      readonly hints?: readonly string[];
    };

export type CommandError = Extract<CommandOutcome, { readonly kind: 'error' }>;

export function ok(json: object, text: string, failed = false): CommandOutcome {
  return { kind: 'ok', json, text, failed };
}

export function failure(code: string, message: string): CommandError {
  return { kind: 'error', code, message };
}

/** Returns an error for wrong usage. */
export function usage(
  code: string,
  message: string,
  more: { readonly errors?: readonly FieldError[]; readonly hints?: readonly string[] } = {},
): CommandError {
  return { kind: 'error', code, message, isUsage: true, ...more };
}

export function failureOf({ code, detail }: StoreFault): CommandError {
  return { kind: 'error', code, message: detail, isNewer: code === 'data_dir_newer' };
}

/** Prints an outcome and returns the exit code. */
export function printOutcome(outcome: CommandOutcome, json: boolean, write: Io['write']): number {
  const print = (file: 1 | 2, text: string): void => write(file, forTerminal(text.endsWith('\n') ? text : `${text}\n`));
  if (outcome.kind === 'ok') {
    if (json) print(1, JSON.stringify(outcome.json));
    else print(outcome.isBeside === true ? 2 : 1, outcome.text);
    return outcome.failed === true ? 1 : 0;
  }
  const { code, message, isUsage = false, isNewer = false, errors = [], hints = [] } = outcome;
  if (json) print(1, JSON.stringify({ error: { code, message, ...(errors.length > 0 && { errors }) } }));
  else print(2, [`error: ${message}`, ...errors.map(errorText), ...hints].join('\n'));
  if (isNewer) return NEWER_EXIT;
  return isUsage ? USAGE_EXIT : 1;
}

function errorText(error: FieldError): string {
  return `  ${error.pointer}: ${error.message}`;
}
