import * as z from 'zod';
import { ASSIGNEE_CHARACTERS_MAX, NOTE_CHARACTERS_MAX, OUTCOMES_PER_CALL_MAX } from '../../kernel/limits.ts';
import { LABELS, OUTCOMES, VERDICTS } from '../vocabulary.ts';
import { text } from './request-text.ts';

/**
 * One report of `POST /v1/outcomes`. `api/outcome-body.ts` reads it by hand, because a schema takes 10 ms for 1,000 of them; a
 * property test keeps the two consistent.
 */
export const ONE_OUTCOME = z
  .object({
    request_id: z.string().meta({ description: 'The request_id of a decide response.' }),
    outcome: z.string().meta({
      description: 'One of the known outcomes; any other text is rejected with `invalid_outcome`.',
      examples: OUTCOMES,
    }),
  })
  .meta({ id: 'OutcomeReport', examples: [{ request_id: 'req_01M7XWJVNGTMWB6Q2TT84ZKPK0', outcome: 'failed' }] });

export const OUTCOME_BATCH = z
  .object({ outcomes: z.array(ONE_OUTCOME).min(1).max(OUTCOMES_PER_CALL_MAX) })
  .meta({ id: 'OutcomeBatch' });

export const OUTCOME_BODY = z.xor([ONE_OUTCOME, OUTCOME_BATCH]);

export const LABEL_CHANGE = z
  .object({
    request_id: z.string().meta({ description: 'The request_id of one of your own decisions' }),
    label: z.enum(LABELS),
    note: text(NOTE_CHARACTERS_MAX).nullish(),
  })
  .meta({ id: 'LabelChange' });

export const REVIEW_CHANGE = z
  .object({
    verdict: z.enum(VERDICTS).optional(),
    assignee: text(ASSIGNEE_CHARACTERS_MAX).nullable().optional().meta({ description: 'null for nobody' }),
    note: text(NOTE_CHARACTERS_MAX).nullable().optional().meta({ description: 'null removes it' }),
    closed: z.boolean().optional().meta({ description: 'true closes the row without a verdict, false opens it again' }),
  })
  .check(({ value, issues }) => {
    if (Object.values(value).some((field) => field !== undefined)) return;
    issues.push({ code: 'invalid_type', expected: 'string', path: ['verdict'], input: undefined });
  })
  .meta({
    id: 'ReviewChange',
    minProperties: 1,
    examples: [{ verdict: 'fraud' }, { assignee: 'anna', note: 'called' }],
  });
