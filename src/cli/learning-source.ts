import { knownLabel } from '../history/known-label.ts';
import { learningLinks } from '../history/kept-row.ts';
import { readDecisions } from '../history/open-decision-log.ts';
import type { LearningRow } from '../learn/learning-rows.ts';
import { StockCounter, type LearningStock } from '../learn/learning-stock.ts';
import { type Decision, isStop } from '../risk/decision.ts';
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
    const { requestId, occurredAtMs, eventType, learning } = record;
    const session = sessionOf(owner, learningLinks(record));
    const features = record.features !== null && isReadableRow(record.features) ? record.features : null;
    const known = knownLabel(store, owner, requestId);
    const label = known?.label ?? null;
    const judged = judgedOf(record.wouldBe ?? record.decision);
    counter.add({
      occurredAtMs,
      eventType,
      session,
      hasFeatures: features !== null,
      isBlocked: judged.isBlocked,
      label,
    });
    if (judged.isPassed) allowed.all++;
    if (features === null) return;
    if (judged.isPassed) allowed.withRow++;
    logged.add(requestId);
    const outcome = store.outcomes?.find(requestId) ?? record.outcome;
    onRow({
      requestId,
      atMs: occurredAtMs,
      eventType,
      session,
      label,
      isReviewed: known?.source === 'review',
      hasPassed: outcome === 'challenge_passed' ? true : outcome === 'challenge_failed' ? false : null,
      isBlocked: judged.isBlocked,
      isAllowed: judged.isAllowed,
      rate: learning?.rate ?? (judged.isPassed ? null : 1),
      policyVersion: learning?.policyVersion ?? null,
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

/** `decision`: in observe mode the one that would have been. */
function judgedOf(decision: Decision): {
  readonly isPassed: boolean;
  readonly isAllowed: boolean;
  readonly isBlocked: boolean;
} {
  return { isPassed: decision === 'ALLOW', isAllowed: !isStop(decision), isBlocked: decision === 'BLOCK' };
}

/** Reads the rows that outlived their decisions. */
function* readKept(
  store: Store,
  customer: CustomerNumber | null,
  logged: ReadonlySet<string>,
  counter: StockCounter,
  onRow: (row: StoredLearningRow) => void,
): Generator<undefined, void> {
  if (store.learningRows === null) return;
  yield* store.learningRows.read(customer, Date.now(), (owner, row) => {
    const { requestId, occurredAtMs, eventType, features, policyVersion } = row;
    if (logged.has(requestId) || !isReadableRow(features)) return;
    const known = knownLabel(store, owner, requestId);
    const label = known?.label ?? null;
    const { isPassed, isAllowed, isBlocked } = judgedOf(row.decision);
    const session = sessionOf(owner, row);
    counter.add({ occurredAtMs, eventType, session, hasFeatures: true, isBlocked, label });
    onRow({
      requestId,
      atMs: occurredAtMs,
      eventType,
      session,
      label,
      isReviewed: known?.source === 'review',
      hasPassed: null,
      isBlocked,
      isAllowed,
      rate: row.rate ?? (isPassed ? null : 1),
      policyVersion,
      features,
    });
  });
}

/** Hashes of two customers may be equal. */
function sessionOf(owner: CustomerNumber, { session }: { readonly session: string | null }): string | null {
  return session === null ? null : `${owner} ${session}`;
}
