import type { JSX } from 'preact';
import type { ModelRowsBody } from '../../../../contract/wire-types.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Section } from '../../components/pane.tsx';
import { StateMark } from '../../components/state-mark.tsx';
import { Empty, StateView } from '../../components/state-view.tsx';
import { Tile, Tiles } from '../../components/tile.tsx';
import { asWords, countOf, formatCount } from '../../format.ts';
import { useLink } from '../../url-state.ts';
import type { Live } from '../../use-live.ts';

type Source = ModelRowsBody['by_source'][number];
type Age = keyof Source['ages'];

const SOURCES = { label: 'Labels', review: 'Reviews', challenge: 'Ends of challenges' } as const;
const AGES: Readonly<Record<Age, string>> = { week: 'Last 7 days', month: '7 to 30 days', older: 'Older' };

const COLUMNS: readonly Column<Source>[] = [
  { id: 'source', title: 'Known from', grows: true, render: ({ source }) => SOURCES[source] },
  ...Object.entries(AGES).map(([age, title]) => ({
    id: age,
    title,
    align: 'right' as const,
    render: ({ ages }: Source) => {
      const { fraud, legitimate } = ages[age as Age];
      return `${formatCount(fraud)} fraud, ${formatCount(legitimate)} honest`;
    },
  })),
];

/** What the customer's decisions have for a model to learn from. */
export function StockPart({ stock }: { readonly stock: Live<ModelRowsBody> }): JSX.Element {
  const { data } = stock;
  const note = data?.is_truncated === true ? `of the newest ${countOf(data.decisions, 'decision')}` : undefined;
  return (
    <Section title="What there is to learn from" note={note}>
      <StateView of={stock} isEmpty={data?.rows === 0} empty={<NoRows />} skeleton="tiles">
        {(body) => <Loaded body={body} />}
      </StateView>
    </Section>
  );
}

function Loaded({ body }: { readonly body: ModelRowsBody }): JSX.Element {
  const { rows, decisions, days, labels, by_source: bySource, missing, shadow_only: isShadowOnly } = body;
  const link = useLink();
  return (
    <div class="stack">
      <Tiles label="What there is to learn from">
        <Tile
          title="Rows"
          value={formatCount(rows)}
          note={`of ${countOf(decisions, 'decision')}, ${countOf(days, 'day')}`}
        />
        <Tile title="Known fraud" value={formatCount(body.fraud_sessions)} note="sessions" />
        <Tile title="Known honest" value={formatCount(body.honest_sessions)} note="sessions" />
        <Tile
          title="Without a label"
          value={formatCount(labels.none)}
          note={`${formatCount(labels.blocked)} of them Block`}
        />
      </Tiles>
      {bySource.length > 0 && (
        <DataTable
          caption="Labels by source and age"
          columns={COLUMNS}
          rows={bySource}
          keyOf={({ source }) => source}
          keys={false}
        />
      )}
      {missing.length === 0 ? (
        <p>
          <StateMark tone="good" word={isShadowOnly ? 'Enough for a model to compare' : 'Enough for a model'} />{' '}
          <code>npx gatehouse models train</code>
        </p>
      ) : (
        <p>
          <StateMark tone="warn" word="Still missing" /> {missing.map(asWords).join(', ')}.{' '}
          <a href={link('/dashboard/review', { view: 'samples' })}>Verdicts in the review queue</a> are labels.
        </p>
      )}
    </div>
  );
}

function NoRows(): JSX.Element {
  return (
    <Empty title="Nothing to learn from yet">
      The facts of decisions that are not Allow are kept, and of a sample of the others:{' '}
      <code>log_features_sample</code> in the policy file. Labels, verdicts and chargebacks say what they were.
    </Empty>
  );
}
