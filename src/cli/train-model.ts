import { join } from 'node:path';
import { flaggedColumns } from '../learn/flagged-columns.ts';
import { type Candidate, makeCandidate } from '../learn/make-candidate.ts';
import { TRAINING_DEFAULTS } from '../learn/train-forest.ts';
import { FEATURE_NAMES } from '../risk/features.ts';
import { DEFAULT_POLICY } from '../risk/policy/policy.ts';
import { alarmsText, percentText } from './candidate-figures.ts';
import { candidateId, writeCandidate } from './candidate-files.ts';
import { failure, ok, type CommandOutcome } from './command-outcome.ts';
import type { Io } from './io.ts';
import { createProgress } from './progress.ts';
import type { TrainingSourceOutcome } from './training-source.ts';

export interface TrainModelOptions {
  readonly customer?: string;
  /** An export to read instead of the data directory. */
  readonly rows?: string;
  /** Folder of the candidates. */
  readonly out: string;
  readonly prior: number;
  readonly budget?: number;
  /** For rows that do not have it. Default: the share in the log. */
  readonly allowRate?: number;
  readonly flaggedColumns: boolean;
}

/**
 * Trains a model on rows and writes it as a candidate into a new folder. The command is a separate process beside the server. Refuses
 * when there is too little to learn from, and names what is missing.
 */
export function trainModel(
  source: TrainingSourceOutcome,
  options: TrainModelOptions,
  io: Pick<Io, 'write'>,
): CommandOutcome {
  const { prior, budget = null } = options;
  if (prior >= 1) return failure('usage', 'the prior must be below 1');
  if (source.kind === 'fault') return failure(source.code, source.detail);
  const { rows, values, stock } = source;
  if (stock.missing.length > 0) return failure('too_few_rows', `missing: ${stock.missing.join(', ')}`);
  const flagged = new Set(flaggedColumns(FEATURE_NAMES));
  const columns = FEATURE_NAMES.filter((name) => options.flaggedColumns || !flagged.has(name));
  const places = new Map(columns.map((name, at) => [name, at]));
  const positions = Int32Array.from(FEATURE_NAMES, (name) => places.get(name) ?? -1);
  const nowMs = Date.now();
  const progress = createProgress(TRAINING_DEFAULTS.treesMax, io.write);
  let candidate: Candidate;
  try {
    candidate = makeCandidate(rows, {
      nowMs,
      prior,
      budget,
      unknownRate: options.allowRate ?? (source.allowRate || DEFAULT_POLICY.logFeaturesSample),
      columns,
      fill: (row, target) => values.fill(row, positions, target),
      onTree: (trees) => progress.update(trees, `${trees} trees`),
    });
  } catch (error) {
    if (error instanceof RangeError) return failure('cannot_learn', error.message);
    throw error;
  } finally {
    progress.stop();
  }
  const id = candidateId(nowMs);
  const folder = join(options.out, id);
  writeCandidate(folder, { id, nowMs, prior, budget, columns, stock, rows, candidate });
  const { threshold, addedSessions, honestSessions, forest, report } = candidate;
  const text = [
    `wrote ${folder}: ${forest.starts.length} trees, threshold ${threshold.toFixed(4)} at a prior of ${prior}`,
    alarmsText(candidate, budget),
    ...report.budgets.map((row) => `  for ${percentText(row.budget)} of honest sessions: ${budgetText(row)}`),
    ...(stock.isShadowOnly ? ['with under 500 known fraud sessions, only compare it with the rules'] : []),
    `report: ${join(folder, 'report.html')}`,
    `next: gatehouse models check ${folder}, then gatehouse models shadow ${id}`,
  ];
  return ok({ id, folder, threshold, added_sessions: addedSessions, honest_sessions: honestSessions }, text.join('\n'));
}

function budgetText({ threshold, addedCatch }: Candidate['report']['budgets'][number]): string {
  const caught = addedCatch === null ? 'no known fraud' : `${percentText(addedCatch)} more fraud caught`;
  return `threshold ${threshold.toFixed(4)}, ${caught}`;
}
