import type { Writable } from 'node:stream';
import { readDecisions } from '../history/open-decision-log.ts';
import { linksOf } from '../history/link-summary.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import type { DecisionRecord } from '../risk/decision-record.ts';
import { FEATURE_NAMES } from '../risk/features.ts';
import { readClass } from '../risk/record-class.ts';
import { readFeatureRow } from '../risk/stored-features.ts';
import type { Store } from '../state/feed/open-store.ts';
import { failure, type CommandOutcome } from './command-outcome.ts';
import type { ExportFormat } from './export-formats.ts';
import { type ExportRow, openExportWriter } from './export-writers.ts';

export interface ExportOptions {
  /** null for all customers. */
  readonly customerId: string | null;
  readonly sinceSeconds: number;
  readonly untilSeconds: number;
  readonly format: ExportFormat;
}

/**
 * Writes the decisions of the log to standard output, with the labels and the outcomes reported for them, block by block in no particular
 * order. Works beside a running server, which writes new decisions within a second.
 */
export async function exportDecisions(
  store: Store,
  options: ExportOptions,
  output: Writable,
  groupRows?: number,
): Promise<CommandOutcome> {
  const { customerId, sinceSeconds, untilSeconds, format } = options;
  if (format === 'parquet' && 'isTTY' in output && output.isTTY === true)
    return failure('usage', 'Parquet is binary: write it to a file, as in > decisions.parquet');
  const wanted = customerId === null ? null : store.customers.findById(customerId);
  if (customerId !== null && wanted === null) return failure('not_found', `there is no customer ${customerId}`);
  const ids = new Map(store.customers.all().map(({ number, id }) => [number as number, id]));
  const writer = openExportWriter(format, output, groupRows);
  let rows = 0;
  const query = { customer: wanted?.number ?? null, sinceMs: sinceSeconds * 1000 };
  const reading = readDecisions(store, query, (customer, record) => {
    if (record.occurredAtMs >= untilSeconds * 1000) return;
    writer.add(rowOf(store, customer, ids.get(customer) ?? null, record));
    rows++;
  });
  let damaged = 0;
  for (let step = reading.next(); ; step = reading.next()) {
    if (step.done === true) {
      damaged = step.value;
      break;
    }
    await writer.drain();
  }
  await writer.end();
  const text =
    damaged === 0 ? `${rows} decisions` : `${rows} decisions; ${damaged} blocks of the log could not be read`;
  return { kind: 'ok', json: { rows, unreadable_blocks: damaged }, text, failed: damaged > 0, isBeside: true };
}

function rowOf(store: Store, customer: CustomerNumber, customerId: string | null, record: DecisionRecord): ExportRow {
  const { requestId, classBytes, features } = record;
  const label = store.labels.find(customer, requestId);
  const { agent, location } = classBytes === null ? { agent: null, location: null } : readClass(classBytes);
  return {
    customer_id: customerId,
    request_id: requestId,
    occurred_at_ms: record.occurredAtMs,
    event_type: record.eventType,
    decision: record.decision,
    would_be: record.wouldBe,
    score: record.score,
    session_mode: record.sessionMode,
    public_key: record.publicKey,
    fingerprint_hash: record.fingerprintHash,
    ip: record.ip,
    country: record.country,
    asn: record.asn,
    path: record.path,
    reasons: record.contributions.map(({ code, weight }) => ({ reason: code, weight })),
    agent,
    location,
    links: linksOf(record),
    outcome: store.outcomes?.find(requestId) ?? record.outcome,
    label: label?.label ?? null,
    labelled_at: label?.createdAtSeconds ?? null,
    features: features === null ? null : featuresOf(features),
  };
}

/** Returns the columns that are not 0, by name; null for a row of a newer build with other columns. */
function featuresOf(bytes: Buffer): Readonly<Record<string, number>> | null {
  const row = readFeatureRow(bytes);
  if (row === null) return null;
  return Object.fromEntries([...row.values].map(([column, value]) => [FEATURE_NAMES[column] ?? '', value]));
}
