import * as z from 'zod';
import { DECISIONS } from '../vocabulary.ts';
import { count, decision, reasons, requestId, score, unixSeconds } from './response-parts.ts';

const bound = z.number().min(0).max(100);

/** Lower bounds of the decisions above ALLOW. */
export const BANDS = z
  .object({ ALLOW_WATCH: bound, SOFT_CHALLENGE: bound, REVIEW: bound.nullable(), BLOCK: bound })
  .meta({
    id: 'Bands',
    description: 'The lowest score of each decision; REVIEW is null if no score leads to it',
    examples: [{ ALLOW_WATCH: 30, SOFT_CHALLENGE: 50, REVIEW: null, BLOCK: 80 }],
  });

const version = z.string();
const mode = z.enum(['enforce', 'observe']);
const settingValue = z.union([z.string(), z.number(), z.boolean(), z.null()]);

/** What two policies decide differently for one customer. */
const DIFFERENCE = z
  .object({
    event_type: z.string().nullable().meta({ description: 'null: event types without settings of their own' }),
    kind: z.enum(['band', 'weight', 'threshold', 'rule', 'setting']),
    name: z.string().meta({
      description: 'A decision; a weight or a threshold of a rule; a rule, of which true is on; or another setting',
    }),
    before: settingValue,
    after: settingValue,
  })
  .meta({
    id: 'PolicyDifference',
    examples: [{ event_type: 'login', kind: 'band', name: 'REVIEW', before: null, after: 65 }],
  });

const differences = z.array(DIFFERENCE).meta({ description: 'At most 200' });

const RULE_SETTINGS = {
  enabled: z.boolean(),
  weight: z.number().min(0).max(1).meta({ description: 'The largest weight of its levels' }),
  levels: z.record(z.string(), z.number()).meta({ description: 'Level → weight; `default` is the rule without one' }),
  thresholds: z.record(z.string(), z.number()),
};

const POLICY_RULE = z.object({
  reason: z.string(),
  title: z.string().meta({ description: 'For people, at most 32 characters' }),
  family: z.string(),
  ...RULE_SETTINGS,
  is_changed: z.boolean().meta({ description: "Differs from the rule's own settings" }),
  event_types: z
    .array(z.object({ event_type: z.string(), ...RULE_SETTINGS }))
    .meta({ description: 'Event types for which the rule has other settings' }),
  sentence: z.string().meta({ description: 'What the rule found, as in review_hint' }),
  what_quiets_it: z.string().meta({ description: 'Empty if nothing does' }),
});

export const POLICY = z
  .object({
    version,
    source: z.enum(['file', 'default']),
    loaded_at: unixSeconds,
    is_refused: z.boolean().meta({ description: 'The present policy file is faulty; the last valid one applies' }),
    mode,
    bands: BANDS.meta({ description: 'Of event types that are not in event_types' }),
    event_types: z.array(z.object({ event_type: z.string(), mode, bands: BANDS })),
    grant: z.enum(['optional', 'required']).meta({ description: 'required: a token without a grant is evidence' }),
    sample_rate: z.number(),
    log_identities: z.enum(['none', 'hashed', 'masked', 'plain']),
    log_requests_days: count.meta({ description: 'Days for which requests are kept for backtests; 0: not at all' }),
    retention: z
      .object({ allow: count, flagged: count, labels: count, audit: count, requests: count, features: count })
      .meta({ description: 'Seconds for which rows about people are kept, by class' }),
    rules: z.array(POLICY_RULE),
    challenger: z.object({ version, differences, is_truncated: z.boolean() }).nullable(),
  })
  .meta({ id: 'Policy' });

export const POLICY_HISTORY = z
  .object({
    data: z
      .array(
        z.object({
          at: unixSeconds.meta({ description: 'When it was loaded' }),
          version,
          source: z.enum(['file', 'default']),
          differences: differences.nullable().meta({
            description: 'From the policy before it; null for the first one that is kept',
          }),
          is_truncated: z.boolean().meta({ description: 'There are more differences' }),
        }),
      )
      .meta({ description: 'Newest first; the first one applies' }),
  })
  .meta({ id: 'PolicyHistory' });

export const RULE_COUNTS = z
  .object({
    from: unixSeconds,
    to: unixSeconds,
    examined: z
      .object({
        decisions: count,
        flagged: count,
        since: unixSeconds.nullable().meta({ description: 'Time of the oldest examined decision' }),
        is_truncated: z.boolean().meta({ description: 'There are older decisions in the range' }),
      })
      .meta({ description: 'Decisions that were read for decisive, alone, labels and verdicts; hits cover the range' }),
    rules: z
      .array(
        z.object({
          reason: z.string(),
          family: z.string(),
          hits: count.meta({ description: 'Decisions with the reason, by the statistics: whole hours of the range' }),
          decisive: count.meta({ description: 'Examined decisions that would be milder without it' }),
          alone: count.meta({ description: 'Those of which it is the only reason' }),
          labels: z.object({ fraud: count, legitimate: count }),
          verdicts: z.object({ fraud: count, legitimate: count, unsure: count }),
          precision: z.number().min(0).max(1).nullable().meta({
            description:
              'Share of fraud among its labels and verdicts, a label counting before a verdict; null without one',
          }),
        }),
      )
      .meta({ description: 'Rules that hit, the most frequent first' }),
  })
  .meta({ id: 'RuleCounts' });

const byDecision = z.object(Object.fromEntries(DECISIONS.map((name) => [name, count])) as Record<string, typeof count>);

export const CHALLENGER_COUNTS = z
  .object({
    active: version,
    challenger: z.string().nullable().meta({ description: 'Its version; null without a challenger' }),
    since: unixSeconds.nullable().meta({ description: 'Both apply since then; null without a challenger' }),
    decisions: count.meta({ description: 'Decisions that both made, of the newest 100,000' }),
    is_truncated: z.boolean(),
    moved: count.meta({ description: 'Decisions on which they differ' }),
    matrix: z
      .object(Object.fromEntries(DECISIONS.map((name) => [name, byDecision])) as Record<string, typeof byDecision>)
      .meta({ description: 'Decision made → decision of the challenger → count' }),
    cells: z
      .array(
        z.object({
          from: decision,
          to: decision,
          count,
          examples: z
            .array(
              z.object({ request_id: requestId, score, event_type: z.string(), occurred_at: unixSeconds, reasons }),
            )
            .meta({ description: 'The newest, at most 20' }),
        }),
      )
      .meta({ description: 'Cells outside of the diagonal with a count, the largest first' }),
  })
  .meta({ id: 'ChallengerCounts' });
