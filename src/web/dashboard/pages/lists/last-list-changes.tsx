import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { NamedListRow, NamedVersionRow, NamedVersionsBody } from '../../../../contract/wire-types.ts';
import { send, v1 } from '../../api.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { Button } from '../../components/fields.tsx';
import { StateView } from '../../components/state-view.tsx';
import { Time } from '../../components/time.tsx';
import { toast } from '../../components/toast.tsx';
import { countOf, formatCount } from '../../format.ts';
import { useLive } from '../../use-live.ts';
import { actorShort } from '../audit/audit-words.ts';

const POLL_MS = 30_000;
const LOSS_WORDS: Readonly<Record<NonNullable<NamedVersionRow['reason']>, string>> = {
  too_large: 'too large to keep',
  no_room: 'not kept: no room',
};

/** The last writes of a named list, each with a button that brings back the list as it was before. */
export function LastListChanges({
  list,
  changes,
  canWrite,
  onChanged,
}: {
  readonly list: NamedListRow;
  /** Rises with each change that is made on the page. */
  readonly changes: number;
  readonly canWrite: boolean;
  readonly onChanged: () => void;
}): JSX.Element {
  const path = v1(`/named-lists/${list.name}`);
  const versions = useLive<NamedVersionsBody>(`${path}/versions`, { everyMs: POLL_MS });
  const { refresh } = versions;
  useEffect(() => {
    if (changes > 0) refresh();
  }, [changes]);
  const [chosen, setChosen] = useState<NamedVersionRow | null>(null);
  const rows = versions.data?.data ?? [];
  return (
    <section aria-label="Versions">
      <h3>Last changes</h3>
      <StateView of={versions} isEmpty={rows.length === 0} empty={<p class="muted">The list was not changed yet.</p>}>
        {() => (
          <DataTable
            caption="Last changes of the list"
            columns={columnsOf(canWrite, setChosen)}
            rows={rows}
            keyOf={({ version }) => String(version)}
            keys={false}
          />
        )}
      </StateView>
      {chosen !== null && (
        <Confirm
          title="Bring back the list"
          confirm="Bring back"
          onConfirm={async () => {
            const { items } = await send<NamedListRow>('POST', `${path}/restore`, { version: chosen.version });
            toast(`The list is as it was, with ${countOf(items, 'item')}`);
            onChanged();
          }}
          onClose={() => setChosen(null)}
        >
          <p class="text">
            <code>list.{list.name}</code> becomes what it was before <Time at={chosen.replaced_at} />. This change and
            the later ones are undone; that can be undone too.
          </p>
        </Confirm>
      )}
    </section>
  );
}

function columnsOf(canWrite: boolean, choose: (version: NamedVersionRow) => void): readonly Column<NamedVersionRow>[] {
  return [
    { id: 'when', title: 'When', render: ({ replaced_at: at }) => <Time at={at} ago /> },
    { id: 'who', title: 'By', grows: true, render: ({ replaced_by: by }) => actorShort(by) },
    {
      id: 'what',
      title: 'Items',
      render: ({ added, removed }) => `+${formatCount(added)} −${formatCount(removed)}`,
    },
    {
      id: 'back',
      title: 'Before it',
      render: (row) =>
        row.reason === null ? (
          <Button small disabled={!canWrite} onClick={() => choose(row)}>
            Bring back
          </Button>
        ) : (
          <span class="faint">{LOSS_WORDS[row.reason]}</span>
        ),
    },
  ];
}
