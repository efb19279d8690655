import { linksOf } from '../history/link-summary.ts';
import { readDecisions } from '../history/open-decision-log.ts';
import type { LearningRow } from '../learn/learning-rows.ts';
import { StockCounter, type LearningStock } from '../learn/learning-stock.ts';
import { ENTITY_PREFIX } from '../risk/decision-links.ts';
import { isReadableRow } from '../risk/stored-features.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import type { Store } from '../state/feed/open-store.ts';

/** A row to learn from, with the bytes for `readFeatureRow`. */
export interface StoredLearningRow extends LearningRow {
  readonly features: Buffer;
}

export interface LearningSource {
  readonly stock: LearningStock;
  readonly unreadableBlocks: number;
}

/**
 * Reads what a customer's decisions, or those of all (null), have to learn from; `onRow` gets each row that has features. Works beside a
 * running server.
 */
export async function readLearningRows(
  store: Store,
  customer: CustomerNumber | null,
  onRow: (row: StoredLearningRow) => void = () => {},
): Promise<LearningSource> {
  const counter = new StockCounter();
  const reading = readDecisions(store, { customer, sinceMs: 0 }, (owner, record) => {
    const { requestId, occurredAtMs, eventType, fingerprintHash, decision } = record;
    const links = linksOf(record);
    const id = links.find(({ kind }) => kind === 'session')?.id ?? fingerprintHash;
    const session = id === null ? null : `${owner} ${id}`;
    const features = record.features !== null && isReadableRow(record.features) ? record.features : null;
    const label = store.labels.labelOf(owner, requestId);
    const isBlocked = decision === 'BLOCK';
    counter.add({ occurredAtMs, eventType, session, hasFeatures: features !== null, isBlocked, label });
    if (features === null) return;
    const outcome = store.outcomes?.find(requestId) ?? record.outcome;
    onRow({
      atMs: occurredAtMs,
      session,
      accounts: links.flatMap(({ kind, id: text }) =>
        kind.startsWith(ENTITY_PREFIX) ? [`${owner} ${kind} ${text}`] : [],
      ),
      label,
      hasPassed: outcome === 'challenge_passed' ? true : outcome === 'challenge_failed' ? false : null,
      isBlocked,
      isAllowed: decision === 'ALLOW' || decision === 'ALLOW_WATCH',
      // Copied: the record's bytes are part of a whole block.
      features: Buffer.from(features),
    });
  });
  let step = reading.next();
  while (step.done !== true) {
    // The command can be stopped between two blocks.
    await new Promise(setImmediate);
    step = reading.next();
  }
  return { stock: counter.stock(), unreadableBlocks: step.value };
}
