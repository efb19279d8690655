import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { LearningRow } from '../learn/learning-rows.ts';
import { type LearningStock, StockCounter } from '../learn/learning-stock.ts';
import { SparseRows } from '../learn/sparse-rows.ts';
import { type Decision, DECISIONS, isStop } from '../risk/decision.ts';
import { FEATURE_NAMES } from '../risk/features.ts';
import { readFeatureRow } from '../risk/stored-features.ts';
import type { Store } from '../state/feed/open-store.ts';
import { readLearningRows } from './learning-source.ts';

export interface TrainingSource {
  readonly rows: readonly LearningRow[];
  /** By number of the row, and by position in `FEATURE_NAMES`. */
  readonly values: SparseRows;
  readonly stock: LearningStock;
  /** The share of ALLOW decisions whose row is kept; null if that is not known. */
  readonly allowRate: number | null;
}

export type TrainingSourceOutcome =
  | ({ readonly kind: 'ok' } & TrainingSource)
  | { readonly kind: 'fault'; readonly code: string; readonly detail: string };

/** Reads the rows that the store keeps, of a customer or of all (null), beside a running server. */
export async function readStoredRows(store: Store, customerId: string | null): Promise<TrainingSourceOutcome> {
  const wanted = customerId === null ? null : store.customers.findById(customerId);
  if (customerId !== null && wanted === null)
    return { kind: 'fault', code: 'not_found', detail: `there is no customer ${customerId}` };
  const rows: LearningRow[] = [];
  const values = new SparseRows();
  const source = await readLearningRows(store, wanted?.number ?? null, ({ features, ...row }) => {
    const read = readFeatureRow(features);
    if (read === null) return;
    values.add(read.values);
    rows.push(row);
  });
  return { kind: 'ok', rows, values, stock: source.stock, allowRate: source.allowRate };
}

/** Reads the rows of an NDJSON file of `decisions export`; those without features are only counted. Never rejects. */
export async function readExportedRows(path: string): Promise<TrainingSourceOutcome> {
  const rows: LearningRow[] = [];
  const values = new SparseRows();
  const counter = new StockCounter();
  const allowed = { all: 0, withRow: 0 };
  let line = 0;
  try {
    for await (const text of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
      line++;
      if (text.trim() === '') continue;
      const read = readExportLine(text);
      if (read === null)
        return { kind: 'fault', code: 'invalid_rows', detail: `line ${line} of ${path} is no decision of an export` };
      const { row, features, isPassed } = read;
      const { atMs: occurredAtMs, eventType, session, isBlocked, label } = row;
      counter.add({ occurredAtMs, eventType, session, hasFeatures: features !== null, isBlocked, label });
      if (isPassed) allowed.all++;
      if (features === null) continue;
      if (isPassed) allowed.withRow++;
      values.add(features);
      rows.push(row);
    }
  } catch (error) {
    return {
      kind: 'fault',
      code: 'unreadable_file',
      detail: `${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
  const allowRate = allowed.all === 0 ? null : allowed.withRow / allowed.all;
  return { kind: 'ok', rows, values, stock: counter.stock(), allowRate };
}

interface ExportLine {
  readonly row: LearningRow;
  readonly features: readonly (readonly [number, number])[] | null;
  /** Whether it is an ALLOW of the log; rows that outlived their decisions have no session mode. */
  readonly isPassed: boolean;
}

const COLUMN_OF: ReadonlyMap<string, number> = new Map(FEATURE_NAMES.map((name, at) => [name, at]));

/** Returns null for a line that is no decision. Columns that this version does not have are ignored. */
export function readExportLine(text: string): ExportLine | null {
  const fields = objectOf(text);
  const requestId = fields?.['request_id'];
  const atMs = fields?.['occurred_at_ms'];
  const decision = decisionOf(fields?.['would_be']) ?? decisionOf(fields?.['decision']);
  if (fields === null || typeof requestId !== 'string' || typeof atMs !== 'number' || decision === null) return null;
  const { label, outcome } = fields;
  const rate = fields['features_rate'];
  const isPassed = decision === 'ALLOW';
  const row: LearningRow = {
    requestId,
    atMs,
    eventType: textOf(fields['event_type']) ?? '',
    session: sessionIn(fields),
    label: label === 'fraud' || label === 'legitimate' ? label : null,
    isReviewed: fields['label_source'] === 'review',
    hasPassed: outcome === 'challenge_passed' ? true : outcome === 'challenge_failed' ? false : null,
    isBlocked: decision === 'BLOCK',
    isAllowed: !isStop(decision),
    rate: typeof rate === 'number' && rate > 0 && rate <= 1 ? rate : isPassed ? null : 1,
    policyVersion: textOf(fields['policy_version']),
  };
  return {
    row,
    features: featuresIn(fields['features']),
    isPassed: isPassed && typeof fields['session_mode'] === 'string',
  };
}

function featuresIn(given: unknown): readonly (readonly [number, number])[] | null {
  if (typeof given !== 'object' || given === null) return null;
  return Object.entries(given).flatMap(([name, value]): [number, number][] => {
    const column = COLUMN_OF.get(name);
    return column === undefined || typeof value !== 'number' || !Number.isFinite(value) ? [] : [[column, value]];
  });
}

/** As `learningLinks`, from what the export shows of them. Links of two customers may be equal. */
function sessionIn(fields: Readonly<Record<string, unknown>>): string | null {
  const customer = textOf(fields['customer_id']) ?? '';
  const links = Array.isArray(fields['links']) ? fields['links'] : [];
  let session = textOf(fields['fingerprint_hash']);
  for (const link of links as readonly unknown[]) {
    if (typeof link !== 'object' || link === null || !('kind' in link) || !('id' in link)) continue;
    if (link.kind === 'session' && typeof link.id === 'string') session = link.id;
  }
  return session === null ? null : `${customer} ${session}`;
}

function objectOf(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}

function decisionOf(value: unknown): Decision | null {
  return DECISIONS.find((decision) => decision === value) ?? null;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}
