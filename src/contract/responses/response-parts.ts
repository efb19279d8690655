import * as z from 'zod';
import { idPattern } from '../wire-ids.ts';
import { AGENT_PURPOSES, AGENT_VERIFICATIONS, DECISIONS } from '../vocabulary.ts';

/** Schemas that several responses share. */

export const unixSeconds = z.int();
export const count = z.int().min(0);
/** Distinct identities, as rules count them. */
export const identities = count.meta({
  description: 'Of the name in entity_keys with the most: a user id and an e-mail address are often one person',
});
export const decision = z.enum(DECISIONS);
export const reasons = z.array(z.string()).meta({ uniqueItems: true });
export const score = z.number().min(0).max(100);
export const requestId = z.string().regex(idPattern('req'));
/** A fingerprint hash in responses: lower case. */
export const hash = z.string().regex(/^[0-9a-f]{64}$/);

export const wouldBe = decision.optional().meta({
  description: 'In observe mode: the decision that would have been made; decision is then ALLOW. Absent otherwise.',
});

/** What is known about a crawler that a user agent names. */
export const CLAIMED_AGENT = {
  verified: z
    .enum(AGENT_VERIFICATIONS)
    .nullable()
    .meta({
      description:
        'range: the address is one that the operator publishes. dns: the name of the address is the operator’s, and leads back. ' +
        'signature: the request is signed with its key. ' +
        'none: neither. null: no crawler is named, nothing is known of its operator’s addresses, or the request was signed ' +
        'with a public key',
    }),
  operator: z.string().nullable(),
  purpose: z.enum(AGENT_PURPOSES).nullable(),
};

/** Returns the schema of a page of rows. */
export function pageOf<Row extends z.ZodType>(row: Row) {
  return z.object({ data: z.array(row), has_more: z.boolean(), next_cursor: z.string().nullable() });
}
