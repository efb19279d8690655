import type { JSX } from 'preact';
import { useRoute } from 'preact-iso/router';
import type { ExplainedDecisionBody, PolicyBody } from '../../../contract/wire-types.ts';
import { v1 } from '../api.ts';
import { Section } from '../components/pane.tsx';
import { Empty, StateView } from '../components/state-view.tsx';
import { shortId } from '../format.ts';
import { useKeys } from '../keyboard.ts';
import { usePageTitle } from '../page-title.ts';
import { useLive } from '../use-live.ts';
import { DecisionFacts } from './decision/decision-facts.tsx';
import { DecisionHead } from './decision/decision-head.tsx';
import { DeliveryList } from './decision/delivery-list.tsx';
import { LinkList, SessionStrip } from './decision/link-list.tsx';
import { ReasonList } from './decision/reason-list.tsx';
import { TokenSignalTable } from './decision/token-signals.tsx';
import { TravelSection } from './decision/travel-section.tsx';
import { Waterfall } from './decision/waterfall.tsx';

/** One decision: its reasons, linked decisions and actions. */
export default function DecisionPage(): JSX.Element {
  const { params } = useRoute();
  const id = params['id'] ?? '';
  usePageTitle(`Decision ${shortId(id)}`);
  const found = useLive<ExplainedDecisionBody>(v1(`/decisions/${encodeURIComponent(id)}`));
  const policy = useLive<PolicyBody>(v1('/policy'));
  useKeys('Page', [{ keys: 'Escape', does: 'Back', run: () => history.back() }], []);
  if (found.fault?.status === 404 && found.data === undefined)
    return (
      <Empty icon="clock" title="This decision is not in the log">
        Allow is kept for 24 h, everything else for 30 days. <a href="/dashboard/decisions">Search decisions</a>
      </Empty>
    );
  return (
    <StateView of={found}>
      {(decision) => (
        <div class="decision-page">
          <div class="stack">
            <Section title="Decision">
              <DecisionHead decision={decision} onChange={found.refresh} />
            </Section>
            <Section title="Why" note="the largest weight of each family counts">
              <div class="stack">
                <Waterfall decision={decision} />
                <ReasonList decision={decision} policy={policy.data} />
              </div>
            </Section>
            <Section title="Session">
              <SessionStrip decision={decision} />
            </Section>
            <TravelSection decision={decision} />
          </div>
          <div class="stack">
            <Section title="What was seen">
              <DecisionFacts decision={decision} />
            </Section>
            <TokenSignalTable decision={decision} />
            <Section title="Linked decisions" note="from the newest 1,000 decisions of each link">
              <LinkList decision={decision} />
            </Section>
            <Section title="Deliveries">
              <DeliveryList requestId={decision.request_id} />
            </Section>
          </div>
        </div>
      )}
    </StateView>
  );
}
