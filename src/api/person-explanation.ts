import type { DecisionRecord } from '../risk/decision-record.ts';
import { PUBLIC_REASONS } from '../risk/public-reasons.ts';
import { type ExplanationLanguage, PERSON_TEXTS } from './person-texts.ts';

/** What the person whom a decision is about may read of it. Source: contract, 9.4. */
export interface PersonExplanation {
  readonly request_id: string;
  readonly lang: ExplanationLanguage;
  readonly occurred_at: number;
  readonly decision: string;
  /** Sentences, each once; the most important first. */
  readonly reasons: readonly string[];
}

/** An ALLOW has no reasons: what was found changed nothing. A decision of which no reason may be named has one sentence for that. */
export function explainToPerson(
  { requestId, occurredAtMs, decision, contributions }: DecisionRecord,
  lang: ExplanationLanguage,
): PersonExplanation {
  const texts = PERSON_TEXTS[lang];
  const heaviest = contributions.toSorted((a, b) => b.weight - a.weight);
  const subjects = new Set(heaviest.flatMap(({ code }) => PUBLIC_REASONS[code] ?? []));
  const isLetThrough = decision === 'ALLOW' || decision === 'ALLOW_WATCH';
  const named = [...subjects].map((subject) => texts.reasons[subject]);
  const reasons = isLetThrough ? [] : named.length > 0 ? named : [texts.unnamed];
  return {
    request_id: requestId,
    lang,
    occurred_at: Math.floor(occurredAtMs / 1_000),
    decision: texts.decisions[decision],
    reasons,
  };
}
