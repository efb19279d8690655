import { learningLinks } from '../history/kept-row.ts';
import { LabelAges, type SourceAges } from '../history/label-ages.ts';
import { labelOf, truthOf } from '../history/model-comparison.ts';
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
  /** Rows by what says what they were, and by the age of that. */
  readonly bySource: readonly SourceAges[];
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
  const nowMs = Date.now();
  const found: Found = { counter: new StockCounter(), ages: new LabelAges(), onRow };
  const allowed = { all: 0, withRow: 0 };
  const logged = new Set<string>();
  const reading = readDecisions(store, { customer, sinceMs: 0 }, (owner, record) => {
    const { requestId, occurredAtMs, eventType, learning } = record;
    const features = record.features !== null && isReadableRow(record.features) ? record.features : null;
    const judged = judgedOf(record.wouldBe ?? record.decision);
    if (judged.isPassed) allowed.all++;
    if (features === null) {
      const { isBlocked } = judged;
      found.counter.add({ occurredAtMs, eventType, session: null, hasFeatures: false, isBlocked, label: null });
      return;
    }
    if (judged.isPassed) allowed.withRow++;
    logged.add(requestId);
    const truth = truthOf(store, owner, record);
    addRow(found, truth, nowMs, {
      requestId,
      atMs: occurredAtMs,
      eventType,
      session: sessionOf(owner, learningLinks(record)),
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
  for (const _slice of readKept(store, customer, logged, found, nowMs)) await new Promise(setImmediate);
  const allowRate = allowed.all === 0 ? null : allowed.withRow / allowed.all;
  const { counter, ages } = found;
  return { stock: counter.stock(), bySource: ages.bySource(), allowRate, unreadableBlocks: step.value };
}

/** Where rows go. */
interface Found {
  readonly counter: StockCounter;
  readonly ages: LabelAges;
  readonly onRow: (row: StoredLearningRow) => void;
}

type UnjudgedRow = Omit<StoredLearningRow, 'label' | 'isReviewed' | 'hasPassed'>;

/** Counts a row with what is known of it, and passes it on. */
function addRow(
  { counter, ages, onRow }: Found,
  truth: ReturnType<typeof truthOf>,
  nowMs: number,
  row: UnjudgedRow,
): void {
  const { atMs: occurredAtMs, eventType, session, isBlocked } = row;
  const label = labelOf(truth);
  if (truth !== null) ages.add(truth, nowMs - truth.atMs);
  counter.add({ occurredAtMs, eventType, session, hasFeatures: true, isBlocked, label });
  onRow({
    ...row,
    label,
    isReviewed: truth?.source === 'review',
    hasPassed: truth?.source === 'challenge' ? !truth.isFraud : null,
  });
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
  found: Found,
  nowMs: number,
): Generator<undefined, void> {
  if (store.learningRows === null) return;
  yield* store.learningRows.read(customer, nowMs, (owner, row) => {
    const { requestId, occurredAtMs, eventType, features, policyVersion } = row;
    if (logged.has(requestId) || !isReadableRow(features)) return;
    const { isPassed, isAllowed, isBlocked } = judgedOf(row.decision);
    const truth = truthOf(store, owner, { requestId, occurredAtMs, outcome: null });
    addRow(found, truth, nowMs, {
      requestId,
      atMs: occurredAtMs,
      eventType,
      session: sessionOf(owner, row),
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
