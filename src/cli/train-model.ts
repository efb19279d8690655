import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toOnnx } from '../learn/forest-onnx.ts';
import { type Candidate, makeCandidate } from '../learn/make-candidate.ts';
import type { LearningStock } from '../learn/learning-stock.ts';
import { FEATURE_NAMES } from '../risk/features.ts';
import { DEFAULT_POLICY } from '../risk/policy/policy.ts';
import { readFeatureRow } from '../risk/stored-features.ts';
import type { Store } from '../state/feed/open-store.ts';
import { failure, ok, type CommandOutcome } from './command-outcome.ts';
import type { Io } from './io.ts';
import { readLearningRows, type StoredLearningRow } from './learning-source.ts';

export interface TrainModelOptions {
  readonly customer?: string;
  /** Folder of the candidates. */
  readonly out: string;
  readonly prior: number;
  readonly budget?: number;
  /** Default: the share in the log. */
  readonly allowRate?: number;
  readonly flaggedColumns: boolean;
}

/** Columns that say which integration or which hour it is, not who is a fraud. */
const FLAGGED = /^(?:url:|referrer:|headers:|time:|agent:length$|agent:browser_age_days$|token:(?!webdriver$))/;
/** A line of progress after this many trees. */
const TREES_SHOWN = 25;

/**
 * Trains a model on stored rows and writes it as a candidate, a folder of its own with `forest.json`, `model.onnx`, `model.json` and
 * `report.json`. The command is a process of its own, beside the server. Refuses when there is too little to learn from, and names what
 * is missing.
 */
export async function trainModel(
  store: Store,
  options: TrainModelOptions,
  io: Pick<Io, 'write'>,
): Promise<CommandOutcome> {
  const { customer: customerId, prior, budget = null } = options;
  if (prior >= 1) return failure('usage', 'the prior must be below 1');
  const wanted = customerId === undefined ? null : store.customers.findById(customerId);
  if (customerId !== undefined && wanted === null) return failure('not_found', `there is no customer ${customerId}`);
  const rows: StoredLearningRow[] = [];
  const source = await readLearningRows(store, wanted?.number ?? null, (row) => rows.push(row));
  const { stock } = source;
  const unknownRate = options.allowRate ?? (source.allowRate || DEFAULT_POLICY.logFeaturesSample);
  if (stock.missing.length > 0) return failure('too_few_rows', `missing: ${stock.missing.join(', ')}`);
  const columns = FEATURE_NAMES.filter((name) => options.flaggedColumns || !FLAGGED.test(name));
  const positions = new Map(columns.map((name, at) => [FEATURE_NAMES.indexOf(name), at]));
  const nowMs = Date.now();
  let candidate: Candidate;
  try {
    candidate = makeCandidate(rows, {
      nowMs,
      prior,
      budget,
      unknownRate,
      columns,
      fill: (row, target, at) => fillRow(rows[row], positions, target, at),
      onTree: (trees) => {
        if (trees % TREES_SHOWN === 0) io.write(2, `${trees} trees\n`);
      },
    });
  } catch (error) {
    if (error instanceof RangeError) return failure('cannot_learn', error.message);
    throw error;
  }
  const id = new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
  const folder = join(options.out, id);
  writeCandidate(folder, { id, nowMs, prior, columns, stock, candidate });
  const { threshold, addedSessions, honestSessions, forest } = candidate;
  const text = [
    `wrote ${folder}: ${forest.starts.length} trees, threshold ${threshold.toFixed(4)} at a prior of ${prior}`,
    `on the latest rows the model alone stops ${addedSessions} of ${honestSessions} honest sessions`,
    ...(stock.isShadowOnly ? ['with under 500 known fraud sessions, only compare it with the rules'] : []),
  ];
  return ok({ id, folder, threshold, added_sessions: addedSessions, honest_sessions: honestSessions }, text.join('\n'));
}

function fillRow(
  row: StoredLearningRow | undefined,
  positions: ReadonlyMap<number, number>,
  target: Float32Array,
  at: number,
): void {
  const read = row === undefined ? null : readFeatureRow(row.features);
  for (const [column, value] of read?.values ?? []) {
    const position = positions.get(column);
    if (position !== undefined) target[at + position] = value;
  }
}

export interface CandidateFiles {
  readonly id: string;
  readonly nowMs: number;
  readonly prior: number;
  readonly columns: readonly string[];
  readonly stock: LearningStock;
  readonly candidate: Candidate;
}

/** Writes the files of a candidate; `model.json` comes last. */
export function writeCandidate(folder: string, { id, nowMs, prior, columns, stock, candidate }: CandidateFiles): void {
  const { forest, threshold, golden, rows, gain, honestSessions, addedSessions } = candidate;
  mkdirSync(folder, { recursive: true });
  const put = (name: string, content: string | Uint8Array): void => writeFileSync(join(folder, name), content);
  const text = JSON.stringify(forest);
  const sha256 = createHash('sha256').update(text).digest('hex');
  const report = {
    rows,
    honest_sessions: honestSessions,
    added_sessions: addedSessions,
    gain: Object.fromEntries(gain),
  };
  const trainedAt = new Date(nowMs).toISOString();
  const labels = { ...stock.labels, fraud_sessions: stock.fraudSessions, honest_sessions: stock.honestSessions };
  const head = { name: 'forest', version: id, id, format: 'forest', sha256, prior, threshold, trained_at: trainedAt };
  put('forest.json', text);
  put('model.onnx', toOnnx(forest, columns.length));
  put('report.json', `${JSON.stringify(report, null, 2)}\n`);
  put('model.json', `${JSON.stringify({ ...head, shadow_only: stock.isShadowOnly, labels, columns, golden })}\n`);
}
