import * as z from 'zod';
import type { FingerprintHash } from '../../kernel/brand.ts';
import {
  ENTITY_NAME_CHARACTERS_MAX,
  LIST_BATCH_ENTRIES_MAX,
  LIST_EXPIRY_SECONDS_MAX,
  NOTE_CHARACTERS_MAX,
} from '../../kernel/limits.ts';
import { ENTITY_KIND, LIST_ACTIONS, LIST_KINDS } from '../vocabulary.ts';
import { text } from './request-text.ts';

/** The format of a fingerprint hash, in upper or lower case. */
export const HASH = /^[0-9a-fA-F]{64}$/;

/** Choice: fits the longest value, a user agent. */
const LIST_VALUE_CHARACTERS_MAX = 1_024;
const LIST_EVENT_TYPES_MAX = 16;
const LIST_EVENT_TYPE = z
  .string()
  .min(1)
  .max(64)
  .transform((type) => type.toLowerCase());

/** The body of `POST /v1/lists`, and an entry of a batch: `fingerprint_hash`, or `kind` and `value`. */
export const LIST_CHANGE = z
  .object({
    fingerprint_hash: z
      .string()
      .regex(HASH, 'This must be 64 hexadecimal digits.')
      .optional()
      .meta({
        description: 'Upper or lower case. Instead of kind and value: a fingerprint, or the hash of a browser id',
      })
      .transform((hash) => hash?.toLowerCase() as FingerprintHash | undefined),
    kind: z
      .string()
      .max(ENTITY_KIND.length + ENTITY_NAME_CHARACTERS_MAX)
      .optional()
      .meta({ description: `One of ${LIST_KINDS.join(', ')}, or entity.<name> for identities of that name` }),
    value: z
      .union([z.string().max(LIST_VALUE_CHARACTERS_MAX), z.int()], 'This must be a text.')
      .optional()
      .meta({ description: 'A value of the kind, in any of its spellings' }),
    action: z.enum(LIST_ACTIONS),
    note: text(NOTE_CHARACTERS_MAX).nullish(),
    expires_at: z.int().max(LIST_EXPIRY_SECONDS_MAX).nullish().meta({
      description: 'Unix seconds, in the future; the entry ends at that second',
    }),
    event_types: z.array(LIST_EVENT_TYPE).max(LIST_EVENT_TYPES_MAX).nullish().meta({
      description: 'The entry counts for events of these types only; for all without any',
    }),
    confirm: z.boolean().nullish().meta({
      description: "Writes an entry that would have concerned over 25 % of the day's sessions",
    }),
  })
  .meta({ id: 'ListChange' });

const ENTRIES = z.array(LIST_CHANGE).max(LIST_BATCH_ENTRIES_MAX);

/**
 * The body of `POST /v1/lists/batch`. Used only for the document: the reader checks each entry with `LIST_CHANGE`, because an invalid
 * entry must not cause the others to be refused.
 */
export const LIST_BATCH = z.union([z.object({ entries: ENTRIES }), ENTRIES]);
