import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { ExplainedDecisionBody, SimulationBody } from '../../../../contract/wire-types.ts';
import type { ApiFault } from '../../api.ts';
import { CodeBlock } from '../../components/code-block.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { DecisionBadge } from '../../components/decision-badge.tsx';
import { Section } from '../../components/pane.tsx';
import { Reasons } from '../../components/reasons.tsx';
import { ScoreBar } from '../../components/score-bar.tsx';
import { Empty, FaultView, Skeleton } from '../../components/state-view.tsx';
import { Text } from '../../components/text.tsx';
import { countOf, formatScore, shortId } from '../../format.ts';
import { decisionPath } from '../../link-path.ts';
import { ReasonList } from '../decision/reason-list.tsx';
import { Waterfall } from '../decision/waterfall.tsx';

/** One request and what came back: a simulation, or a decision that was made, explained if it is this customer's. */
export interface AnswerOutcome {
  readonly n: number;
  readonly isReal: boolean;
  readonly answer: SimulationBody | null;
  /** The response as it came. */
  readonly raw: string;
  readonly summary: Pick<SimulationBody, 'request_id' | 'decision' | 'score' | 'reasons'> & {
    readonly would_be?: SimulationBody['would_be'];
  };
}

export interface TriedRun {
  readonly total: number;
  readonly outcomes: readonly AnswerOutcome[];
  readonly fault: ApiFault | null;
  readonly isBusy: boolean;
}

const COLUMNS: readonly Column<AnswerOutcome>[] = [
  { id: 'n', title: 'Request', render: ({ n }) => n + 1 },
  {
    id: 'decision',
    title: 'Decision',
    render: ({ summary }) => <DecisionBadge value={summary.decision} wouldBe={summary.would_be} />,
  },
  {
    id: 'score',
    title: 'Score',
    render: ({ summary }) => <ScoreBar score={summary.score} decision={summary.would_be ?? summary.decision} />,
  },
  { id: 'reasons', title: 'Reasons', grows: true, render: ({ summary }) => <Reasons reasons={summary.reasons} /> },
  {
    id: 'id',
    title: 'Id',
    render: ({ summary }) => <a href={decisionPath(summary.request_id)}>{shortId(summary.request_id)}</a>,
  },
];

export function AnswerView({ run }: { readonly run: TriedRun | null }): JSX.Element {
  const last = run?.outcomes.at(-1);
  const answer = useRef<HTMLDivElement>(null);
  const isDone = run !== null && !run.isBusy;
  // The form fills the window: without this the first answer appears below its edge.
  useEffect(() => {
    if (isDone) answer.current?.scrollIntoView({ block: 'nearest' });
  }, [isDone]);
  return (
    <Section
      title="Result"
      note={run === null || run.total === 1 ? undefined : `${run.outcomes.length} of ${run.total}`}
    >
      <div class="stack" role="status" ref={answer}>
        {run === null && (
          <Empty icon="try" title="No request was sent yet">
            Press “Simulate”: nothing is counted, and nothing is stored. Ctrl+Enter does the same.
          </Empty>
        )}
        {run !== null && run.isBusy && run.outcomes.length === 0 && <Skeleton form="text" />}
        {run?.fault !== null && run !== null && <FaultView fault={run.fault} />}
        {run !== null && run.total > 1 && run.outcomes.length > 0 && (
          <DataTable
            caption="Results"
            columns={COLUMNS}
            rows={run.outcomes}
            keyOf={({ n }) => String(n)}
            keys={false}
          />
        )}
        {last !== undefined && <LastAnswer outcome={last} />}
      </div>
    </Section>
  );
}

function LastAnswer({ outcome }: { readonly outcome: AnswerOutcome }): JSX.Element {
  const { summary, answer, isReal, raw } = outcome;
  // Simulations have no label, since nothing of them is stored.
  const explained: ExplainedDecisionBody | null = answer === null ? null : { ...answer, label: null };
  return (
    <>
      <div class="row">
        <DecisionBadge value={summary.decision} wouldBe={summary.would_be} large />
        <strong class="num">{formatScore(summary.score)}</strong>
        <span class="muted">
          {isReal ? (
            <>
              a real decision, <a href={decisionPath(summary.request_id)}>{summary.request_id}</a>
            </>
          ) : (
            'simulated: nothing was counted or stored'
          )}
        </span>
      </div>
      {explained !== null && explained.review_hint !== '' && (
        <p>
          <Text value={explained.review_hint} />
        </p>
      )}
      {explained !== null && explained.overridden_by === null && explained.families.length > 0 && (
        <Waterfall decision={explained} />
      )}
      {explained !== null && (
        <>
          <h3>{countOf(explained.reasons.length, 'reason')}</h3>
          <ReasonList decision={explained} policy={undefined} />
        </>
      )}
      <details>
        <summary>The response as JSON</summary>
        <CodeBlock text={raw} label="Response" wrap />
      </details>
    </>
  );
}
