import * as z from 'zod';
import { LineCounter, parseDocument } from 'yaml';
import { pointerOf } from '../kernel/json-pointer.ts';
import { DECISIONS } from '../risk/decision.ts';
import { OUTCOMES } from '../risk/event-outcome.ts';
import type { PolicyNote } from '../risk/policy/policy-document.ts';
import { readEventTime } from './event-time.ts';

/** The file of `gatehouse policy test`: YAML 1.2 or JSON. */

/** Choice: a test of a policy has tens of events, a generated one some thousands. */
const EVENTS_MAX = 100_000;
export const TEST_FILE_BYTES_MAX = 32 * 2 ** 20;
const REPEAT_MAX = 10_000;
const FAULTS_MAX = 20;

const code = z.string('must be the code of a reason').min(1, 'must be the code of a reason');
const codes = z.array(code, 'must be a list of codes');
const score = z.number('must be a number from 0 to 100').min(0).max(100);
const expectation = z.strictObject(
  {
    decision: z.enum(DECISIONS, `must be one of ${DECISIONS.join(', ')}`).optional(),
    reasons: codes.optional(),
    no_reasons: codes.optional(),
    observed: codes.optional(),
    score_min: score.optional(),
    score_max: score.optional(),
  },
  'must be an object',
);
const timeMessage = 'must be Unix seconds or an ISO 8601 time with its zone';
const event = z.strictObject(
  {
    name: z.string('must be a text').optional(),
    at: z
      .union([z.number(), z.string()], timeMessage)
      .refine((given) => readEventTime(given) !== null, timeMessage)
      .optional(),
    after: z.number('must be seconds, 0 or more').min(0, 'must be seconds, 0 or more').optional(),
    key: z.enum(['secret', 'public'], 'must be secret or public').optional(),
    repeat: z
      .int(`must be a whole number from 1 to ${REPEAT_MAX}`)
      .min(1, `must be a whole number from 1 to ${REPEAT_MAX}`)
      .max(REPEAT_MAX, `must be a whole number from 1 to ${REPEAT_MAX}`)
      .optional(),
    request: z.record(z.string(), z.unknown(), 'must be the body of a decide request'),
    outcome: z.enum(OUTCOMES, `must be one of ${OUTCOMES.join(', ')}`).optional(),
    expect: expectation.optional(),
  },
  'must be an object',
);
const testFile = z.strictObject(
  {
    policy: z.string('must be the path of a policy file').min(1, 'must be the path of a policy file').optional(),
    customer: z
      .string('must be a customer id')
      .regex(/^cus_[0-9A-HJKMNP-TV-Z]{26}$/, 'must be a customer id, cus_ and 26 characters')
      .optional(),
    events: z
      .array(event, 'must be a list of events')
      .min(1, 'must have at least one event')
      .max(EVENTS_MAX, `must have at most ${EVENTS_MAX} events`),
  },
  'must be an object with the list events',
);

export type PolicyTestFile = z.infer<typeof testFile>;
export type PolicyTestEvent = PolicyTestFile['events'][number];
export type PolicyExpectation = z.infer<typeof expectation>;

export type ReadTestFile =
  | { readonly kind: 'ok'; readonly file: PolicyTestFile }
  /** Never empty. A fault of the text has the pointer '' and names its line. */
  | { readonly kind: 'faults'; readonly faults: readonly PolicyNote[] };

/** Reads the text of a test file. Total. */
export function readTestFile(text: string): ReadTestFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  if (document.errors.length > 0) {
    const faults = document.errors.slice(0, FAULTS_MAX).map(({ message, pos: [at] }) => {
      const { line, col } = lines.linePos(at);
      return { pointer: '', message: `line ${line}, column ${col}: ${message}` };
    });
    return { kind: 'faults', faults };
  }
  let value: unknown;
  try {
    value = document.toJS();
  } catch (error) {
    // Too many aliases: a text of a few lines could fill the memory.
    return {
      kind: 'faults',
      faults: [{ pointer: '', message: error instanceof Error ? error.message : 'unreadable' }],
    };
  }
  const parsed = testFile.safeParse(value);
  if (parsed.success) return { kind: 'ok', file: parsed.data };
  return { kind: 'faults', faults: parsed.error.issues.slice(0, FAULTS_MAX).flatMap(notesOfIssue) };
}

function notesOfIssue(issue: z.core.$ZodIssue): PolicyNote[] {
  if (issue.code !== 'unrecognized_keys') return [{ pointer: pointerOf(issue.path), message: issue.message }];
  return issue.keys.map((key) => ({ pointer: pointerOf([...issue.path, key]), message: 'is not known here' }));
}
