import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import type { ExplainedDecisionBody } from '../../../../contract/wire-types.ts';
import { v1 } from '../../api.ts';
import { DecisionBadge } from '../../components/decision-badge.tsx';
import { Section } from '../../components/pane.tsx';
import { StateView } from '../../components/state-view.tsx';
import { Text } from '../../components/text.tsx';
import { Time } from '../../components/time.tsx';
import { formatScore } from '../../format.ts';
import { decisionPath } from '../../link-path.ts';
import { useLive } from '../../use-live.ts';
import type { DecideBody } from './presets.ts';
import { rebuildRequest, type RebuiltField } from './rebuilt-request.ts';

const STATES: Readonly<Record<RebuiltField['state'], { readonly word: string; readonly tone: string }>> = {
  stored: { word: 'as sent', tone: 'tone-good' },
  part: { word: 'in part', tone: 'tone-warn' },
  'stand-in': { word: 'stand-in', tone: 'tone-warn' },
  unknown: { word: 'unknown', tone: 'tone-bad' },
};

/** Fills the console with a request that is rebuilt from a decision, and says of each field whether it is the one that was sent. */
export function RebuiltSection({
  id,
  closeHref,
  onBody,
}: {
  readonly id: string;
  readonly closeHref: string;
  readonly onBody: (body: DecideBody) => void;
}): JSX.Element {
  const found = useLive<ExplainedDecisionBody>(v1(`/decisions/${encodeURIComponent(id)}`));
  const { data } = found;
  const rebuilt = useMemo(() => (data === undefined ? null : rebuildRequest(data)), [data]);
  useEffect(() => {
    if (rebuilt !== null) onBody(rebuilt.body);
  }, [rebuilt]);
  return (
    <Section
      title="Rebuilt request"
      note="bodies are not kept: the simulation can differ from the decision"
      actions={
        <a class="button button-small" href={closeHref}>
          Leave it
        </a>
      }
    >
      <StateView of={found} skeleton="rows">
        {() =>
          data === undefined || rebuilt === null ? null : (
            <div class="stack">
              <p class="row">
                <a href={decisionPath(data.request_id)}>The decision</a> of <Time at={data.occurred_at} /> was
                <DecisionBadge value={data.decision} wouldBe={data.would_be} />
                <span class="num">{formatScore(data.score)}</span>
              </p>
              <table class="table table-plain table-wraps table-fields">
                <caption class="hidden-text">Fields of the rebuilt request</caption>
                <thead>
                  <tr>
                    <th scope="col">Field</th>
                    <th scope="col">State</th>
                    <th scope="col">What is kept</th>
                  </tr>
                </thead>
                <tbody>
                  {rebuilt.fields.map(({ name, state, about }) => (
                    <tr key={name}>
                      <th scope="row">
                        <Text value={name} charactersMax={80} mono />
                      </th>
                      <td>
                        <span class={`tag ${STATES[state].tone}`}>{STATES[state].word}</span>
                      </td>
                      <td>
                        <Text value={about} charactersMax={300} />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </StateView>
    </Section>
  );
}
