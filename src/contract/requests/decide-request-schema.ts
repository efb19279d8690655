import * as z from 'zod';
import { OUTCOMES } from '../vocabulary.ts';

const text = z.string().nullish();

/**
 * The body of `POST /v1/decide`. `risk/decide-request.ts` reads it by hand, because a schema is too slow there; a property test keeps the
 * two consistent. The limits beyond which the reader ignores input (entities after the 32nd, headers after the 64th) are not part of the
 * schema.
 */
export const DECIDE_REQUEST = z
  .object({
    session_token: text.meta({ description: 'Without a token the decision is SOFT_CHALLENGE at once.' }),
    event_type: text.meta({
      description: 'login, signup, checkout, payment, search or any other text; case-insensitive.',
      examples: ['login', 'signup', 'checkout', 'payment', 'search'],
    }),
    ip: text.meta({ description: "The client's address. An invalid address is not an error." }),
    user_agent: text.meta({ description: 'The first 1,024 characters count.' }),
    url: text.meta({ description: 'URL of the page; the first 4,096 characters count.' }),
    referrer: text.meta({ description: 'URL of the previous page; the first 4,096 characters count.' }),
    entity_keys: z
      .record(z.string(), z.union([z.string(), z.number(), z.null()]))
      .nullish()
      .meta({ description: 'The first 32 entries count, with names of up to 64 and values of up to 256 characters.' }),
    headers: z
      .record(z.string(), z.union([z.string(), z.number(), z.array(z.string()), z.null()]))
      .nullish()
      .meta({
        description: "The client's headers; the first 64 count. TLS fingerprints: x-svc-ja3, x-svc-ja4.",
      }),
    attributes: z
      .record(
        z.string().regex(/^[a-z][a-z0-9_]{0,31}$/),
        z.union([z.string().max(256), z.number(), z.boolean(), z.array(z.string().max(256)).max(16), z.null()]),
      )
      .refine((given) => Object.keys(given).length <= 32)
      .nullish()
      .meta({
        description:
          'What you know besides, for rules of your own: at most 32. Types are those that the policy declares; another type counts as absent.',
        examples: [{ amount: 812.5, currency: 'EUR', first_order: true }],
      }),
    http_signature: z
      .object({
        signature_input: text.meta({
          description: 'Signature-Input, as the visitor sent it; at most 2,048 characters.',
        }),
        signature: text.meta({ description: 'Signature; at most 1,024 characters.' }),
        signature_agent: text.meta({ description: 'Signature-Agent, in either form; at most 512 characters.' }),
        method: text.meta({ examples: ['GET'] }),
        authority: text.meta({
          description:
            'Your host that served the request, with a port that is not the default one. Never one that you do not serve.',
          examples: ['shop.example'],
        }),
        path: text.meta({ description: 'With the query, as in the request line.', examples: ['/products?page=2'] }),
      })
      .nullish()
      .meta({
        description:
          'The request of a visitor that signs it (Web Bot Auth, RFC 9421, Ed25519). Header fields that the signature covers are ' +
          'read from headers. Never an error: what does not verify is not verified.',
      }),
    // `z.int()` rejects integers beyond 2^53, which the reader accepts.
    timestamp: z
      .number()
      .refine(Number.isInteger)
      .meta({ type: 'integer' })
      .nullish()
      .meta({ description: "The client's own Unix time; informational." }),
    outcome: z
      .enum(OUTCOMES)
      .nullish()
      .meta({
        description:
          'The outcome of the action, for callers that request a decision afterwards. Any other text gives 400. ' +
          'In a request with a public key it is validated but not counted.',
      }),
  })
  .meta({
    id: 'DecideRequest',
    description:
      'At most 32 levels deep, no duplicate names at the top level. ' +
      'In a body with more than 512 names and texts, the first 256 of each field count. ' +
      'null means absent; unknown fields are ignored.',
    examples: [
      {
        event_type: 'login',
        session_token: 'my-first-session',
        ip: '81.2.69.160',
        user_agent: 'curl/8.14.1',
        entity_keys: { email: 'anna@example.com' },
      },
    ],
  });
