import * as z from 'zod';
import { ONE_OUTCOME, OUTCOME_BATCH } from '../contract/requests/judgement-requests.ts';
import type { FieldError } from '../contract/problem.ts';
import type { ParsedObject } from '../contract/json-body.ts';
import { isOutcome, OUTCOMES } from '../risk/event-outcome.ts';
import { OUTCOMES_PER_CALL_MAX } from '../kernel/limits.ts';
import type { BodyReader } from './kit/request-body.ts';
import { invalid, type Validated } from '../contract/validate.ts';

/**
 * The reports of a body, in order. `requestIds` holds the ids, separated by spaces. `outcomes` holds one character for each: a digit, the
 * position in `OUTCOMES`, or `-` for an unknown outcome. Two strings instead of 1,000 objects, which would block the receiving thread for
 * some milliseconds.
 */
export interface OutcomeReports {
  readonly requestIds: string;
  readonly outcomes: string;
}

/** Choice: as many errors as a person reads. */
const FIELD_ERRORS_MAX = 32;
const REQUEST_ID = /^[!-~]{1,64}$/;

/**
 * Reads `{"request_id","outcome"}`, or up to 1,000 of them in `{"outcomes":[…]}`. Written by hand, because a schema takes 10 ms for 1,000
 * reports.
 */
export const OUTCOME_REPORT: BodyReader<Validated<OutcomeReports>> = {
  name: 'outcome_report',
  shape: 'object',
  schema: z.union([OUTCOME_BATCH, ONE_OUTCOME]),
  read(body) {
    // The caller has checked the `shape`.
    const fields = body as ParsedObject;
    const given = fields['outcomes'];
    if (given === undefined || given === null) return readAll([fields], () => '');
    if (!Array.isArray(given)) return invalid([error('/outcomes', 'wrong_type', 'This must be an array.')]);
    if (given.length === 0) return invalid([error('/outcomes', 'too_few', 'This must have at least 1 item.')]);
    if (given.length > OUTCOMES_PER_CALL_MAX) {
      const message = `This must have at most ${OUTCOMES_PER_CALL_MAX} items.`;
      return invalid([error('/outcomes', 'too_many', message)]);
    }
    return readAll(given, (index) => `/outcomes/${index}`);
  },
};

function readAll(given: readonly unknown[], pointerOf: (index: number) => string): Validated<OutcomeReports> {
  const errors: FieldError[] = [];
  const requestIds: string[] = [];
  let outcomes = '';
  for (const [index, one] of given.entries()) {
    if (errors.length >= FIELD_ERRORS_MAX) break;
    const pointer = pointerOf(index);
    if (typeof one !== 'object' || one === null || Array.isArray(one)) {
      errors.push(error(pointer, 'wrong_type', 'This must be an object.'));
      continue;
    }
    const { request_id: requestId, outcome } = one as ParsedObject;
    if (typeof requestId !== 'string') errors.push(notText(`${pointer}/request_id`, requestId));
    if (typeof outcome !== 'string') errors.push(notText(`${pointer}/outcome`, outcome));
    if (typeof requestId !== 'string' || typeof outcome !== 'string') continue;
    // No decision has an id outside this pattern, and an id with a space would be read as two.
    requestIds.push(REQUEST_ID.test(requestId) ? requestId : '-');
    outcomes += isOutcome(outcome) ? OUTCOMES.indexOf(outcome) : '-';
  }
  return errors.length > 0 ? invalid(errors) : { kind: 'ok', value: { requestIds: requestIds.join(' '), outcomes } };
}

function notText(pointer: string, given: unknown): FieldError {
  if (given === undefined || given === null) return error(pointer, 'required', 'This is required.');
  return error(pointer, 'wrong_type', 'This must be a string.');
}

function error(pointer: string, code: string, message: string): FieldError {
  return { pointer, code, message };
}
