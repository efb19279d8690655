import type { FieldError } from '../base/problem.ts';
import type { StoreFault } from '../store/durable.ts';
import type { Io } from './io.ts';

/** Exit codes: 0 done, 1 not done or not all good, 2 called wrongly. */
export const USAGE_EXIT = 2;

/** What a command has to say: `json` is the one object of `--json`, `text` is what a person reads. */
export type Outcome =
  | {
      readonly kind: 'ok';
      readonly json: object;
      readonly text: string;
      /** The work was done, but not all of it was good: the output is as usual and the exit code 1. */
      readonly failed?: boolean;
      /** Standard output is taken by something else, so the text goes to standard error. */
      readonly isBeside?: boolean;
    }
  | {
      readonly kind: 'error';
      readonly code: string;
      readonly message: string;
      /** Called wrongly: the exit code is 2. */
      readonly isUsage?: boolean;
      /** What is wrong with which part of what was given. */
      readonly errors?: readonly FieldError[];
      /** Lines for people alone: what to do next. */
      readonly hints?: readonly string[];
    };

export function ok(json: object, text: string, failed = false): Outcome {
  return { kind: 'ok', json, text, failed };
}

export function failure(code: string, message: string): Outcome {
  return { kind: 'error', code, message };
}

/** The command was called wrongly. */
export function usage(
  code: string,
  message: string,
  more: { readonly errors?: readonly FieldError[]; readonly hints?: readonly string[] } = {},
): Outcome {
  return { kind: 'error', code, message, isUsage: true, ...more };
}

export function failureOf(fault: StoreFault): Outcome {
  return failure(fault.code, fault.detail);
}

/** Prints an outcome and returns the exit code. */
export function printOutcome(outcome: Outcome, json: boolean, write: Io['write']): number {
  const print = (file: 1 | 2, text: string): void => write(file, text.endsWith('\n') ? text : `${text}\n`);
  if (outcome.kind === 'ok') {
    if (json) print(1, JSON.stringify(outcome.json));
    else print(outcome.isBeside === true ? 2 : 1, outcome.text);
    return outcome.failed === true ? 1 : 0;
  }
  const { code, message, isUsage = false, errors = [], hints = [] } = outcome;
  if (json) print(1, JSON.stringify({ error: { code, message, ...(errors.length > 0 && { errors }) } }));
  else print(2, [`error: ${message}`, ...errors.map(errorText), ...hints].join('\n'));
  return isUsage ? USAGE_EXIT : 1;
}

function errorText(error: FieldError): string {
  return `  ${error.pointer}: ${error.message}`;
}
