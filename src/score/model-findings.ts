import type { ChallengerFinding } from '../risk/challenger-finding.ts';
import { type Decision, isStop } from '../risk/decision.ts';
import { addHit, type Evaluated, hasFired } from '../risk/evaluate.ts';
import { fillFeatures } from '../risk/features.ts';
import { type Contribution, fuse, type OwnEffect } from '../risk/fuse.ts';
import type { LearningNote } from '../risk/learning-note.ts';
import type { CompiledPolicy } from '../risk/policy/policy-set.ts';
import type { GatheredFacts } from './gather.ts';
import type { ActiveModel } from './model.ts';

const DAY_SECONDS = 86_400;

type ModelPolicy = Pick<CompiledPolicy, 'modelRule' | 'policy'>;

/** The models of a batch; null where there is none. */
export interface RunningModels {
  readonly model: ActiveModel | null;
  readonly challenger: ActiveModel | null;
}

/** What the models read of a request, and what they found. */
export interface ModelledRequest {
  readonly facts: GatheredFacts;
  readonly active: ModelPolicy & { readonly challenger: ModelPolicy | null };
  readonly evaluated: Evaluated;
  /** The same facts under the challenger's policy; null without one. */
  readonly challenger: Evaluated | null;
  /** The model's; null without one. */
  probability: number | null;
  /** The challenger model's; null without one. */
  challengerProbability: number | null;
}

/**
 * Adds what the model found in a batch, in one run, and keeps what the challenger model finds, in another. Both see the same columns: those
 * of the rules, never each other. Never rejects.
 */
export async function runModels(
  batch: readonly ModelledRequest[],
  { model, challenger }: RunningModels,
): Promise<void> {
  if (batch.length === 0) return;
  // First, because the model's own finding is a rule that has fired.
  if (challenger !== null) {
    await runOver(batch, challenger, (one, probability) => {
      one.challengerProbability = probability;
    });
  }
  if (model === null) return;
  await runOver(batch, model, (one, probability, reasons) => {
    one.probability = probability;
    if (probability < model.threshold) return;
    const evidence = `probability ${probability.toFixed(3)}${reasons()}`;
    addModelHit(one.evaluated, one.active, one.facts, evidence);
    if (one.challenger !== null && one.active.challenger !== null)
      addModelHit(one.challenger, one.active.challenger, one.facts, evidence);
  });
}

/** Calls `found` for each row with a probability. */
async function runOver(
  batch: readonly ModelledRequest[],
  model: ActiveModel,
  found: (one: ModelledRequest, probability: number, reasons: () => string) => void,
): Promise<void> {
  const { columns } = model;
  const features = new Float32Array(batch.length * columns.length);
  for (const [row, { facts, evaluated }] of batch.entries()) {
    fillFeatures(columns, facts, (code) => hasFired(evaluated, code), features, row * columns.length);
  }
  const probabilities = await model.run(features, batch.length);
  if (probabilities === null) return;
  for (const [row, one] of batch.entries()) {
    const probability = probabilities[row] ?? Number.NaN;
    if (!Number.isNaN(probability)) found(one, probability, () => model.reasons(features, row * columns.length));
  }
}

/**
 * Returns what the challenger model found: the decision that it would have led to instead of the active model, with everything else alike.
 * Null without a challenger, and when its run failed.
 */
export function challengerFinding(
  { facts, active, challengerProbability }: ModelledRequest,
  challenger: ActiveModel | null,
  counting: readonly Contribution[],
  own: OwnEffect & { readonly enforced: readonly Contribution[] },
): ChallengerFinding | null {
  if (challenger === null || challengerProbability === null) return null;
  const others = counting.filter(({ rule }) => rule.family !== 'model');
  const { modelRule: tuned } = active;
  const counts = challengerProbability >= challenger.threshold && modelCounts(active, facts);
  const weight = tuned?.weights['default'] ?? 0;
  const hit = counts && tuned !== undefined ? [{ rule: tuned.rule, weight, evidence: '' }] : [];
  const { decision } = fuse([...others, ...hit, ...own.enforced], facts, active.policy, own);
  return { id: challenger.version, probability: challengerProbability, decision };
}

/**
 * Returns whether the challenger model differs so that a verdict teaches something: it would stop what passes, or finds no fraud in what
 * the rules stop. An entry of a list is the customer's own verdict already.
 */
export function modelDisagrees(
  { facts }: Pick<ModelledRequest, 'facts'>,
  challenger: Pick<ActiveModel, 'threshold'> | null,
  found: ChallengerFinding | null,
  decision: Decision,
): boolean {
  if (challenger === null || found === null) return false;
  if (!isStop(decision)) return isStop(found.decision);
  return found.probability < challenger.threshold && facts.list?.decides !== 'block';
}

/** Returns what the feature row of a decision was made under. `rate` is the share of such decisions whose row is kept. */
export function learningNote(
  { active: { policy }, probability }: Pick<ModelledRequest, 'active' | 'probability'>,
  rate: number,
  model: ActiveModel | null,
): LearningNote {
  return {
    rate,
    policyVersion: policy.version,
    model: model === null || probability === null ? null : { version: model.version, probability },
  };
}

/** Adds the model's finding. */
export function addModelHit(
  evaluated: Evaluated,
  compiled: ModelPolicy,
  facts: Pick<GatheredFacts, 'history'>,
  evidence: string,
): void {
  const { modelRule } = compiled;
  if (modelRule !== undefined && modelCounts(compiled, facts)) addHit(evaluated, modelRule, 'default', 1, evidence);
}

/**
 * Returns whether the model may add to a request. Not on the first day of a customer, when everybody is new, which no model was trained on;
 * nor with a weight of 0, which would only show callers a reason that counts for nothing.
 * Choice: the day begins with the first login or sign-up, and until there is one with the first event.
 */
function modelCounts({ modelRule, policy }: ModelPolicy, { history }: Pick<GatheredFacts, 'history'>): boolean {
  if ((modelRule?.weights['default'] ?? 0) === 0) return false;
  const ageSeconds = history?.customerAgeSeconds ?? DAY_SECONDS;
  return policy.modelFirstDay !== 'silent' || ageSeconds >= DAY_SECONDS;
}
