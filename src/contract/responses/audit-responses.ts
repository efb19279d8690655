import * as z from 'zod';
import { AUDIT_KINDS } from '../vocabulary.ts';
import { pageOf, unixSeconds } from './response-parts.ts';

const FACTS = z.record(z.string(), z.unknown()).nullable();

const AUDIT_ENTRY = z
  .object({
    at: unixSeconds.meta({ description: 'Unix seconds' }),
    actor: z.string().meta({
      description:
        '`key:` and the first 12 characters of the key, followed by `/` and the session if it came from the dashboard; `cli`: the ' +
        'operator; `circuit_breaker`: that of rules of your own; `service`: the service itself',
    }),
    kind: z.enum(AUDIT_KINDS),
    target: z
      .string()
      .nullable()
      .meta({
        description:
          'What was changed: the id of the customer, webhook or decision, the fingerprint hash, or the first 12 characters of the ' +
          'key; null for a batch',
      }),
    before: FACTS.meta({ description: 'Some fields as they were; null if there was nothing' }),
    after: FACTS.meta({ description: 'The same fields as they are now; null if nothing is left' }),
  })
  .meta({
    id: 'AuditEntry',
    examples: [
      {
        at: 1_795_262_400,
        actor: 'key:sk_live_4fQ2',
        kind: 'list.put',
        target: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
        before: { action: 'watch', expires_at: null },
        after: { action: 'block', expires_at: null },
      },
    ],
  });

export const AUDIT_PAGE = pageOf(AUDIT_ENTRY).meta({ id: 'AuditPage' });
