import * as z from 'zod';
import { EXPLANATION_LANGUAGES, LABELS, OUTCOMES, SESSION_MODES } from '../vocabulary.ts';
import { BANDS } from './policy-responses.ts';
import {
  CLAIMED_AGENT,
  decision,
  hash,
  pageOf,
  reasons,
  requestId,
  score,
  unixSeconds,
  wouldBe,
} from './response-parts.ts';

const ANSWER = {
  request_id: requestId,
  decision,
  would_be: wouldBe,
  score,
  reasons,
  review_hint: z.string(),
  session_mode: z.enum(SESSION_MODES),
  shadow_routed: z.boolean(),
  latency_ms: z.int().min(0),
};

/** The response of `POST /v1/decide`. */
export const DECISION = z
  .object({
    ...ANSWER,
    fingerprint_hash: hash.optional().meta({ description: 'The key of list entries. Absent without a session token.' }),
  })
  .meta({ id: 'Decision' });

const CONTRIBUTION = z.object({
  reason: z.string(),
  family: z.string().meta({
    description: 'Only the largest weight of a family counts; unknown for a reason of another version',
  }),
  weight: z.number().min(0).max(1),
  evidence: z.string().meta({ description: "What the rule found; may contain part of the client's own text" }),
  decision: decision.optional().meta({ description: 'The decision that a rule of your own asks for; its weight is 0' }),
  observed: z.literal(true).optional().meta({
    description: 'A rule of your own in mode observe: it changed nothing, and is not in reasons',
  }),
});

/** Fields of the request that a decision was about. */
export const SUBJECT = {
  ip: z.string().nullable().meta({ description: 'Canonical form; null if no valid address was given' }),
  country: z.string().nullable().meta({ description: 'Country of the IP address' }),
  event_type: z.string().meta({ description: 'In lower case; empty if none was given' }),
  occurred_at: unixSeconds.meta({ description: 'Unix seconds' }),
};

const AGENT = z.object({
  browser: z.string(),
  system: z.string(),
  form: z.string(),
  automation: z.string().meta({ description: 'none, bot, http_library, headless or ai' }),
  claimed: z.string().nullable().meta({ description: 'The crawler that the user agent names; null for none' }),
  ...CLAIMED_AGENT,
});

const LOCATION = z.object({
  latitude: z.number().min(-90).max(90).meta({ description: 'Rounded to a tenth of a degree' }),
  longitude: z.number().min(-180).max(180),
  accuracy_km: z.int().min(0).nullable(),
});

export const LOGGED_DECISION = z
  .object({
    ...ANSWER,
    fingerprint_hash: hash.nullable().meta({ description: 'null without a session token' }),
    ...SUBJECT,
    contributions: z.array(CONTRIBUTION).meta({ description: 'In the order of the reasons' }),
    path: z.string().nullable().meta({
      description: 'Path of the URL without its query, up to 100 characters. null also in decisions of older builds',
    }),
    network: z.string().nullable().meta({ description: 'The /24 or /48 of the address' }),
    agent: AGENT.nullable(),
    location: LOCATION.nullable(),
    links: z.array(z.object({ kind: z.string(), id: z.string() })).meta({
      description: 'What it may have in common with other decisions. An id is a value for GET /v1/links',
    }),
    label: z.enum(LABELS).nullable().meta({ description: 'The label set by POST /v1/labels' }),
  })
  .meta({ id: 'LoggedDecision' });

const EXPLAINED = {
  contributions: z
    .array(
      CONTRIBUTION.extend({
        counts: z.boolean().meta({ description: 'It has the largest weight of its family' }),
        without: z
          .object({ score, decision: decision.nullable() })
          .nullable()
          .meta({
            description:
              'The score and the decision without this reason, everything else unchanged. The decision is null if the bands are ' +
              'unknown; null for a reason without which the rules would have run',
          }),
      }),
    )
    .meta({ description: 'In the order of the reasons' }),
  families: z
    .array(
      z.object({
        family: z.string(),
        reason: z.string().meta({ description: 'The reason that counts' }),
        from: score,
        to: score,
      }),
    )
    .meta({ description: 'Steps from 0 to the score, the largest weight first' }),
  overridden_by: z
    .enum(['list_block', 'list_allow', 'missing_session_token', 'test_input'])
    .nullable()
    .meta({ description: 'The reason that made the decision whatever the score is' }),
  policy_version: z.string().nullable().meta({ description: 'null if that policy is no longer known' }),
  bands: BANDS.nullable().meta({
    description: 'The bands that applied to this event type; null if that policy is no longer known',
  }),
  signals: z
    .record(z.string(), z.number())
    .nullable()
    .meta({
      description:
        'What the rules read of the request, by name: its token, address, agent, headers and history. 0 is "no" or "not known". ' +
        'null if they were not kept: for an ALLOW outside of the sample, without a session token, and for decisions of older builds',
    }),
  outcome: z.enum(OUTCOMES).nullable().meta({ description: 'As given in the request itself' }),
};

/** One decision of a look-up: that of a page, and what it follows from. */
export const EXPLAINED_DECISION = LOGGED_DECISION.extend(EXPLAINED).meta({ id: 'ExplainedDecision' });

/** The response of `POST /v1/simulate`. */
export const SIMULATION = LOGGED_DECISION.omit({ label: true }).extend(EXPLAINED).meta({ id: 'Simulation' });

export const LOGGED_DECISION_PAGE = pageOf(LOGGED_DECISION).meta({ id: 'LoggedDecisionPage' });

/** Source: contract, 9.4. */
export const PERSON_EXPLANATION = z
  .object({
    request_id: z.string(),
    lang: z.enum(EXPLANATION_LANGUAGES),
    occurred_at: unixSeconds,
    decision: z.string().meta({ description: 'A sentence' }),
    reasons: z.array(z.string()).meta({ description: 'Sentences, the most important first' }),
  })
  .meta({ id: 'PersonExplanation' });
