import * as z from 'zod';
import { VERSION_LOSSES } from '../../kernel/version-loss.ts';
import { count, pageOf, unixSeconds } from './response-parts.ts';

export const NAMED_LIST = z
  .object({
    name: z.string().meta({ description: 'In conditions list.<name>', examples: ['partners'] }),
    kind: z.string().meta({ description: 'As in the request', examples: ['email_domain'] }),
    note: z.string().nullable(),
    items: count.meta({ description: 'With items that have ended and were not removed yet' }),
    used_by: z.array(z.string()).meta({
      description: 'Codes of the rules that name it: of the API, of the policy file and of its challenger',
    }),
    created_at: unixSeconds,
    updated_at: unixSeconds,
  })
  .meta({ id: 'NamedList' });

export const NAMED_LIST_LIST = z.object({
  data: z.array(NAMED_LIST).meta({ description: 'By name' }),
  items: count.meta({ description: 'Of all lists, with those of deleted lists that were not removed yet' }),
  items_max: count,
});

export const NAMED_ITEM = z
  .object({
    value: z.string().meta({
      description: 'In its one form; of an identity that may not be kept `hash:` and 32 digits',
      examples: ['partner.example'],
    }),
    created_at: unixSeconds,
    expires_at: unixSeconds.nullable(),
  })
  .meta({ id: 'NamedItem' });

export const NAMED_ITEM_PAGE = pageOf(NAMED_ITEM).meta({ id: 'NamedItemPage' });

export const NAMED_ITEMS_CHANGED = z.object({
  added: count.meta({ description: 'Items that were not in the list; for the others only expires_at is replaced' }),
  removed: count.meta({ description: 'Items that were in the list' }),
  rejected: z.array(
    z.object({
      index: count.meta({ description: 'Position in add or remove, from 0' }),
      code: z.literal('invalid_value'),
      pointer: z.string().meta({ description: 'Which of the two', examples: ['/add/3'] }),
      message: z.string(),
    }),
  ),
});

export const NAMED_LIST_VERSION = z
  .object({
    version: count.meta({ description: 'The list as it was before a write, numbered by writes', examples: [7] }),
    replaced_at: unixSeconds.meta({ description: 'When that write began' }),
    replaced_by: z.string().meta({ description: 'Who wrote, as in the audit log', examples: ['key:sk_live_4fQ2'] }),
    added: count.meta({ description: 'Items that the write added' }),
    removed: count.meta({ description: 'Items that it removed' }),
    restorable: z.boolean(),
    reason: z.enum(VERSION_LOSSES).nullable().meta({
      description:
        'Why it cannot be brought back: its write or a later one replaced too much (16 MiB), or there was no room (64 MiB of all lists)',
    }),
  })
  .meta({ id: 'NamedListVersion' });

export const NAMED_LIST_VERSION_LIST = z.object({
  data: z.array(NAMED_LIST_VERSION).meta({ description: 'At most 3, the newest first' }),
});
