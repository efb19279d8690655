import * as z from 'zod';
import { ENTITY_NAME_CHARACTERS_MAX, LIST_EXPIRY_SECONDS_MAX, NOTE_CHARACTERS_MAX } from '../../kernel/limits.ts';
import { ENTITY_KIND, LIST_KINDS, TEXT_KIND } from '../vocabulary.ts';
import { text } from './request-text.ts';

/** The body of `PUT /v1/named-lists/{name}`. */
export const NAMED_LIST_PUT = z
  .object({
    kind: z
      .string('This must be a text.')
      .max(ENTITY_KIND.length + ENTITY_NAME_CHARACTERS_MAX)
      .meta({ description: `One of ${LIST_KINDS.join(', ')}, ${TEXT_KIND}, or entity.<name>. It stays` }),
    note: text(NOTE_CHARACTERS_MAX).nullish(),
  })
  .meta({ id: 'NamedListPut', examples: [{ kind: 'email_domain', note: 'partners of the shop' }] });

/** Source: contract, 7.6. */
export const NAMED_ITEMS_PER_CALL_MAX = 10_000;

const IMPORT_ID = /^[\w-]{1,64}$/;

const VALUE = z.union([z.string(), z.int()], 'This must be a text.').meta({ description: 'A value of the kind' });
const ADDED = z.union(
  [VALUE, z.object({ value: VALUE, expires_at: z.int().min(0).max(LIST_EXPIRY_SECONDS_MAX).nullish() })],
  'This must be a text, or an object with value and expires_at.',
);

/** The body of `POST /v1/named-lists/{name}/items`. Values that the kind does not have are rejected one by one, by the handler. */
export const NAMED_ITEMS_CHANGE = z
  .object({
    add: z
      .array(ADDED)
      .max(NAMED_ITEMS_PER_CALL_MAX)
      .nullish()
      .meta({ description: 'With expires_at (Unix seconds) an item ends at that second' }),
    remove: z
      .array(VALUE)
      .max(NAMED_ITEMS_PER_CALL_MAX)
      .nullish()
      .meta({ description: 'As written, or as shown. A value in both is added' }),
    import: z
      .string('This must be a text.')
      .regex(IMPORT_ID, 'This must be 1 to 64 letters, digits, - or _.')
      .nullish()
      .meta({ description: 'The same in several calls that follow each other: they make one version of the list' }),
  })
  .refine(({ add, remove }) => (add?.length ?? 0) + (remove?.length ?? 0) <= NAMED_ITEMS_PER_CALL_MAX, {
    path: ['add'],
    message: `add and remove must have at most ${NAMED_ITEMS_PER_CALL_MAX} items together.`,
  })
  .meta({
    id: 'NamedItemsChange',
    description: `At most ${NAMED_ITEMS_PER_CALL_MAX} items in all.`,
    examples: [
      { add: ['partner.example', { value: 'fair.example', expires_at: 1_798_761_600 }], remove: ['old.example'] },
    ],
  });

/** The body of `POST /v1/named-lists/{name}/restore`. */
export const NAMED_LIST_RESTORE = z
  .object({
    version: z
      .int('This must be a whole number.')
      .min(1, 'This must be 1 or more.')
      .meta({ description: 'A version that GET …/versions shows' }),
  })
  .meta({ id: 'NamedListRestore', examples: [{ version: 7 }] });
