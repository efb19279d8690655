import type { FieldError } from '../base/problem.ts';
import type { JsonObject } from '../core/json-body.ts';
import { isOutcome, OUTCOMES } from '../core/outcome.ts';
import { OUTCOMES_PER_CALL_MAX } from '../limits.ts';
import type { BodyReader } from './body.ts';
import { invalid, type Validated } from './validate.ts';

/**
 * The reports of a body, in their order: ids with a space between them, and for each a digit, its position in `OUTCOMES`, or `-` for a
 * text that is none. Two texts in place of a thousand objects, which cost the thread that receives them some milliseconds.
 */
export interface OutcomeReports {
  readonly requestIds: string;
  readonly outcomes: string;
}

/** Choice: as many as a person reads. */
const FIELD_ERRORS_MAX = 32;
const REQUEST_ID = /^[!-~]{1,64}$/;

/** `{"request_id","outcome"}`, or up to 1,000 of them in `{"outcomes":[…]}`. Written by hand: by a schema 1,000 take 10 ms. */
export const OUTCOME_REPORT: BodyReader<Validated<OutcomeReports>> = {
  name: 'outcome_report',
  shape: 'object',
  read(body) {
    // Readers get what their `shape` says.
    const fields = body as JsonObject;
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
    const { request_id: requestId, outcome } = one as JsonObject;
    if (typeof requestId !== 'string') errors.push(notText(`${pointer}/request_id`, requestId));
    if (typeof outcome !== 'string') errors.push(notText(`${pointer}/outcome`, outcome));
    if (typeof requestId !== 'string' || typeof outcome !== 'string') continue;
    // No decision has such an id, and it must not be taken for two.
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
