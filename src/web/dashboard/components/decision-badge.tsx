import type { JSX } from 'preact';
import type { Decision } from '../../../contract/vocabulary.ts';
import { DECISION_CLASSES, DECISION_WORDS } from '../format.ts';

/** One shape for each decision, so that colour is never the only difference. */
const SHAPES: Readonly<Record<Decision, string>> = {
  ALLOW: 'M6 10.5a4.500 4.500 0 1 0 0-9 4.500 4.500 0 0 0 0 9Z',
  ALLOW_WATCH: 'M6 1 11 6 6 11 1 6Z',
  SOFT_CHALLENGE: 'M6 1.200 11.300 10.500H.7Z',
  REVIEW: 'M1.700 1.700h8.600v8.600H1.700Z',
  BLOCK: 'M3.900 1h4.200L11 3.900v4.200L8.100 11H3.900L1 8.100V3.900Z',
};

export function DecisionShape({ value, size = 10 }: { readonly value: Decision; readonly size?: number }): JSX.Element {
  return (
    <svg class={`shape ${DECISION_CLASSES[value]}`} width={size} height={size} viewBox="0 0 12 12" aria-hidden="true">
      <path d={SHAPES[value]} />
    </svg>
  );
}

/** A decision: shape, colour and word. `wouldBe`: in observe mode the decision that would have been made. */
export function DecisionBadge({
  value,
  wouldBe,
  large = false,
}: {
  readonly value: Decision;
  readonly wouldBe?: Decision | undefined;
  readonly large?: boolean;
}): JSX.Element {
  const shown = wouldBe ?? value;
  return (
    <span class={`badge ${DECISION_CLASSES[shown]}${large ? ' badge-large' : ''}`} title={shown}>
      <DecisionShape value={shown} size={large ? 14 : 10} />
      {DECISION_WORDS[shown]}
      {wouldBe !== undefined && wouldBe !== value && <span class="badge-note">observed</span>}
    </span>
  );
}
