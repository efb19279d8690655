import { LABEL_AGES, showLabelAges, type SourceAges } from '../history/label-ages.ts';
import type { LearningStock } from '../learn/learning-stock.ts';
import type { Store } from '../state/feed/open-store.ts';
import { failure, ok, type CommandOutcome } from './command-outcome.ts';
import { counted } from './counted.ts';
import { readLearningRows } from './learning-source.ts';
import { tableText } from './text-table.ts';

/** Counts what a customer's decisions, or those of all customers, have to learn from. Works beside a running server. */
export async function reportLearningStock(store: Store, customerId: string | null): Promise<CommandOutcome> {
  const wanted = customerId === null ? null : store.customers.findById(customerId);
  if (customerId !== null && wanted === null) return failure('not_found', `there is no customer ${customerId}`);
  const { stock, bySource, unreadableBlocks } = await readLearningRows(store, wanted?.number ?? null);
  const { decisions, rows, labels, days, missing } = stock;
  const owners = wanted === null ? store.customers.all() : [wanted];
  const given = owners.reduce((sum, { number }) => sum + store.labels.rowsOf(number), 0);
  const labelsWithoutRow = Math.max(0, given - labels.fraud - labels.legitimate);
  const json = {
    decisions,
    rows,
    labels,
    by_source: showLabelAges(bySource),
    labels_without_row: labelsWithoutRow,
    fraud_sessions: stock.fraudSessions,
    honest_sessions: stock.honestSessions,
    days,
    event_types: Object.fromEntries(stock.eventTypes),
    missing,
    shadow_only: stock.isShadowOnly,
    unreadable_blocks: unreadableBlocks,
  };
  return ok(json, textOf(stock, bySource, labelsWithoutRow), unreadableBlocks > 0);
}

const AGE_TITLES: Readonly<Record<(typeof LABEL_AGES)[number], string>> = {
  week: 'last 7 days',
  month: '7 to 30 days',
  older: 'older',
};

function textOf(stock: LearningStock, bySource: readonly SourceAges[], labelsWithoutRow: number): string {
  const { decisions, rows, labels, days, eventTypes, missing } = stock;
  const ready = stock.isShadowOnly ? 'enough for a model in the shadow' : 'enough for a model';
  return [
    `${counted(rows, 'row')} of ${counted(decisions, 'decision')}, from ${counted(days, 'day')}`,
    `labels: ${labels.fraud} fraud, ${labels.legitimate} legitimate; ${labels.none} without, ${labels.blocked} of them BLOCK`,
    ...(bySource.length > 0 ? [sourceTable(bySource)] : []),
    ...(labelsWithoutRow > 0 ? [`labels of decisions without a row: ${labelsWithoutRow}`] : []),
    `known sessions: ${stock.fraudSessions} fraud, ${stock.honestSessions} honest`,
    ...(eventTypes.length > 0 ? [`event types: ${eventTypes.map(([name, n]) => `${name} ${n}`).join(', ')}`] : []),
    missing.length === 0 ? ready : `missing: ${missing.join(', ')}`,
  ].join('\n');
}

function sourceTable(bySource: readonly SourceAges[]): string {
  const rows = bySource.map(({ source, ages }) => [
    source,
    ...ages.map(({ fraud, legitimate }) => `${fraud} fraud, ${legitimate} legitimate`),
  ]);
  return tableText(['source', ...LABEL_AGES.map((age) => AGE_TITLES[age])], rows, '');
}
