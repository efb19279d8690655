import type { JSX } from 'preact';
import type { ExplainedDecisionBody, PolicyBody } from '../../../../contract/wire-types.ts';
import { DecisionBadge } from '../../components/decision-badge.tsx';
import { ReasonName } from '../../components/reason-name.tsx';
import { Text } from '../../components/text.tsx';
import { formatScore, asWords } from '../../format.ts';
import { useLink } from '../../url-state.ts';
import { visibleText } from '../../visible-text.ts';

/** Each reason in words: what was found, how much it weighs, what would quiet it, and what the decision would be without it. */
export function ReasonList({
  decision,
  policy,
}: {
  readonly decision: ExplainedDecisionBody;
  readonly policy: PolicyBody | undefined;
}): JSX.Element {
  const link = useLink();
  const rules = new Map(policy?.rules.map((rule) => [rule.reason, rule]));
  if (decision.contributions.length === 0)
    return <p class="muted">No rule fired: nothing about this request stood out.</p>;
  return (
    <ul class="reason-list">
      {inOrder(decision).map(({ reason, family, weight, evidence, counts, without, observed, decision: asked }) => {
        const rule = rules.get(reason);
        return (
          <li key={reason} class={counts ? 'reason-item' : 'reason-item reason-quiet'}>
            <p class="reason-head">
              <a href={link('/dashboard/rules', { rule: reason })}>
                <ReasonName code={reason} withCode />
              </a>
              <span class="muted num">
                {asked === undefined ? `weight ${weight.toFixed(2)}` : `at least ${asked}`} ·{' '}
                {visibleText(asWords(family))}
              </span>
            </p>
            {rule !== undefined && <p>{sentenceOf(rule.sentence)}</p>}
            <p class="evidence">
              <Text value={evidence} charactersMax={300} />
            </p>
            <p class="reason-foot">
              {observed === true && <span class="tag">only observed: it changed nothing</span>}
              {!counts && observed !== true && <span class="tag">a stronger reason of this family counts</span>}
              {without !== null && (counts || without.score !== decision.score) && (
                <span class="without">
                  Without this: <span class="num">{formatScore(without.score)}</span>
                  {without.decision !== null && <DecisionBadge value={without.decision} />}
                </span>
              )}
            </p>
            {counts && rule !== undefined && rule.what_quiets_it !== '' && (
              <p class="muted small">Exceptions: {visibleText(rule.what_quiets_it)}</p>
            )}
          </li>
        );
      })}
    </ul>
  );
}

/** Those that count first, in the order of the steps; then the others, which add nothing. */
function inOrder({ contributions, families }: ExplainedDecisionBody): ExplainedDecisionBody['contributions'] {
  const step = new Map(families.map(({ reason }, n) => [reason, n]));
  const place = (reason: string): number => step.get(reason) ?? families.length;
  return [...contributions].sort((a, b) => place(a.reason) - place(b.reason) || b.weight - a.weight);
}

function sentenceOf(text: string): string {
  const shown = visibleText(text);
  return shown === '' ? '' : `${shown.charAt(0).toUpperCase()}${shown.slice(1)}${/[.!?]$/.test(shown) ? '' : '.'}`;
}
