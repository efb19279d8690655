import { unpackRecord } from '../history/decision-log/match.ts';
import type { DecisionReader } from '../history/decision-reader.ts';
import { learningLinks } from '../history/kept-row.ts';
import { LabelAges, type SourceAges } from '../history/label-ages.ts';
import { labelOf, truthOf, type TruthStores } from '../history/model-comparison.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import { DECISION_SCAN_ROWS_MAX } from '../kernel/history-limits.ts';
import { type LearningStock, StockCounter } from '../learn/learning-stock.ts';
import type { Coverage } from '../ports/decision-history.ts';
import { isReadableRow } from '../risk/stored-features.ts';
import type { Store } from '../state/feed/open-store.ts';
import type { Slices } from '../state/tables/turns.ts';

export interface CustomerStock {
  readonly stock: LearningStock;
  readonly bySource: readonly SourceAges[];
  /** There are more decisions than were counted. */
  readonly isTruncated: boolean;
}

export interface StockParts {
  readonly decisions: Pick<DecisionReader, 'scan'>;
  readonly store: TruthStores & Pick<Store, 'learningRows'>;
}

interface StockQuery {
  readonly customer: CustomerNumber;
  readonly nowMs: number;
  readonly slices: Slices;
  readonly coverage: Coverage;
}

/**
 * Counts what a customer's newest 100,000 decisions and its kept rows have to learn from, as `models rows --customer` does for all of them.
 * Null while too many searches are running.
 */
export async function readCustomerStock(
  { decisions, store }: StockParts,
  { customer, nowMs, slices, coverage }: StockQuery,
): Promise<CustomerStock | null> {
  const counter = new StockCounter();
  const ages = new LabelAges();
  const logged = new Set<string>();
  const wanted = { sinceMs: null, untilMs: null, nowMs, rowsMax: DECISION_SCAN_ROWS_MAX, coverage };
  const scanned = await decisions.scan(customer, wanted, (_raw, bytes, at, end) => {
    const record = unpackRecord(bytes, at, end);
    if (record === null) return false;
    const { requestId, occurredAtMs, eventType, features } = record;
    const hasFeatures = features !== null && isReadableRow(features);
    const truth = hasFeatures ? truthOf(store, customer, record) : null;
    if (truth !== null) ages.add(truth, nowMs - truth.atMs);
    if (hasFeatures) logged.add(requestId);
    counter.add({
      occurredAtMs,
      eventType,
      session: learningLinks(record).session,
      hasFeatures,
      isBlocked: (record.wouldBe ?? record.decision) === 'BLOCK',
      label: labelOf(truth),
    });
    return false;
  });
  if (scanned.kind === 'busy') return null;
  const reading = store.learningRows?.read(customer, nowMs, (_customer, row) => {
    const { requestId, occurredAtMs, eventType, decision, session, features } = row;
    if (logged.has(requestId) || !isReadableRow(features)) return;
    const truth = truthOf(store, customer, { requestId, occurredAtMs, outcome: null });
    if (truth !== null) ages.add(truth, nowMs - truth.atMs);
    const isBlocked = decision === 'BLOCK';
    counter.add({ occurredAtMs, eventType, session, hasFeatures: true, isBlocked, label: labelOf(truth) });
  });
  for (const _slice of reading ?? []) if (slices.isOver) await slices.begin();
  return { stock: counter.stock(), bySource: ages.bySource(), isTruncated: scanned.isTruncated };
}
