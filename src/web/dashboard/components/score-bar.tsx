import type { JSX } from 'preact';
import type { Decision } from '../../../contract/vocabulary.ts';
import { DECISION_CLASSES, formatScore } from '../format.ts';

/** A score from 0 to 100 as a number and a bar in the colour of its decision. */
export function ScoreBar({ score, decision }: { readonly score: number; readonly decision: Decision }): JSX.Element {
  return (
    <span class={`score ${DECISION_CLASSES[decision]}`}>
      <span class="score-number num">{formatScore(score)}</span>
      <svg class="score-bar" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        <rect class="score-track" width="100" height="6" rx="3" />
        <rect class="score-fill" width={Math.max(1, score)} height="6" rx="3" />
      </svg>
    </span>
  );
}
