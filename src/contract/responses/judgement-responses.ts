import * as z from 'zod';
import { ASSIGNEE_CHARACTERS_MAX, NOTE_CHARACTERS_MAX, OUTCOMES_PER_CALL_MAX } from '../../kernel/limits.ts';
import { LABELS, REVIEW_REASONS, VERDICTS } from '../vocabulary.ts';
import { decision, pageOf, requestId, score, unixSeconds, wouldBe } from './response-parts.ts';

const REJECTED = z.object({
  index: z.int().meta({ description: 'Index of the report in the request, from 0.' }),
  code: z.enum(['unknown_request', 'invalid_outcome']).meta({
    description: '`unknown_request`: not a decision of this customer, or older than 24 hours.',
  }),
});

export const OUTCOME_RESULT = z
  .object({ accepted: z.int().min(0).max(OUTCOMES_PER_CALL_MAX), rejected: z.array(REJECTED) })
  .meta({ id: 'OutcomeResult', examples: [{ accepted: 2, rejected: [{ index: 1, code: 'unknown_request' }] }] });

export const LABEL = z
  .object({
    request_id: requestId,
    label: z.enum(LABELS),
    note: z.string().meta({ maxLength: NOTE_CHARACTERS_MAX }).nullable(),
    created_at: unixSeconds.meta({ description: 'Unix seconds' }),
  })
  .meta({ id: 'Label' });

export const SHADOW_REVIEW = z
  .object({
    request_id: requestId,
    decision,
    would_be: wouldBe,
    score,
    reasons: z.array(z.string()),
    why: z.enum(REVIEW_REASONS).meta({
      description:
        '`sample`: part of the deterministic sample. `near_block`: at most 3 points below BLOCK. ' +
        '`challenger`: a shadow policy gives another band, or a shadow model would stop what passed or finds no fraud in what was ' +
        'stopped. `review`: a REVIEW to which none of these applies',
    }),
    occurred_at: unixSeconds.meta({ description: 'Unix seconds' }),
    verdict: z.enum(VERDICTS).nullable(),
    assignee: z.string().meta({ maxLength: ASSIGNEE_CHARACTERS_MAX }).nullable(),
    note: z.string().meta({ maxLength: NOTE_CHARACTERS_MAX }).nullable(),
    closed_at: unixSeconds.nullable().meta({ description: 'When it was closed without a verdict, Unix seconds' }),
  })
  .meta({ id: 'ShadowReview' });

export const SHADOW_REVIEW_PAGE = pageOf(SHADOW_REVIEW).meta({ id: 'ShadowReviewPage' });
