import * as z from 'zod';
import { KEY_SCOPES } from '../../kernel/key-scopes.ts';
import { KEY_NAME_CHARACTERS_MAX, KEY_NETWORKS_MAX } from '../../kernel/limits.ts';
import { canonicalNetwork } from '../../kernel/network-set.ts';
import { text } from './request-text.ts';

/** Choice: longer than every network in CIDR form. */
const NETWORK_CHARACTERS_MAX = 64;
const NETWORK_FORM = 'This must be an IP address or a network such as 203.0.113.0/24, without bits beyond its prefix.';

const network = z
  .string()
  .max(NETWORK_CHARACTERS_MAX)
  .transform((given, context) => {
    const canonical = canonicalNetwork(given);
    if (canonical !== null) return canonical;
    context.addIssue({ code: 'custom', message: NETWORK_FORM });
    return z.NEVER;
  });

/** Choice: a week, as for secrets of webhooks. */
const GRACE_SECONDS_MAX = 7 * 86_400;

/** The body of `POST /v1/keys/{prefix}/rotate`. */
export const KEY_ROTATION = z
  .object({
    grace_seconds: z
      .int()
      .min(0)
      .max(GRACE_SECONDS_MAX)
      .nullish()
      .meta({ default: 0, description: 'How long the old key stays valid' }),
  })
  .meta({ id: 'KeyRotation' });

/** The body of `POST /v1/keys`. */
export const NEW_KEY = z
  .object({
    name: text(KEY_NAME_CHARACTERS_MAX).refine((name) => name.trim() !== '', 'This must not be empty.'),
    scopes: z
      .array(z.enum(KEY_SCOPES))
      .min(1)
      .max(KEY_SCOPES.length)
      .nullish()
      .meta({ description: 'By default those of the calling key, without gate' }),
    expires_at: z.int().min(1).max(253_402_300_799).nullish().meta({
      description: 'Unix seconds, in the future; the key is unknown from then on. By default as the calling key',
    }),
    networks: z.array(network).min(1).max(KEY_NETWORKS_MAX).nullish().meta({
      description: 'Addresses and networks (CIDR) that the key may be used from. By default as the calling key',
    }),
    gate: z.boolean().nullish().meta({ description: 'The scope gate alone' }),
    test: z.boolean().nullish().meta({ description: 'A test key, sk_test_…. A test key makes test keys only' }),
  })
  .refine(({ gate, scopes }) => gate !== true || (scopes ?? ['gate']).join() === 'gate', {
    path: ['gate'],
    message: 'This must stand without scopes.',
  })
  .meta({ id: 'NewKey', examples: [{ name: 'shop', scopes: ['decide'], networks: ['203.0.113.0/24'] }] });
