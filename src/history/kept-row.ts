import type { DecisionRecord } from '../risk/decision-record.ts';
import { ENTITY_PREFIX } from '../risk/decision-links.ts';
import type { LearningNote } from '../risk/learning-note.ts';
import { readLinkTail } from '../risk/link-tail.ts';
import type { KeptReason, KeptRow } from '../state/tables/learning-row-table.ts';

/** What a kept row is made of. */
export type KeptFields = Pick<
  DecisionRecord,
  'requestId' | 'occurredAtMs' | 'eventType' | 'decision' | 'wouldBe' | 'features' | 'links' | 'fingerprintHash'
> & { readonly learning?: LearningNote | undefined };

/** Returns which decisions belong together for learning: keyed hashes of the session, else of the device, and of the identities. */
export function learningLinks({ links, fingerprintHash }: Pick<KeptFields, 'links' | 'fingerprintHash'>): {
  readonly session: string | null;
  readonly accounts: readonly string[];
} {
  const all = links === null ? [] : readLinkTail(links);
  return {
    session: all.find(({ kind }) => kind === 'session')?.hash ?? fingerprintHash,
    accounts: all.flatMap(({ kind, hash }) => (kind.startsWith(ENTITY_PREFIX) ? [hash] : [])),
  };
}

/** Returns what is kept of a decision for learning; null without a feature row. Borrows the row's bytes. */
export function keptRowOf(record: KeptFields, kept: KeptReason): KeptRow | null {
  const { requestId, occurredAtMs, eventType, features, learning } = record;
  if (features === null) return null;
  return {
    requestId,
    occurredAtMs,
    kept,
    eventType,
    decision: record.wouldBe ?? record.decision,
    ...learningLinks(record),
    features,
    rate: learning?.rate ?? null,
    policyVersion: learning?.policyVersion ?? null,
  };
}
