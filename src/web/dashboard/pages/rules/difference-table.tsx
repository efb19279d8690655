import type { JSX } from 'preact';
import type { PolicyHistoryBody } from '../../../../contract/wire-types.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Text } from '../../components/text.tsx';
import { visibleText } from '../../visible-text.ts';

export type DifferenceRow = NonNullable<PolicyHistoryBody['data'][number]['differences']>[number];

const COLUMNS: readonly Column<DifferenceRow>[] = [
  { id: 'name', title: 'Setting', render: ({ name }) => <Text value={name} charactersMax={60} mono /> },
  { id: 'kind', title: 'Kind', render: ({ kind }) => visibleText(kind) },
  {
    id: 'event',
    title: 'Event',
    render: ({ event_type: event }) =>
      event === null ? <span class="muted">all others</span> : <Text value={event} charactersMax={32} />,
  },
  { id: 'before', title: 'Before', align: 'right', render: ({ kind, before }) => valueOf(kind, before) },
  { id: 'after', title: 'After', align: 'right', render: ({ kind, after }) => valueOf(kind, after) },
];

function valueOf(kind: DifferenceRow['kind'], value: DifferenceRow['before']): JSX.Element {
  if (value === null) return <span class="faint">{kind === 'band' ? 'no score' : 'not set'}</span>;
  if (typeof value === 'boolean') return <span>{value ? 'on' : 'off'}</span>;
  return <Text value={String(value)} charactersMax={60} />;
}

/** The settings in which two policies differ. */
export function DifferenceTable({
  differences,
  isTruncated,
  caption,
}: {
  readonly differences: readonly DifferenceRow[];
  readonly isTruncated: boolean;
  readonly caption: string;
}): JSX.Element {
  if (differences.length === 0) return <p class="policy-note muted">Nothing that changes a decision.</p>;
  return (
    <>
      <DataTable
        caption={caption}
        columns={COLUMNS}
        rows={differences}
        keys={false}
        keyOf={({ event_type: event, kind, name }) => `${event ?? ''} ${kind} ${name}`}
      />
      {isTruncated && <p class="policy-note muted small">There are more: the first {differences.length} are shown.</p>}
    </>
  );
}
