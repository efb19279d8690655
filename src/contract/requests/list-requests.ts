import * as z from 'zod';
import type { FingerprintHash } from '../../kernel/brand.ts';
import { LIST_BATCH_ENTRIES_MAX, LIST_EXPIRY_SECONDS_MAX, NOTE_CHARACTERS_MAX } from '../../kernel/limits.ts';
import { LIST_ACTIONS } from '../vocabulary.ts';
import { text } from './request-text.ts';

/** The format of a fingerprint hash, in upper or lower case. */
export const HASH = /^[0-9a-fA-F]{64}$/;

/** The body of `POST /v1/lists`, and an entry of a batch. */
export const LIST_CHANGE = z
  .object({
    fingerprint_hash: z
      .string()
      .regex(HASH, 'This must be 64 hexadecimal digits.')
      .meta({ description: 'Upper or lower case' })
      .transform((hash) => hash.toLowerCase() as FingerprintHash),
    action: z.enum(LIST_ACTIONS),
    note: text(NOTE_CHARACTERS_MAX).nullish(),
    expires_at: z.int().max(LIST_EXPIRY_SECONDS_MAX).nullish().meta({
      description: 'Unix seconds, in the future; the entry ends at that second',
    }),
  })
  .meta({ id: 'ListChange' });

const ENTRIES = z.array(LIST_CHANGE).max(LIST_BATCH_ENTRIES_MAX);

/**
 * The body of `POST /v1/lists/batch`. Used only for the document: the reader checks each entry with `LIST_CHANGE`, because an invalid
 * entry must not cause the others to be refused.
 */
export const LIST_BATCH = z.union([z.object({ entries: ENTRIES }), ENTRIES]);
