import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { stringify } from 'csv-stringify/sync';
import { readDecisions } from '../history/open-decision-log.ts';
import { linksOf } from '../history/link-summary.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import type { DecisionRecord } from '../risk/decision-record.ts';
import { FEATURE_NAMES, FEATURE_SET, readFeatureRow } from '../risk/feature-row.ts';
import { readClass } from '../risk/record-class.ts';
import type { Store } from '../state/open-store.ts';
import { failure, type Outcome } from './command-outcome.ts';

export const EXPORT_FORMATS = ['ndjson', 'csv'] as const;

export interface ExportOptions {
  /** null for all customers. */
  readonly customerId: string | null;
  readonly sinceSeconds: number;
  readonly untilSeconds: number;
  readonly format: (typeof EXPORT_FORMATS)[number];
}

/** Choice: text that is collected before it is written; with one block of the log, this is what the command holds. */
const PIECE_CHARACTERS = 65_536;

/** Columns of CSV, and the fields of NDJSON in their order. Objects are JSON in a cell. */
const COLUMNS = [
  'customer_id',
  'request_id',
  'occurred_at_ms',
  'event_type',
  'decision',
  'would_be',
  'score',
  'session_mode',
  'public_key',
  'fingerprint_hash',
  'ip',
  'country',
  'asn',
  'path',
  'reasons',
  'agent',
  'location',
  'links',
  'outcome',
  'label',
  'labelled_at',
  'features',
] as const;

/**
 * Writes the decisions of the log to standard output, with the labels and the outcomes reported for them, block by block in no particular
 * order. Works beside a running server, which writes new decisions within a second.
 */
export async function exportDecisions(store: Store, options: ExportOptions, output: Writable): Promise<Outcome> {
  const { customerId, sinceSeconds, untilSeconds, format } = options;
  const wanted = customerId === null ? null : store.customers.findById(customerId);
  if (customerId !== null && wanted === null) return failure('not_found', `there is no customer ${customerId}`);
  const ids = new Map(store.customers.all().map(({ number, id }) => [number as number, id]));
  const writer = new PieceWriter(output);
  if (format === 'csv') writer.add(stringify([[...COLUMNS]]));
  let rows = 0;
  const query = { customer: wanted?.number ?? null, sinceMs: sinceSeconds * 1000 };
  const reading = readDecisions(store, query, (customer, record) => {
    if (record.occurredAtMs >= untilSeconds * 1000) return;
    const row = rowOf(store, customer, ids.get(customer) ?? null, record);
    writer.add(
      format === 'csv' ? stringify([COLUMNS.map((column) => cellOf(row[column]))]) : `${JSON.stringify(row)}\n`,
    );
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
  writer.flush();
  await writer.drain();
  const text =
    damaged === 0 ? `${rows} decisions` : `${rows} decisions; ${damaged} blocks of the log could not be read`;
  return { kind: 'ok', json: { rows, unreadable_blocks: damaged }, text, failed: damaged > 0, isBeside: true };
}

type Row = Readonly<Record<(typeof COLUMNS)[number], unknown>>;

function rowOf(store: Store, customer: CustomerNumber, customerId: string | null, record: DecisionRecord): Row {
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

/** Returns the columns that are not 0, by name; null for a row of a build with other columns. */
function featuresOf(bytes: Buffer): Readonly<Record<string, number>> | null {
  const row = readFeatureRow(bytes, (set) => (set === FEATURE_SET ? FEATURE_NAMES.length : null));
  if (row === null) return null;
  return Object.fromEntries([...row.values].map(([column, value]) => [FEATURE_NAMES[column] ?? '', value]));
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'string') return JSON.stringify(value);
  // A program for tables would take such a text for a formula.
  return /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
}

/** Collects short texts, and waits for a slow reader. */
class PieceWriter {
  readonly #output: Writable;
  #text = '';
  #isFull = false;

  constructor(output: Writable) {
    this.#output = output;
  }

  add(text: string): void {
    this.#text += text;
    if (this.#text.length >= PIECE_CHARACTERS) this.flush();
  }

  flush(): void {
    if (this.#text === '') return;
    this.#isFull = !this.#output.write(this.#text);
    this.#text = '';
  }

  async drain(): Promise<void> {
    if (this.#isFull) await once(this.#output, 'drain');
    this.#isFull = false;
  }
}
