import type { JSX } from 'preact';
import type { TopBody } from '../../../contract/wire-types.ts';
import { v1 } from '../api.ts';
import { type Column, DataTable } from '../components/data-table.tsx';
import { DecisionBadge } from '../components/decision-badge.tsx';
import { Section } from '../components/pane.tsx';
import { Empty, StateView } from '../components/state-view.tsx';
import { Text } from '../components/text.tsx';
import { Time } from '../components/time.tsx';
import { asWords, formatCount } from '../format.ts';
import { useLive } from '../use-live.ts';
import { useRange } from '../use-range.ts';

type Row = TopBody['rows'][number];

const EVERY_MS = 30_000;

const COLUMNS: readonly Column<Row>[] = [
  { id: 'name', title: 'Names itself', grows: true, render: ({ id }) => <Text value={id} mono /> },
  { id: 'operator', title: 'Operator', render: ({ operator }) => <Text value={operator ?? ''} /> },
  { id: 'purpose', title: 'Purpose', render: ({ purpose }) => asWords(purpose ?? '') },
  { id: 'proof', title: 'Proof', render: proofOf },
  { id: 'decisions', title: 'Decisions', align: 'right', render: ({ decisions }) => formatCount(decisions) },
  {
    id: 'challenged',
    title: 'Challenged',
    align: 'right',
    optional: true,
    render: ({ challenged }) => formatCount(challenged),
  },
  { id: 'blocked', title: 'Blocked', align: 'right', render: ({ blocked }) => formatCount(blocked) },
  { id: 'worst', title: 'Worst', optional: true, render: ({ worst }) => <DecisionBadge value={worst} /> },
  { id: 'seen', title: 'Last seen', render: ({ last_seen: at }) => <Time at={at} /> },
];

/** Crawlers by the name that they give, whether they prove it, and what became of them. */
export default function CrawlersPage(): JSX.Element {
  const { range } = useRange();
  const { from, to } = range;
  const top = useLive<TopBody>(v1('/top', { by: 'crawler', count: 'decisions', from, to }), { everyMs: EVERY_MS });
  const rows = top.data?.rows ?? [];
  const note =
    top.data?.is_truncated === true ? `of the newest ${formatCount(top.data.decisions)} decisions` : undefined;
  return (
    <Section title="Crawlers" {...(note === undefined ? {} : { note })} flush>
      <StateView of={top} isEmpty={rows.length === 0} empty={<NoCrawlers />}>
        {() => (
          <DataTable
            caption="Crawlers in this range"
            columns={COLUMNS}
            rows={rows}
            keyOf={({ id, verified }) => `${id} ${verified ?? ''}`}
            hrefOf={hrefOf}
          />
        )}
      </StateView>
    </Section>
  );
}

function proofOf({ verified }: Row): JSX.Element {
  if (verified === 'none') return <span class="tag">forged: not from its operator</span>;
  if (verified === 'range') return <span>its operator’s address</span>;
  if (verified === 'dns') return <span>the name of its address</span>;
  if (verified === 'signature') return <span>its signature</span>;
  return <span class="muted">not known</span>;
}

/** The decisions of the rule about the proof; without one those of rules about bots. */
function hrefOf({ verified }: Row): string {
  const reasons = {
    none: 'agent_forged',
    range: 'agent_verified',
    dns: 'agent_verified',
    signature: 'agent_verified',
  } as const;
  const reason = verified === null || verified === undefined ? 'device_bot_user_agent' : reasons[verified];
  return `/dashboard/decisions?q=${encodeURIComponent(`reason:${reason}`)}`;
}

function NoCrawlers(): JSX.Element {
  return (
    <Empty icon="crawlers" title="No crawler in this range">
      <p>
        A crawler is listed when its user agent names one whose operator publishes its addresses or their names, such as
        Googlebot or Applebot. The policy’s <code>agents</code> says what becomes of verified ones, by purpose.
      </p>
    </Empty>
  );
}
