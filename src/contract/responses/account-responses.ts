import * as z from 'zod';
import { KEY_SCOPES } from '../../kernel/key-scopes.ts';
import { count, pageOf, unixSeconds } from './response-parts.ts';

const keyKind = z.enum(['secret', 'public']);
const keyPrefix = z.string().meta({ description: 'The first 12 characters of the key' });
const scopes = z.array(z.enum(KEY_SCOPES)).meta({ description: 'What the key may do' });
const expiresAt = unixSeconds.nullable().meta({ description: 'The key is unknown from then on; null for ever' });
const networks = z
  .array(z.string())
  .meta({ description: 'The key may be used from these only; empty for every address' });
const isTest = z.boolean().meta({ description: 'A test key, whose data is apart from that of live keys' });
const rateLimit = z.int().min(0).meta({ description: 'Decide calls in a minute' });

export const ME = z
  .object({
    customer_id: z.string(),
    name: z.string(),
    created_at: unixSeconds,
    key_prefix: keyPrefix,
    key_kind: keyKind,
    test: isTest,
    scopes,
    rate_limit: rateLimit,
    management_rate_limit: z.int().min(0).meta({ description: 'Other calls in a minute' }),
    policy: z.object({
      version: z.string(),
      mode: z.enum(['enforce', 'observe']).meta({ description: 'Of event types without a mode of their own' }),
      challenger: z.string().nullable().meta({ description: "Version of the challenger's policy" }),
    }),
    service_version: z.string(),
    server_time: unixSeconds,
  })
  .meta({
    id: 'Me',
    examples: [
      {
        customer_id: 'cus_01KAS3T3KCSGQ9C3ZK8A4M1Q2V',
        name: 'Shop',
        created_at: 1_795_262_400,
        key_prefix: 'sk_live_4f2a',
        key_kind: 'secret',
        test: false,
        scopes: ['decide', 'read', 'write', 'admin'],
        rate_limit: 6_000,
        management_rate_limit: 6_000,
        policy: { version: '7b0c4d1e', mode: 'enforce', challenger: null },
        service_version: '0.1.0',
        server_time: 1_795_348_800,
      },
    ],
  });

const KEY_USAGE = z.object({
  since: unixSeconds.meta({
    description: 'Counted from then on: at most 24 hours ago, and never before the last start',
  }),
  calls: count.meta({ description: 'Accepted calls, decide and others' }),
  refusals: z.record(z.string(), count).meta({ description: 'Refused calls of this key, by problem code' }),
  last_used_at: unixSeconds.nullable().meta({ description: 'Last accepted call; null if none since the last start' }),
});

export const API_KEY = z
  .object({
    prefix: keyPrefix,
    name: z.string().meta({ description: 'Empty for a key without a name' }),
    kind: keyKind,
    test: isTest,
    scopes,
    networks,
    created_at: unixSeconds,
    expires_at: expiresAt,
    revoked_at: unixSeconds.nullable(),
    replaced_by: keyPrefix
      .nullable()
      .meta({ description: 'Prefix of the key that replaces this one, which is valid until `expires_at`' }),
    rate_limit: rateLimit,
    origins: z.array(z.string()).meta({ description: 'Origins whose scripts may use the key' }),
    is_current: z.boolean().meta({ description: 'This call was made with it' }),
    usage: KEY_USAGE,
  })
  .meta({
    id: 'ApiKey',
    examples: [
      {
        prefix: 'sk_live_4f2a',
        name: 'shop',
        kind: 'secret',
        test: false,
        scopes: ['decide'],
        networks: [],
        created_at: 1_795_262_400,
        expires_at: null,
        revoked_at: null,
        replaced_by: null,
        rate_limit: 6_000,
        origins: [],
        is_current: true,
        usage: { since: 1_795_262_400, calls: 120, refusals: { rate_limited: 2 }, last_used_at: 1_795_348_799 },
      },
    ],
  });

export const NEW_API_KEY = z
  .object({
    prefix: keyPrefix,
    name: z.string(),
    test: isTest,
    scopes,
    networks,
    expires_at: expiresAt,
    secret_key: z.string().optional().meta({ description: 'Absent when a public key was replaced' }),
    public_key: z.string().optional().meta({ description: 'With the scope decide only' }),
  })
  .meta({ id: 'NewApiKey' });

export const API_KEY_PAGE = pageOf(API_KEY).meta({ id: 'ApiKeyPage' });
