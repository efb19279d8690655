import type { JSX } from 'preact';
import type { WatchChangeRow, WatchRow } from '../../../../contract/wire-types.ts';
import { v1 } from '../../api.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Section } from '../../components/pane.tsx';
import { Empty, EndOfRows, StateView } from '../../components/state-view.tsx';
import { Text } from '../../components/text.tsx';
import { Time } from '../../components/time.tsx';
import { usePages } from '../../use-pages.ts';
import { differencesOf, watchPathOf } from './watch-words.ts';

const PAGE_CHANGES = 50;
/** Choice: what a row shows; the record has the rest. */
const VALUES_MAX = 6;

function columnsOf(compare: WatchRow['compare']): readonly Column<WatchChangeRow>[] {
  return [
    { id: 'at', title: 'Found', render: ({ at }) => <Time at={at} /> },
    { id: 'kind', title: 'Kind', render: ({ kind }) => `${kind[0]?.toUpperCase() ?? ''}${kind.slice(1)}` },
    {
      id: 'key',
      title: 'Key',
      render: ({ key }) => (
        <Text
          value={Object.values(key)
            .map((part) => (typeof part === 'string' ? part : JSON.stringify(part)))
            .join(', ')}
          charactersMax={50}
        />
      ),
    },
    { id: 'what', title: 'What changed', grows: true, render: (change) => <Values of={change} compare={compare} /> },
  ];
}

function Values({ of, compare }: { readonly of: WatchChangeRow; readonly compare: WatchRow['compare'] }): JSX.Element {
  const values = differencesOf(of, compare);
  if (values.length === 0) return <span class="muted">The values take too many bytes to be kept</span>;
  return (
    <ul class="change-values">
      {values.slice(0, VALUES_MAX).map(({ path, before, after }) => (
        <li key={path}>
          <Text value={path} charactersMax={40} />: {of.kind !== 'new' && <Text value={before} charactersMax={100} />}
          {of.kind === 'changed' && ' → '}
          {of.kind !== 'gone' && <Text value={after} charactersMax={100} />}
        </li>
      ))}
      {values.length > VALUES_MAX && <li class="muted">and {values.length - VALUES_MAX} more</li>}
    </ul>
  );
}

/** What a watch has found, the newest first, page after page. */
export function WatchChanges({ watch }: { readonly watch: WatchRow }): JSX.Element {
  const changes = usePages<WatchChangeRow>(
    v1(`${watchPathOf(watch)}/changes`, { format: 'json', order: 'newest', limit: PAGE_CHANGES }),
    { idOf: ({ id }) => id, everyMs: 5_000 },
  );
  return (
    <Section title="Changes" note="The newest first" flush>
      <StateView
        of={changes}
        isEmpty={changes.rows.length === 0}
        empty={
          <Empty title="No change yet">
            {watch.baseline
              ? 'They appear here when a run finds a record that is new, changed or gone.'
              : 'The first complete run remembers the records; later ones are compared with it.'}
          </Empty>
        }
      >
        {() => (
          <DataTable
            caption="Changes"
            columns={columnsOf(watch.compare)}
            rows={changes.rows}
            keyOf={({ id }) => id}
            keys={false}
          />
        )}
      </StateView>
      <EndOfRows pages={changes} retention="Changes are kept for 30 days, at most 5,000." />
    </Section>
  );
}
