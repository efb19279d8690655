import type { Decision } from './decision.ts';

/**
 * Marks the finding of the challenger model among the contributions of a record, as a rule that was only observed. It is no reason: no
 * response and no statistic has it.
 */
export const CHALLENGER_CODE = 'challenger_model';

/** What the model that runs beside the active one found in a decision; it had no effect. */
export interface ChallengerFinding {
  /** Id of the candidate. */
  readonly id: string;
  /** 0 to 1, four decimals. */
  readonly probability: number;
  /** The decision with this model instead of the active one. */
  readonly decision: Decision;
}

/** Returns the finding, some 50 bytes of a record, as a contribution that is stored. */
export function challengerContribution({ id, probability, decision }: ChallengerFinding): {
  readonly rule: { readonly code: string };
  readonly weight: number;
  readonly evidence: string;
  readonly decides: Decision;
  readonly isObserved: true;
} {
  const evidence = `${probability.toFixed(4)} ${id}`;
  return { rule: { code: CHALLENGER_CODE }, weight: 0, evidence, decides: decision, isObserved: true };
}

/** Returns the finding of a stored contribution; null if it is no such. */
export function challengerFindingOf(
  code: string,
  decision: Decision | undefined,
  evidence: string,
): ChallengerFinding | null {
  if (code !== CHALLENGER_CODE || decision === undefined) return null;
  const space = evidence.indexOf(' ');
  return { id: evidence.slice(space + 1), probability: Number(evidence.slice(0, space)), decision };
}
