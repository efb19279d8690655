import * as z from 'zod';
import { POLICY_EVENT_TYPES_MAX } from '../../kernel/limits.ts';
import { DECISIONS, OWN_RULE_MODES } from '../vocabulary.ts';
import { text } from './request-text.ts';

/** Source: contract, 6.7. */
const RULE_NOTE_CHARACTERS_MAX = 200;
const EVENT_TYPE_CHARACTERS_MAX = 64;

const EVENT_TYPES_OF_RULE = z
  .array(
    text(EVENT_TYPE_CHARACTERS_MAX)
      .transform((value) => value.trim().toLowerCase())
      .refine((value) => value !== '', 'This must be an event type.'),
  )
  .min(1)
  .max(POLICY_EVENT_TYPES_MAX)
  .nullish()
  .meta({ description: 'Only for these; null for all' });

/** The body of `POST /v1/rules/check`. Conditions of up to 1,000 characters are compiled; longer ones get their own error. */
const WHEN = z
  .string('This must be a text.')
  .meta({ description: 'A condition' })
  .transform((value) => Buffer.from(value).toString());

export const RULE_CHECK = z
  .object({
    when: WHEN,
    sample: z.boolean().nullish().meta({ description: 'Also evaluate it on the newest 1,000 decisions' }),
    event_types: EVENT_TYPES_OF_RULE,
  })
  .meta({ id: 'RuleCheck', examples: [{ when: 'event.type == "payment" && attributes.amount > 500' }] });

const FIELDS = {
  when: WHEN,
  weight: z.number().min(0).max(1).nullish().meta({ description: 'Joins the score, in the family own' }),
  decision: z.enum(DECISIONS).nullish().meta({ description: 'The mildest decision while the rule fires' }),
  mode: z.enum(OWN_RULE_MODES).optional(),
  event_types: EVENT_TYPES_OF_RULE,
  note: text(RULE_NOTE_CHARACTERS_MAX).nullish(),
  expires_at: z.int().min(1).max(1e11).nullish().meta({ description: 'Unix seconds; null for ever' }),
  predicted: z
    .object({ touched: z.int().min(0).max(1e12), decisions: z.int().min(0).max(1e12) })
    .nullish()
    .meta({
      description:
        'What it did in a backtest; the circuit breaker compares with it. Without it, what it did while it was observed with this condition; ' +
        'null: no circuit breaker',
    }),
};

const EITHER = 'This must be given without the other one of weight and decision.';
const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

/** The body of `PUT /v1/rules/{code}`. */
export const RULE_PUT = z
  .object({ ...FIELDS, mode: FIELDS.mode.meta({ default: 'observe' }) })
  .refine(({ weight, decision }) => isGiven(weight) !== isGiven(decision), { path: ['weight'], message: EITHER })
  .meta({
    id: 'RulePut',
    description: 'Exactly one of weight and decision is given.',
    examples: [{ when: 'event.type == "payment" && attributes.amount > 500', decision: 'REVIEW', mode: 'observe' }],
  });

/** The body of `PATCH /v1/rules/{code}`. */
export const RULE_PATCH = z
  .object({ ...FIELDS, when: FIELDS.when.optional() })
  .refine(({ weight, decision }) => !isGiven(weight) || !isGiven(decision), { path: ['weight'], message: EITHER })
  .meta({
    id: 'RulePatch',
    description: 'Changes the given fields. A weight replaces the decision, and a decision the weight.',
    examples: [{ mode: 'enforce' }],
  });

/** Choice: as many as a customer may have over the API. */
const BACKTEST_RULES_MAX = 200;

/** The body of `POST /v1/policy/backtest`. Conditions and the policy are checked by the handler, with positions. */
export const BACKTEST = z
  .object({
    policy: z
      .record(z.string(), z.unknown())
      .nullish()
      .meta({ description: 'The content of a policy file. Without it the present one' }),
    rules: z
      .array(RULE_PUT.safeExtend({ code: z.string('This must be a text.') }))
      .max(BACKTEST_RULES_MAX)
      .nullish()
      .meta({ description: 'Instead of the rules that you wrote over the API. Without it these' }),
    since: z.int().min(0).max(253_402_300_799).meta({ description: 'Decisions from then on count; Unix seconds' }),
    until: z.int().min(0).max(253_402_300_799).nullish().meta({ description: 'Only decisions before then' }),
  })
  .meta({
    id: 'Backtest',
    description: 'At least one of policy and rules is given.',
    examples: [
      {
        since: 1_793_430_000,
        rules: [{ code: 'own_big', when: 'attributes.amount > 500', decision: 'REVIEW', mode: 'enforce' }],
      },
    ],
  });
