import type { Writable } from 'node:stream';
import { readDecisions } from '../history/open-decision-log.ts';
import { knownLabel } from '../history/known-label.ts';
import { HASH_PREFIX, linksOf } from '../history/link-summary.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import { ENTITY_PREFIX } from '../risk/decision-links.ts';
import type { DecisionRecord } from '../risk/decision-record.ts';
import { FEATURE_NAMES } from '../risk/features.ts';
import { readClass } from '../risk/record-class.ts';
import { readFeatureRow } from '../risk/stored-features.ts';
import type { Store } from '../state/feed/open-store.ts';
import type { KeptRow } from '../state/tables/learning-row-table.ts';
import { failure, type CommandOutcome } from './command-outcome.ts';
import type { ExportFormat } from './export-formats.ts';
import { EXPORT_COLUMNS, type ExportRow, openExportWriter } from './export-writers.ts';

export interface ExportOptions {
  /** null for all customers. */
  readonly customerId: string | null;
  readonly sinceSeconds: number;
  readonly untilSeconds: number;
  readonly format: ExportFormat;
  /** Whether to write the rows to learn from that outlived their decisions, too. */
  readonly withKept?: boolean;
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
  const logged = new Set<string>();
  const query = { customer: wanted?.number ?? null, sinceMs: sinceSeconds * 1000 };
  const reading = readDecisions(store, query, (customer, record) => {
    if (record.occurredAtMs >= untilSeconds * 1000) return;
    writer.add(rowOf(store, customer, ids.get(customer) ?? null, record));
    if (options.withKept === true && record.features !== null) logged.add(record.requestId);
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
  const kept = options.withKept === true ? store.learningRows : null;
  const keptReading = kept?.read(wanted?.number ?? null, Date.now(), (customer, row) => {
    const seconds = row.occurredAtMs / 1000;
    if (seconds < sinceSeconds || seconds >= untilSeconds || logged.has(row.requestId)) return;
    writer.add(keptRow(store, customer, ids.get(customer) ?? null, row));
    rows++;
  });
  for (const _slice of keptReading ?? []) await writer.drain();
  await writer.end();
  const text =
    damaged === 0 ? `${rows} decisions` : `${rows} decisions; ${damaged} blocks of the log could not be read`;
  return { kind: 'ok', json: { rows, unreadable_blocks: damaged }, text, failed: damaged > 0, isBeside: true };
}

function rowOf(store: Store, customer: CustomerNumber, customerId: string | null, record: DecisionRecord): ExportRow {
  const { requestId, classBytes, features, learning } = record;
  const label = knownLabel(store, customer, requestId);
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
    label_source: label?.source ?? null,
    features_kept: features === null ? null : (record.wouldBe ?? record.decision) === 'ALLOW' ? 'sample' : 'decision',
    features_rate: learning?.rate ?? null,
    policy_version: learning?.policyVersion ?? null,
    model_version: learning?.model?.version ?? null,
    model_probability: learning?.model?.probability ?? null,
  };
}

/** Returns a row that outlived its decision: it has only what learning needs. */
function keptRow(store: Store, customer: CustomerNumber, customerId: string | null, row: KeptRow): ExportRow {
  const { requestId, session, accounts } = row;
  const label = knownLabel(store, customer, requestId);
  // Without a session link the device takes its place.
  const isDevice = session !== null && session.length === FINGERPRINT_DIGITS;
  return {
    ...NOTHING_KEPT,
    customer_id: customerId,
    request_id: requestId,
    occurred_at_ms: row.occurredAtMs,
    event_type: row.eventType,
    decision: row.decision,
    fingerprint_hash: isDevice ? session : null,
    links: [
      ...(session === null || isDevice ? [] : [{ kind: 'session', id: `${HASH_PREFIX}${session}` }]),
      ...accounts.map((hash) => ({ kind: `${ENTITY_PREFIX}account`, id: `${HASH_PREFIX}${hash}` })),
    ],
    label: label?.label ?? null,
    labelled_at: label?.createdAtSeconds ?? null,
    features: featuresOf(row.features),
    label_source: label?.source ?? null,
    features_kept: row.kept,
    features_rate: row.rate,
    policy_version: row.policyVersion,
  };
}

const FINGERPRINT_DIGITS = 64;
const NOTHING_KEPT = Object.fromEntries(
  Object.keys(EXPORT_COLUMNS).map((name) => [name, null]),
) as unknown as ExportRow;

/** Returns the columns that are not 0, by name; null for a row of a newer build with other columns. */
function featuresOf(bytes: Buffer): Readonly<Record<string, number>> | null {
  const row = readFeatureRow(bytes);
  if (row === null) return null;
  return Object.fromEntries([...row.values].map(([column, value]) => [FEATURE_NAMES[column] ?? '', value]));
}
