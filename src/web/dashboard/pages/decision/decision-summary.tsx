import type { JSX } from 'preact';
import type { ExplainedDecisionBody, PolicyBody } from '../../../../contract/wire-types.ts';
import { v1 } from '../../api.ts';
import { StateView } from '../../components/state-view.tsx';
import { useLive } from '../../use-live.ts';
import { DecisionFacts } from './decision-facts.tsx';
import { DecisionHead } from './decision-head.tsx';
import { ReasonList } from './reason-list.tsx';
import { Waterfall } from './waterfall.tsx';

/** One decision beside a list: why it was made, and what can be done about it. */
export function DecisionSummary({ id }: { readonly id: string }): JSX.Element {
  const found = useLive<ExplainedDecisionBody>(v1(`/decisions/${encodeURIComponent(id)}`));
  const policy = useLive<PolicyBody>(v1('/policy'));
  return (
    <StateView of={found} skeleton="text">
      {(decision) => (
        <div class="stack">
          <DecisionHead decision={decision} onChange={found.refresh} />
          <h3>Why</h3>
          <Waterfall decision={decision} />
          <ReasonList decision={decision} policy={policy.data} />
          <h3>What was seen</h3>
          <DecisionFacts decision={decision} />
        </div>
      )}
    </StateView>
  );
}
