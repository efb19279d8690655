import * as z from 'zod';
import { DECISIONS, OWN_RULE_MODES } from '../vocabulary.ts';

const TYPE = z.enum(['number', 'text', 'boolean', 'list', 'numbers']);

export const FACT_LIST = z.object({
  data: z.array(
    z.object({
      name: z.string().meta({ description: 'As it is written in a condition; <name> stands for a name of your own' }),
      type: TYPE,
      unit: z.string().optional(),
      meaning: z.string(),
      absent_when: z.string().meta({ description: 'Empty if it never is' }),
    }),
  ),
});

const CONDITION_WARNINGS = z
  .array(
    z.object({
      pointer: z.string(),
      code: z.enum(['amount_without_currency', 'list_unusable', 'unknown_field']),
      message: z.string().optional().meta({ description: 'Absent with unknown_field' }),
      did_you_mean: z.string().optional(),
    }),
  )
  .meta({
    description:
      'What is probably not meant, and members of the request that were ignored. list_unusable: the condition is unknown, because a named list is missing or has values of another kind',
  });

export const CHECKED_RULE = z.object({
  ok: z.literal(true),
  type: z.literal('boolean'),
  facts: z.array(z.string()).meta({ description: 'The facts in the condition, without identities' }),
  cost: z.int().meta({ description: 'Most steps of one evaluation; at most 2,000' }),
  warnings: CONDITION_WARNINGS,
  sample: z
    .object({
      decisions: z.int().meta({ description: 'Decisions that were examined' }),
      since: z.int().nullable().meta({ description: 'The oldest of them, Unix seconds' }),
      matches: z.int(),
      undecided: z.int().meta({ description: 'Decisions on which it depends on facts that are not kept' }),
      devices: z.int().meta({ description: 'Distinct devices or sessions of the matches' }),
      facts_missing: z.array(z.string()).meta({ description: 'Facts of the condition that are not kept' }),
      examples: z.array(z.string()).meta({ description: 'Request ids of the newest matches, at most 5' }),
    })
    .nullable()
    .optional()
    .meta({ description: 'With "sample": true; null while too many searches run' }),
});

const CONDITION_ERROR = z.object({
  code: z.enum(['unknown_fact', 'type_error', 'syntax_error', 'too_costly']),
  line: z.int().meta({ description: 'From 1' }),
  column: z.int().meta({ description: 'From 1, in UTF-16 units' }),
  message: z.string(),
  did_you_mean: z.string().optional(),
});

const TOUCHED = z.object({
  touched: z.int().meta({ description: 'Decisions that it fired on' }),
  decisions: z.int().meta({ description: 'Decisions of its event types that were requested with a secret key' }),
});

const FIELDS = {
  code: z.string(),
  when: z.string(),
  weight: z.number().nullable().meta({ description: 'Null if the rule has a decision' }),
  decision: z.enum(DECISIONS).nullable().meta({ description: 'Null if the rule has a weight' }),
  mode: z.enum(OWN_RULE_MODES),
  event_types: z.array(z.string()).nullable().meta({ description: 'Null for all' }),
  note: z.string(),
  expires_at: z.int().nullable().meta({ description: 'Unix seconds; null for ever' }),
  source: z.enum(['policy', 'api']),
  shadowed: z.boolean().meta({ description: 'The policy file has a rule with this code, which counts instead' }),
  errors: z
    .array(CONDITION_ERROR)
    .meta({ description: 'Why the rule does not run, for example because an attribute is not declared any more' }),
  warnings: CONDITION_WARNINGS,
  predicted: TOUCHED.nullable().meta({
    description:
      'What the circuit breaker compares with; null: nothing is known, and no circuit breaker watches the rule',
  }),
  tripped_at: z.int().nullable().meta({
    description:
      'When the circuit breaker set it back to observe, Unix seconds; null if it did not, or the rule was changed since',
  }),
  tripped: TOUCHED.nullable().meta({ description: 'What the rule had done then, in at most an hour' }),
  created_at: z.int().nullable().meta({ description: 'Unix seconds; null for a rule of the policy file' }),
  updated_at: z.int().nullable().meta({ description: 'Unix seconds; null for a rule of the policy file' }),
};

export const OWN_RULE = z.object(FIELDS);

export const OWN_RULE_LIST = z.object({
  data: z.array(
    z.object({
      ...FIELDS,
      fired_24h: z.int().meta({ description: 'Decisions of 24 hours that it had an effect on' }),
      observed_24h: z.int().meta({ description: 'Decisions of 24 hours that it fired on while it was only observed' }),
      people_24h: z.int().meta({
        description: 'Distinct persons of both: the first entity of a decision, or its session without one',
      }),
    }),
  ),
  undeclared_attributes: z.array(z.object({ name: z.string(), did_you_mean: z.string().optional() })).meta({
    description:
      'Attributes that requests with a secret key had since the start of this node, and that nothing reads because the policy does ' +
      'not declare them; at most 64',
  }),
  ignored_members: z.array(z.object({ name: z.string(), did_you_mean: z.string().optional() })).meta({
    description:
      'Members of decide requests with a secret key, since the start of this node, that nothing reads; at most 64',
  }),
  unreadable: z.int().meta({ description: 'Stored rules that this version cannot read; they do not run' }),
  examined: z.object({
    decisions: z.int(),
    since: z.int().nullable().meta({ description: 'Unix seconds; null without a decision' }),
    is_truncated: z.boolean().meta({ description: 'There were more decisions in 24 hours, or more people' }),
  }),
});
