import { learningLinks } from '../history/kept-row.ts';
import { readDecisions } from '../history/open-decision-log.ts';
import type { LearningRow } from '../learn/learning-rows.ts';
import { StockCounter, type LearningStock } from '../learn/learning-stock.ts';
import { isReadableRow } from '../risk/stored-features.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import type { Store } from '../state/feed/open-store.ts';

/** A row to learn from, with the bytes for `readFeatureRow`. */
export interface StoredLearningRow extends LearningRow {
  readonly features: Buffer;
}

export interface LearningSource {
  readonly stock: LearningStock;
  /** The share of ALLOW decisions in the log whose row is kept; null without any. */
  readonly allowRate: number | null;
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
  const allowed = { all: 0, withRow: 0 };
  const logged = new Set<string>();
  const reading = readDecisions(store, { customer, sinceMs: 0 }, (owner, record) => {
    const { requestId, occurredAtMs, eventType, decision } = record;
    const { session, accounts } = linksFor(owner, learningLinks(record));
    const features = record.features !== null && isReadableRow(record.features) ? record.features : null;
    const label = store.labels.labelOf(owner, requestId);
    const isBlocked = decision === 'BLOCK';
    counter.add({ occurredAtMs, eventType, session, hasFeatures: features !== null, isBlocked, label });
    if (decision === 'ALLOW') allowed.all++;
    if (features === null) return;
    if (decision === 'ALLOW') allowed.withRow++;
    logged.add(requestId);
    const outcome = store.outcomes?.find(requestId) ?? record.outcome;
    onRow({
      atMs: occurredAtMs,
      session,
      accounts,
      label,
      hasPassed: outcome === 'challenge_passed' ? true : outcome === 'challenge_failed' ? false : null,
      isBlocked,
      isAllowed: decision === 'ALLOW' || decision === 'ALLOW_WATCH',
      isSampled: decision === 'ALLOW',
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
  for (const _slice of readKept(store, customer, logged, counter, onRow)) await new Promise(setImmediate);
  const allowRate = allowed.all === 0 ? null : allowed.withRow / allowed.all;
  return { stock: counter.stock(), allowRate, unreadableBlocks: step.value };
}

/** Reads the rows that outlived their decisions. */
function* readKept(
  { learningRows, labels }: Store,
  customer: CustomerNumber | null,
  logged: ReadonlySet<string>,
  counter: StockCounter,
  onRow: (row: StoredLearningRow) => void,
): Generator<undefined, void> {
  if (learningRows === null) return;
  yield* learningRows.read(customer, Date.now(), (owner, row) => {
    const { requestId, occurredAtMs, eventType, decision, features } = row;
    if (logged.has(requestId) || !isReadableRow(features)) return;
    const label = labels.labelOf(owner, requestId);
    const isBlocked = decision === 'BLOCK';
    const { session, accounts } = linksFor(owner, row);
    counter.add({ occurredAtMs, eventType, session, hasFeatures: true, isBlocked, label });
    onRow({
      atMs: occurredAtMs,
      session,
      accounts,
      label,
      hasPassed: null,
      isBlocked,
      isAllowed: decision === 'ALLOW' || decision === 'ALLOW_WATCH',
      isSampled: row.kept === 'sample',
      features,
    });
  });
}

/** Hashes of two customers may be equal. */
function linksFor(
  owner: CustomerNumber,
  { session, accounts }: { readonly session: string | null; readonly accounts: readonly string[] },
): { readonly session: string | null; readonly accounts: readonly string[] } {
  return {
    session: session === null ? null : `${owner} ${session}`,
    accounts: accounts.map((account) => `${owner} account ${account}`),
  };
}
