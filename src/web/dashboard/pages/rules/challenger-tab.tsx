import type { JSX } from 'preact';
import type { ChallengerCountsBody, PolicyBody } from '../../../../contract/wire-types.ts';
import { v1 } from '../../api.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Section } from '../../components/pane.tsx';
import { Reasons } from '../../components/reasons.tsx';
import { Empty, StateView } from '../../components/state-view.tsx';
import { Text } from '../../components/text.tsx';
import { Time } from '../../components/time.tsx';
import { countOf, DECISION_WORDS, formatCount, formatScore, formatShare } from '../../format.ts';
import { useLink, useUrlState } from '../../url-state.ts';
import { useLive } from '../../use-live.ts';
import { cutText, visibleText } from '../../visible-text.ts';
import { DifferenceTable } from './difference-table.tsx';
import { MatrixTable } from './matrix-table.tsx';

/** Choice: each response is a count of up to 100,000 decisions. */
const POLL_MS = 60_000;

type Cell = ChallengerCountsBody['cells'][number];
type Example = Cell['examples'][number];

const EXAMPLE_COLUMNS: readonly Column<Example>[] = [
  { id: 'at', title: 'Time', render: ({ occurred_at: at }) => <Time at={at} /> },
  { id: 'score', title: 'Score', align: 'right', render: ({ score }) => formatScore(score) },
  { id: 'event', title: 'Event', render: ({ event_type: event }) => <Text value={event} charactersMax={32} /> },
  { id: 'reasons', title: 'Reasons', grows: true, render: ({ reasons }) => <Reasons reasons={reasons} /> },
];

/** How many decisions the challenger would move from band to band, and examples of each move. */
export function ChallengerTab({ policy }: { readonly policy: PolicyBody | undefined }): JSX.Element {
  const counts = useLive<ChallengerCountsBody>(v1('/policy/challenger'), { everyMs: POLL_MS });
  const url = useUrlState();
  const { data } = counts;
  const cells = data?.cells ?? [];
  const cell = cells.find(({ from, to }) => `${from}-${to}` === url.get('cell')) ?? cells[0];
  return (
    <div class="stack">
      <Section title="Challenger" note={data === undefined ? undefined : noteOf(data)} flush>
        <StateView
          of={counts}
          isEmpty={data?.challenger === null || data?.decisions === 0}
          empty={<NoChallenger hasOne={data?.challenger !== null} />}
        >
          {(data) => <Matrix data={data} cell={cell} />}
        </StateView>
      </Section>
      {cell !== undefined && <Examples cell={cell} />}
      {policy?.challenger !== null && policy?.challenger !== undefined && (
        <Section
          title="What the challenger changes"
          note={`version ${cutText(visibleText(policy.challenger.version), 40)}`}
          flush
        >
          <DifferenceTable
            differences={policy.challenger.differences}
            isTruncated={policy.challenger.is_truncated}
            caption="What the challenger changes"
          />
        </Section>
      )}
    </div>
  );
}

function noteOf({ decisions, moved, is_truncated: isTruncated }: ChallengerCountsBody): string {
  const which = isTruncated ? `the newest ${countOf(decisions, 'decision')}` : countOf(decisions, 'decision');
  return `${formatCount(moved)} of ${which} would move (${formatShare(moved, decisions)})`;
}

function NoChallenger({ hasOne }: { readonly hasOne: boolean }): JSX.Element {
  if (hasOne)
    return (
      <Empty icon="rules" title="No decision since the challenger was loaded">
        It is evaluated beside the policy, starting with the next <code>POST /v1/decide</code>.
      </Empty>
    );
  return (
    <Empty icon="rules" title="There is no challenger">
      A challenger is a second policy that never decides, but whose differing decisions are counted. To set one up, add{' '}
      <code>{'"challenger": {"weights": {"device_headless": 0.9}}'}</code> to the policy file (
      <code>GATEHOUSE_POLICY_FILE</code>).
    </Empty>
  );
}

function Matrix({
  data: { matrix },
  cell,
}: {
  readonly data: ChallengerCountsBody;
  readonly cell: Cell | undefined;
}): JSX.Element {
  const url = useUrlState();
  return (
    <MatrixTable
      matrix={matrix}
      caption="Rows: the decision that was made. Columns: that of the challenger."
      rowsTitle="Made"
      link={(from, to) => ({
        href: url.href({ cell: `${from}-${to}` }),
        isCurrent: cell?.from === from && cell.to === to,
      })}
    />
  );
}

function Examples({ cell: { from, to, count, examples } }: { readonly cell: Cell }): JSX.Element {
  const link = useLink();
  const title = `${DECISION_WORDS[from]} → ${DECISION_WORDS[to]}`;
  return (
    <Section
      title={`Examples: ${title}`}
      note={examples.length < count ? `the newest ${examples.length} of ${formatCount(count)}` : undefined}
      flush
    >
      <DataTable
        caption={`Examples: ${title}`}
        columns={EXAMPLE_COLUMNS}
        rows={examples}
        keyOf={({ request_id: id }) => id}
        hrefOf={({ request_id: id }) => link(`/dashboard/decisions/${id}`)}
      />
    </Section>
  );
}
