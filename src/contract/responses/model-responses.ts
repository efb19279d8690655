import * as z from 'zod';
import { count, unixSeconds } from './response-parts.ts';

const candidateId = z.string().nullable().meta({
  description: 'Null for the files in the folder of models itself, and without a model',
});

const MODEL_SLOT = z
  .object({
    id: candidateId,
    version: z.string().nullable(),
    state: z.enum(['ok', 'absent', 'broken']),
    detail: z.string().meta({ description: 'Why it does not run, or why newer files were refused' }),
    refused: z.boolean().meta({ description: 'Whether newer files were refused, whatever runs now' }),
    since: unixSeconds.nullable().meta({ description: 'When it was chosen; null if that is not known' }),
  })
  .meta({ id: 'ModelSlot' });

const CANDIDATE = z
  .object({
    id: z.string(),
    version: z.string().nullable(),
    format: z.string().nullable().meta({ description: '`forest` or `onnx`' }),
    trained_at: unixSeconds.nullable(),
    prior: z.number().nullable().meta({ description: 'Share of fraud that its probabilities are at' }),
    threshold: z.number().nullable().meta({ description: 'The probability from which it counts' }),
    budget: z.number().nullable().meta({ description: 'Share of honest sessions that it may stop by itself' }),
    shadow_only: z.boolean().meta({ description: 'It knows too few frauds to decide' }),
    gates: z
      .array(z.object({ name: z.string(), holds: z.boolean() }))
      .meta({ description: 'Those of its report; empty without one' }),
    role: z.enum(['active', 'challenger']).nullable(),
  })
  .meta({ id: 'ModelCandidate' });

const SILENCE = z
  .object({
    since: unixSeconds,
    alarms: count.meta({ description: 'Decisions that the model alone stopped, in at most an hour' }),
    decisions: count,
  })
  .meta({ id: 'ModelSilence' });

const ACTIVE_MODEL = MODEL_SLOT.extend({
  silent: SILENCE.nullable().meta({
    description: "Set while the model adds nothing to the caller's decisions, because it stopped five times its budget",
  }),
}).meta({ id: 'ActiveModel' });

export const MODELS = z
  .object({
    active: ACTIVE_MODEL,
    challenger: MODEL_SLOT,
    candidates: z.array(CANDIDATE).meta({ description: 'Newest first, at most 50' }),
  })
  .meta({ id: 'Models' });

const share = z.number().min(0).max(1).nullable();
const SHARE = z
  .object({
    part: count.meta({ description: 'Sessions that it stops, from SOFT_CHALLENGE on' }),
    of: count,
    share: share.meta({ description: 'Null of nothing, as its interval' }),
    low: share,
    high: share,
  })
  .meta({ id: 'ShareInterval', description: 'A share with its 95 % interval (Wilson)' });

const COMPARED = z.object({ active: SHARE, challenger: SHARE }).meta({ id: 'ComparedShares' });

export const MODEL_COMPARISON = z
  .object({
    id: z.string().nullable().meta({ description: 'The challenger; null without one' }),
    since: unixSeconds.nullable().meta({ description: 'When it was chosen' }),
    decisions: count,
    sessions: count,
    alarms: COMPARED.meta({ description: 'Of the honest sessions' }),
    catch: COMPARED.meta({ description: 'Of the fraud sessions' }),
    catch_by_source: z
      .object({ label: COMPARED.optional(), review: COMPARED.optional(), challenge: COMPARED.optional() })
      .meta({ description: 'Fraud sessions by what says that they are; only sources with some' }),
    unlabelled: z.object({
      sessions: count,
      only_active: count.meta({
        description: 'Stopped by the active model and its rules, but not with the challenger',
      }),
      only_challenger: count,
    }),
    gates: z
      .array(
        z.object({
          name: z.enum(['shadow_days', 'fraud_labels', 'honest_labels', 'alarms', 'catch_by_source', 'training']),
          holds: z.boolean(),
          detail: z.string(),
        }),
      )
      .meta({ description: 'What has to hold before a promotion; empty without a challenger' }),
    is_truncated: z.boolean().meta({ description: 'There are more decisions than were counted' }),
  })
  .meta({ id: 'ModelComparison' });

const LABELS = z.object({ fraud: count, legitimate: count }).meta({ id: 'LabelCounts' });

export const MODEL_ROWS = z
  .object({
    decisions: count,
    rows: count.meta({ description: 'Decisions with a feature row' }),
    days: count.meta({ description: 'Days (UTC) with rows' }),
    labels: z.object({ fraud: count, legitimate: count, none: count, blocked: count }).meta({
      description: 'Rows by label or verdict; blocked are BLOCK without one',
    }),
    fraud_sessions: count.meta({ description: 'Sessions with a row that a label or verdict calls fraud' }),
    honest_sessions: count,
    by_source: z
      .array(
        z.object({
          source: z.enum(['label', 'review', 'challenge']),
          ages: z.object({ week: LABELS, month: LABELS, older: LABELS }),
        }),
      )
      .meta({ description: 'Rows by what says what they were, and by the age of that: a week, 30 days, older' }),
    missing: z
      .array(z.string())
      .meta({ description: 'What training needs besides, such as `fraud sessions 0 of 150`' }),
    shadow_only: z.boolean().meta({ description: 'A model from these rows should only be compared' }),
    is_truncated: z.boolean(),
  })
  .meta({ id: 'ModelRows' });

export const MODEL_CHOSEN = z.object({ id: candidateId, previous: candidateId }).meta({ id: 'ModelChosen' });
