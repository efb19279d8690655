import type { JSX } from 'preact';
import type { ModelComparisonBody } from '../../../../contract/wire-types.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Section } from '../../components/pane.tsx';
import { StateMark } from '../../components/state-mark.tsx';
import { Empty, StateView } from '../../components/state-view.tsx';
import { Text } from '../../components/text.tsx';
import { asWords, countOf, formatCount, formatPercent } from '../../format.ts';
import type { Live } from '../../use-live.ts';

type Shares = ModelComparisonBody['alarms'];
type Share = Shares['active'];

interface Row extends Shares {
  readonly what: string;
}

const SOURCES = { label: 'labels', review: 'reviews', challenge: 'challenges' } as const;

const COLUMNS: readonly Column<Row>[] = [
  { id: 'what', title: 'Sessions', grows: true, render: ({ what }) => what },
  { id: 'active', title: 'Active stops', align: 'right', render: ({ active }) => <ShareText share={active} /> },
  {
    id: 'challenger',
    title: 'Challenger stops',
    align: 'right',
    render: ({ challenger }) => <ShareText share={challenger} />,
  },
];

/** The challenger against the active model on the customer's own decisions, and what a promotion still lacks. */
export function ComparisonPart({ comparison }: { readonly comparison: Live<ModelComparisonBody> }): JSX.Element {
  const { data } = comparison;
  return (
    <Section title="Challenger against the active model" note={data === undefined ? undefined : noteOf(data)}>
      <StateView of={comparison} isEmpty={data?.id === null} empty={<NoChallenger />}>
        {(body) => <Compared body={body} />}
      </StateView>
    </Section>
  );
}

function noteOf({ id, decisions, sessions, is_truncated: isTruncated }: ModelComparisonBody): string | undefined {
  if (id === null) return undefined;
  return `${isTruncated ? 'the newest ' : ''}${countOf(decisions, 'decision')} of ${countOf(sessions, 'session')}`;
}

function Compared({ body }: { readonly body: ModelComparisonBody }): JSX.Element {
  const { unlabelled, gates } = body;
  const bySource = Object.entries(SOURCES).flatMap(([source, word]) => {
    const shares = body.catch_by_source[source as keyof typeof SOURCES];
    return shares === undefined ? [] : [{ what: `Fraud, known from ${word}`, ...shares }];
  });
  const rows: readonly Row[] = [
    { what: 'Honest: false alarms', ...body.alarms },
    { what: 'Fraud: caught', ...body.catch },
    ...bySource,
  ];
  return (
    <div class="stack">
      <DataTable
        caption="Shares with their intervals"
        columns={COLUMNS}
        rows={rows}
        keyOf={({ what }) => what}
        keys={false}
      />
      <p class="muted">
        In brackets where the true share lies, with 95 %. Of {countOf(unlabelled.sessions, 'session')} that nobody has
        judged, only the challenger would stop {formatCount(unlabelled.only_challenger)}, only the active model{' '}
        {formatCount(unlabelled.only_active)}. The log keeps an Allow for 24 hours, unless the challenger would stop it.
      </p>
      <ul class="bullets" aria-label="Gates of a promotion">
        {gates.map(({ name, holds, detail }) => (
          <li key={name}>
            <StateMark tone={holds ? 'good' : 'bad'} word={asWords(name)} /> <Text value={detail} charactersMax={200} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function ShareText({ share: { part, of, share, low, high } }: { readonly share: Share }): JSX.Element {
  if (share === null || low === null || high === null) return <span class="muted">none known</span>;
  return (
    <span class="num">
      {formatPercent(share)} ({formatPercent(low)} to {formatPercent(high)}){' '}
      <span class="muted">
        {formatCount(part)} of {formatCount(of)}
      </span>
    </span>
  );
}

function NoChallenger(): JSX.Element {
  return (
    <Empty title="No candidate runs beside the active model">
      Run one there: it decides nothing, and after some days this shows what it would have changed.
    </Empty>
  );
}
