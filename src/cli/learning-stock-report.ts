import type { LearningStock } from '../learn/learning-stock.ts';
import type { Store } from '../state/feed/open-store.ts';
import { failure, ok, type CommandOutcome } from './command-outcome.ts';
import { counted } from './counted.ts';
import { readLearningRows } from './learning-source.ts';

/** Counts what a customer's decisions, or those of all customers, have to learn from. Works beside a running server. */
export async function reportLearningStock(store: Store, customerId: string | null): Promise<CommandOutcome> {
  const wanted = customerId === null ? null : store.customers.findById(customerId);
  if (customerId !== null && wanted === null) return failure('not_found', `there is no customer ${customerId}`);
  const { stock, unreadableBlocks } = await readLearningRows(store, wanted?.number ?? null);
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
    unreadable_blocks: unreadableBlocks,
  };
  return ok(json, textOf(stock), unreadableBlocks > 0);
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
