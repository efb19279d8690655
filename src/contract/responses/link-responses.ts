import * as z from 'zod';
import { LIST_ACTIONS } from '../vocabulary.ts';
import { SHARED_REGISTRY } from './list-responses.ts';
import { count, decision, identities, unixSeconds } from './response-parts.ts';

const seen = unixSeconds.nullable();
const truncated = z.boolean().meta({ description: 'There are older decisions, which are not counted' });

export const LINK_SUMMARY = z
  .object({
    kind: z.string(),
    decisions: count,
    blocked: count.meta({ description: 'BLOCK' }),
    challenged: count.meta({ description: 'SOFT_CHALLENGE' }),
    first_seen: seen.meta({ description: 'null without a decision' }),
    last_seen: seen,
    truncated,
    neighbours: z.array(
      z.object({
        kind: z.string(),
        id: z.string().meta({ description: 'Can be used as a value: the value itself, or hash: and 16 hex digits' }),
        count,
        worst: decision.meta({ description: 'The most severe decision' }),
        last_seen: unixSeconds,
      }),
    ),
  })
  .meta({ id: 'LinkSummary' });

const period = z.object({
  sessions: count,
  identities,
  addresses: count,
  networks: count.meta({ description: '/24 or /48' }),
  countries: count,
  decisions: z.object({ ALLOW: count, ALLOW_WATCH: count, SOFT_CHALLENGE: count, REVIEW: count, BLOCK: count }),
});

export const FINGERPRINT = z
  .object({
    first_seen: seen.meta({ description: 'null if no decision is left' }),
    last_seen: seen,
    day: period.meta({ description: 'Distinct values of the last 24 hours' }),
    month: period.meta({ description: 'Distinct values of the last 30 days' }),
    truncated,
    common: z.boolean().meta({ description: 'It comes from too many networks for one device' }),
    list_action: z.enum(LIST_ACTIONS).nullable(),
    shared_registry: SHARED_REGISTRY.optional(),
  })
  .meta({ id: 'Fingerprint' });
