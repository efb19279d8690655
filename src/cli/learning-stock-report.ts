import { linksOf } from '../history/link-summary.ts';
import { readDecisions } from '../history/open-decision-log.ts';
import { StockCounter, type LearningStock } from '../learn/learning-stock.ts';
import { FEATURE_SET } from '../risk/feature-row.ts';
import type { Store } from '../state/feed/open-store.ts';
import { failure, ok, type CommandOutcome } from './command-outcome.ts';
import { counted } from './counted.ts';

/** Counts what a customer's decisions, or those of all customers, have to learn from. Works beside a running server. */
export async function reportLearningStock(store: Store, customerId: string | null): Promise<CommandOutcome> {
  const wanted = customerId === null ? null : store.customers.findById(customerId);
  if (customerId !== null && wanted === null) return failure('not_found', `there is no customer ${customerId}`);
  const counter = new StockCounter();
  const query = { customer: wanted?.number ?? null, sinceMs: 0 };
  const reading = readDecisions(store, query, (customer, record) => {
    const { requestId, occurredAtMs, eventType, features, fingerprintHash, decision } = record;
    const session = linksOf(record).find(({ kind }) => kind === 'session')?.id ?? fingerprintHash;
    counter.add({
      occurredAtMs,
      eventType,
      session: session === null ? null : `${customer} ${session}`,
      hasFeatures: features !== null && features.length >= 4 && features.readUInt32BE(0) === FEATURE_SET,
      isBlocked: decision === 'BLOCK',
      label: store.labels.labelOf(customer, requestId),
    });
  });
  let step = reading.next();
  while (step.done !== true) {
    // The command can be stopped between two blocks.
    await new Promise(setImmediate);
    step = reading.next();
  }
  const stock = counter.stock();
  const { decisions, rows, labels, days, missing } = stock;
  const json = {
    decisions,
    rows,
    labels,
    fraud_sessions: stock.fraudSessions,
    honest_sessions: stock.honestSessions,
    days,
    event_types: Object.fromEntries(stock.eventTypes),
    missing,
    shadow_only: stock.isShadowOnly,
    unreadable_blocks: step.value,
  };
  return ok(json, textOf(stock), step.value > 0);
}

function textOf(stock: LearningStock): string {
  const { decisions, rows, labels, days, eventTypes, missing } = stock;
  const ready = stock.isShadowOnly ? 'enough for a model in the shadow' : 'enough for a model';
  return [
    `${counted(rows, 'row')} of ${counted(decisions, 'decision')}, from ${counted(days, 'day')}`,
    `labels: ${labels.fraud} fraud, ${labels.legitimate} legitimate; ${labels.none} without, ${labels.blocked} of them BLOCK`,
    `known sessions: ${stock.fraudSessions} fraud, ${stock.honestSessions} honest`,
    ...(eventTypes.length > 0 ? [`event types: ${eventTypes.map(([name, n]) => `${name} ${n}`).join(', ')}`] : []),
    missing.length === 0 ? ready : `missing: ${missing.join(', ')}`,
  ].join('\n');
}
