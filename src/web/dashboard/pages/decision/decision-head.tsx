import type { JSX } from 'preact';
import type { ExplainedDecisionBody } from '../../../../contract/wire-types.ts';
import { Copy } from '../../components/copy.tsx';
import { DecisionBadge } from '../../components/decision-badge.tsx';
import { Text } from '../../components/text.tsx';
import { Time } from '../../components/time.tsx';
import { formatScore } from '../../format.ts';
import { DecisionActions } from './decision-actions.tsx';

/** The headline of a decision, and what can be done about it. */
export function DecisionHead({
  decision,
  onChange,
}: {
  readonly decision: ExplainedDecisionBody;
  readonly onChange: () => void;
}): JSX.Element {
  const { decision: value, would_be: wouldBe, score, label, request_id: id } = decision;
  return (
    <div class="decision-head">
      <p class="row">
        <DecisionBadge value={value} wouldBe={wouldBe} large />
        <span class="headline-score num">{formatScore(score)}</span>
        <Text value={decision.event_type} charactersMax={64} />
        <Time at={decision.occurred_at} />
        {label !== null && <span class={`tag tone-${label === 'fraud' ? 'bad' : 'good'}`}>labelled {label}</span>}
      </p>
      <p class="row small">
        <code class="text">{id}</code>
        <Copy text={id} what="the id" />
      </p>
      {decision.review_hint !== '' && (
        <p class="muted">
          <Text value={decision.review_hint} charactersMax={400} />
        </p>
      )}
      <DecisionActions decision={decision} onChange={onChange} />
    </div>
  );
}
