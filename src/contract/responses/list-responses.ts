import * as z from 'zod';
import { LIST_ACTIONS } from '../vocabulary.ts';
import { SUBJECT } from './decision-responses.ts';
import {
  count,
  decision,
  hash,
  identities,
  pageOf,
  reasons,
  requestId,
  score,
  unixSeconds,
  wouldBe,
} from './response-parts.ts';
import { FIELD_ERROR } from './problem-responses.ts';

const LIST_WARNING = z.enum(['common_fingerprint', 'broad_entry', 'no_asn_data']).meta({
  id: 'ListWarning',
  readOnly: true,
  description:
    'Only in responses to writes. common_fingerprint: many networks have this fingerprint, so many devices share it. broad_entry: the entry ' +
    "would have concerned over 1 % of the day's sessions. no_asn_data: no database knows the autonomous systems of addresses",
});

const LIST_NETWORKS = count.meta({
  id: 'ListNetworks',
  readOnly: true,
  description:
    "Present with warning: number of distinct networks (/24, /48) of the fingerprint in the caller's traffic of 24 h",
});

export const SHARED_REGISTRY = z
  .object({
    risk_score: z.int().min(0).max(100),
    customers_seen: count.meta({
      description: 'If the entry comes from customers: 3, 5 or 10 (10 or more), one day late',
    }),
  })
  .meta({
    id: 'SharedRegistry',
    readOnly: true,
    description:
      "Present only if the shared registry knows the fingerprint and it is not common in the caller's traffic",
  });

const DAY_USAGE = z
  .object({
    decisions: count,
    sessions: count,
    identities,
    addresses: count,
    networks: count.meta({ description: '/24 or /48' }),
    last_seen: unixSeconds.nullable().meta({ description: 'null without a decision in these 24 hours' }),
    is_truncated: z.boolean().meta({ description: 'Only the newest 100,000 decisions were counted' }),
  })
  .meta({
    id: 'DayUsage',
    readOnly: true,
    description: "Only with usage=true: the caller's own decisions of the last 24 hours with the fingerprint",
    examples: [
      {
        decisions: 412,
        sessions: 400,
        identities: 388,
        addresses: 390,
        networks: 371,
        last_seen: 1_795_348_790,
        is_truncated: false,
      },
    ],
  });

const LIST_USAGE = z
  .object({
    sessions_24h: count,
    identities_24h: identities,
    flagged_24h: count.meta({ description: 'Decisions other than ALLOW' }),
  })
  .meta({
    id: 'ListUsage',
    readOnly: true,
    description:
      'Only in responses to writes: what the entry would have concerned in the last 24 hours, of the newest 100,000 decisions; null for ' +
      'browser, email_domain and user_agent, which decisions do not keep',
  });

export const LIST_ENTRY = z
  .object({
    fingerprint_hash: hash.optional().meta({ description: 'Lower case. Only of the kinds fingerprint and browser' }),
    kind: z.string().meta({ description: 'As in the request', examples: ['network'] }),
    value: z.string().meta({
      description: 'In its one form; of an identity that may not be kept `hash:` and 32 digits',
      examples: ['203.0.113.0/24'],
    }),
    action: z.enum(LIST_ACTIONS),
    event_types: z
      .array(z.string())
      .optional()
      .meta({ description: 'The entry counts for events of these types only' }),
    note: z.string().nullable(),
    created_at: unixSeconds,
    updated_at: unixSeconds,
    expires_at: unixSeconds.nullable(),
    shared_registry: SHARED_REGISTRY.optional(),
    warning: LIST_WARNING.optional(),
    networks_24h: LIST_NETWORKS.optional(),
    day: DAY_USAGE.optional(),
    usage: LIST_USAGE.nullable().optional(),
  })
  .meta({ id: 'ListEntry' });

export const LIST_PAGE = pageOf(LIST_ENTRY).meta({ id: 'ListPage' });

export const LIST_BATCH_RESULT = z
  .object({
    dry_run: z.literal(true).optional().meta({ description: 'Nothing was written' }),
    results: z.array(
      z.object({
        fingerprint_hash: z.string().nullable().optional(),
        kind: z.string().optional(),
        value: z.string().nullable().optional(),
        status: z.literal([200, 201, 422]).meta({ type: 'integer' }),
        code: z.literal('validation_failed').optional(),
        warning: LIST_WARNING.optional(),
        networks_24h: LIST_NETWORKS.optional(),
        usage: LIST_USAGE.nullable().optional(),
        change: z
          .enum(['created', 'replaced', 'unchanged'])
          .optional()
          .meta({ description: 'Only with dry_run=true: what the write would do' }),
        before: z.enum(LIST_ACTIONS).nullable().optional().meta({
          description: 'Only with dry_run=true: the action of the entry that would be replaced; null without one',
        }),
        errors: z.array(FIELD_ERROR).optional(),
      }),
    ),
  })
  .meta({ id: 'ListBatchResult' });

export const CANDIDATE = z
  .object({
    fingerprint_hash: hash,
    request_id: requestId,
    decision,
    would_be: wouldBe,
    score,
    reasons,
    ...SUBJECT,
    sessions: z.int().min(1).meta({
      description: 'Number of matching decisions with this fingerprint among the examined ones',
    }),
    list_action: z
      .enum(LIST_ACTIONS)
      .nullable()
      .meta({ description: "Action of the caller's own entry for the fingerprint" }),
    shared_registry: SHARED_REGISTRY.optional(),
    day: DAY_USAGE.optional(),
  })
  .meta({ id: 'Candidate', description: 'A fingerprint, with its newest matching decision' });

export const CANDIDATE_PAGE = pageOf(CANDIDATE).meta({ id: 'CandidatePage' });
