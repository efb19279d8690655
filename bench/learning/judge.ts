import { bandsFor, decisionAt, scoreOf } from '../../src/risk/fuse.ts';
import { DECISIONS, isStop } from '../../src/risk/decision.ts';
import { FEATURE_NAMES } from '../../src/risk/features.ts';
import { Forest } from '../../src/risk/forest.ts';
import type { PolicySet } from '../../src/risk/policy/policy-set.ts';
import { readFeatureRow } from '../../src/risk/stored-features.ts';
import type { ActiveModel } from '../../src/score/model.ts';
import type { CustomerNumber } from '../../src/kernel/brand.ts';
import { makeCandidate } from '../../src/learn/make-candidate.ts';
import { Tally } from '../detect/tally.ts';
import type { PlayedEvent } from './play-week.ts';

/** A trained model with the columns that it reads. */
export interface TrainedModel {
  readonly forest: Forest;
  readonly threshold: number;
  /** Position in the model's input by position in `FEATURE_NAMES`. */
  readonly positions: ReadonlyMap<number, number>;
  readonly rows: number;
  readonly fraudSessions: number;
}

/** As in `models train`. */
const FLAGGED = /^(?:url:|referrer:|headers:|time:|agent:length$|agent:browser_age_days$|token:(?!webdriver$))/;
const COLUMNS = FEATURE_NAMES.filter((name) => !FLAGGED.test(name));
const POSITIONS = new Map(COLUMNS.map((name, at) => [FEATURE_NAMES.indexOf(name), at]));
const CUSTOMER_AGE = FEATURE_NAMES.indexOf('customer:age_hours');
/** From then on a row without a label counts. */
const WAIT_MS = 14 * 86_400_000;
const SILENT_HOURS = 24;

export interface TrainParts {
  readonly prior: number;
  readonly budget: number;
  readonly allowRate: number;
}

/** Trains as `models train` does, two weeks after the last event. */
export function trainOn(events: readonly PlayedEvent[], { prior, budget, allowRate }: TrainParts): TrainedModel {
  const withRow = events.filter(({ features }) => features !== null);
  const rows = withRow.map(({ row }) => row);
  const lastMs = rows.reduce((last, { atMs }) => Math.max(last, atMs), 0);
  const candidate = makeCandidate(rows, {
    nowMs: lastMs + WAIT_MS + 1,
    prior,
    budget,
    unknownRate: allowRate,
    columns: COLUMNS,
    fill(row, target) {
      fillRow(withRow[row]?.features ?? null, target);
    },
  });
  const fraud = new Set(rows.filter(({ label }) => label === 'fraud').map(({ session }) => session));
  return {
    forest: new Forest(candidate.forest),
    threshold: candidate.threshold,
    positions: POSITIONS,
    rows: rows.length,
    fraudSessions: fraud.size,
  };
}

/** Returns the model as the engine runs it. */
export function activeModel({ forest, threshold, positions }: TrainedModel): ActiveModel {
  const width = positions.size;
  return {
    version: 'bench',
    threshold,
    columns: [...positions.keys()],
    run: (features, rows) =>
      Promise.resolve(Float32Array.from({ length: rows }, (_, row) => forest.probability(features, row * width))),
    reasons: () => '',
  };
}

/** Returns the probability of each event, 0 without a stored row. */
export function scoresOf(events: readonly PlayedEvent[], { forest }: Pick<TrainedModel, 'forest'>): Float32Array {
  const values = new Float32Array(COLUMNS.length);
  return Float32Array.from(events, ({ features }) => {
    if (features === null) return 0;
    values.fill(0);
    fillRow(features, values);
    return forest.probability(values, 0);
  });
}

/** What the model would decide beside the rules. */
export interface Judged {
  readonly tally: Tally;
  /** Events that the model would stop and the rules let pass. */
  readonly added: readonly PlayedEvent[];
}

/** Decides a played week again, as the engine would with the model: the rules' score is fused with its weight. */
export function judgeWeek(
  events: readonly PlayedEvent[],
  { forest, threshold }: TrainedModel,
  policies: PolicySet,
  weight: number,
): Judged {
  const tally = new Tally();
  const added: PlayedEvent[] = [];
  const values = new Float32Array(COLUMNS.length);
  for (const one of events) {
    let { decision, score } = one;
    values.fill(0);
    const ageHours = fillRow(one.features, values);
    if (one.features !== null && ageHours >= SILENT_HOURS && forest.probability(values, 0) >= threshold) {
      const { policy } = policies.of(one.event.session.customer.number as CustomerNumber, one.eventType);
      score = scoreOf((1 - score / 100) * (1 - weight));
      const lifted = decisionAt(score, bandsFor(one.eventType, policy));
      if (DECISIONS.indexOf(lifted) > DECISIONS.indexOf(decision)) decision = lifted;
      if (isStop(decision) && !isStop(one.decision)) added.push(one);
    }
    tally.add(one.event as Parameters<Tally['add']>[0], {
      requestId: one.requestId,
      decision,
      score,
      contributions: [],
    });
  }
  return { tally, added };
}

/** Writes a stored row to zeros; returns the age of its customer in hours. */
function fillRow(features: Buffer | null, target: Float32Array): number {
  let ageHours = 0;
  for (const [column, value] of (features === null ? null : readFeatureRow(features))?.values ?? []) {
    if (column === CUSTOMER_AGE) ageHours = value;
    const position = POSITIONS.get(column);
    if (position !== undefined) target[position] = value;
  }
  return ageHours;
}
