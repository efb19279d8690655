import { type ChallengerFinding, challengerContribution, challengerFindingOf } from './challenger-finding.ts';
import type { Decision } from './decision.ts';
import { learningContribution, type LearningNote, learningNoteOf } from './learning-note.ts';
import { effectOfWeight } from './stored-weight.ts';

export interface RecordedContribution {
  readonly code: string;
  /** 0 to 1. */
  readonly weight: number;
  readonly evidence: string;
  /** The decision that a rule of the customer's own asks for. */
  readonly decides?: Decision;
  /** True for a rule of the customer's own that was evaluated without an effect: it is no reason. */
  readonly isObserved?: boolean;
}

/** What is stored of a contribution. */
interface StoredContribution {
  readonly rule: { readonly code: string };
  readonly weight: number;
  readonly evidence: string;
  readonly decides?: Decision;
  readonly isObserved?: boolean;
}

/** Adds to the contributions what is stored beside them. */
export function withFindings(
  contributions: readonly StoredContribution[],
  beside: ChallengerFinding | null,
  learning: LearningNote | null,
): readonly StoredContribution[] {
  if (beside === null && learning === null) return contributions;
  return [
    ...contributions,
    ...(beside === null ? [] : [challengerContribution(beside)]),
    ...(learning === null ? [] : [learningContribution(learning)]),
  ];
}

/** Reads the contributions of a record, and what is stored beside them. */
export function readContributions(fired: readonly unknown[]): {
  readonly all: readonly RecordedContribution[];
  readonly beside: ChallengerFinding | null;
  readonly learning: LearningNote | null;
} {
  const all: RecordedContribution[] = [];
  let beside: ChallengerFinding | null = null;
  let learning: LearningNote | null = null;
  for (let i = 0; i + 2 < fired.length; i += 3) {
    const effect = effectOfWeight(Number(fired[i + 1]));
    const [code, evidence] = [String(fired[i]), String(fired[i + 2])];
    const found = challengerFindingOf(code, effect.decides, evidence);
    const note = learningNoteOf(code, evidence);
    if (found !== null) beside = found;
    else if (note !== null) learning = note;
    else all.push({ code, ...effect, evidence });
  }
  return { all, beside, learning };
}
