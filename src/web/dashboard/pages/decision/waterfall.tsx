import type { JSX } from 'preact';
import type { Decision } from '../../../../contract/vocabulary.ts';
import type { ExplainedDecisionBody } from '../../../../contract/wire-types.ts';
import { DECISION_CLASSES, DECISION_WORDS, formatScore, asWords } from '../../format.ts';
import { visibleText } from '../../visible-text.ts';

type Bands = NonNullable<ExplainedDecisionBody['bands']>;

interface Band {
  readonly decision: Decision;
  readonly from: number;
  readonly to: number;
}

/** The bands from 0 to 100, mildest first; empty ones are left out. */
export function toBands({
  ALLOW_WATCH: watch,
  SOFT_CHALLENGE: challenge,
  REVIEW: review,
  BLOCK: block,
}: Bands): readonly Band[] {
  const starts: readonly (readonly [Decision, number])[] = [
    ['ALLOW', 0],
    ['ALLOW_WATCH', watch],
    ['SOFT_CHALLENGE', challenge],
    ...(review === null ? [] : [['REVIEW', review] as const]),
    ['BLOCK', block],
  ];
  return starts
    .map(([decision, from], n) => ({ decision, from, to: starts[n + 1]?.[1] ?? 100 }))
    .filter(({ from, to }) => to > from);
}

/** How the score came about: each family adds its step, the bands of the event type behind them. */
export function Waterfall({ decision }: { readonly decision: ExplainedDecisionBody }): JSX.Element {
  const { families, score, bands, overridden_by: overriddenBy } = decision;
  const last = families.at(-1)?.to ?? 0;
  const sentence = families
    .map(({ family, from, to }) => `${asWords(family)} from ${formatScore(from)} to ${formatScore(to)}`)
    .join(', ');
  return (
    <figure class="waterfall" aria-label={`Score ${formatScore(score)}: ${visibleText(sentence) || 'no rule fired'}`}>
      {bands !== null && (
        <div class="wf-bands" aria-hidden="true">
          {toBands(bands).map(({ decision: name, from, to }) => (
            <span
              key={name}
              class={`wf-band ${DECISION_CLASSES[name]}`}
              style={{ left: `${from}%`, width: `${to - from}%` }}
            >
              <span class="wf-band-name">{to - from < 9 ? '' : DECISION_WORDS[name]}</span>
              <span class="wf-band-from num">{from === 0 ? '' : formatScore(from)}</span>
            </span>
          ))}
        </div>
      )}
      <ol class="wf-steps">
        {families.map(({ family, reason, from, to }) => (
          <li key={family} class="wf-step">
            <span class="wf-name" title={visibleText(reason)}>
              {visibleText(asWords(family))}
            </span>
            <span class="wf-track" aria-hidden="true">
              <span class="wf-bar" style={{ left: `${from}%`, width: `${Math.max(0.4, to - from)}%` }} />
            </span>
            <span class="wf-value num">
              +{formatScore(Math.round((to - from) * 10) / 10)} <span class="muted">→ {formatScore(to)}</span>
            </span>
          </li>
        ))}
        <li class="wf-step wf-total">
          <span class="wf-name">Score</span>
          <span class="wf-track" aria-hidden="true">
            <span class="wf-mark" style={{ left: `${score}%` }} />
          </span>
          <span class="wf-value num">{formatScore(score)}</span>
        </li>
      </ol>
      {overriddenBy !== null && <figcaption class="muted small">{OVERRIDES[overriddenBy]}</figcaption>}
      {overriddenBy === null && families.length > 0 && Math.abs(last - score) > 0.15 && (
        <figcaption class="muted small">
          The rules lead to {formatScore(last)}; a model or a later step made it {formatScore(score)}.
        </figcaption>
      )}
      {bands === null && (
        <figcaption class="muted small">
          The policy of that time is no longer known, so its bands are not drawn.
        </figcaption>
      )}
    </figure>
  );
}

const OVERRIDES: Readonly<Record<NonNullable<ExplainedDecisionBody['overridden_by']>, string>> = {
  list_block: 'Your list blocks this fingerprint, whatever the score is.',
  list_allow: 'Your list allows this fingerprint, whatever the score is.',
  missing_session_token: 'The request had no session token, so the decision was made at once.',
  test_input: 'A test input asked for the decision.',
};
