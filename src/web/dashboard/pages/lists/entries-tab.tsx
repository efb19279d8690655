import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ListEntryRow } from '../../../../contract/wire-types.ts';
import type { ListAction } from '../../../../contract/vocabulary.ts';
import { toFault, v1 } from '../../api.ts';
import { type Column, focusedRow, DataTable } from '../../components/data-table.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Button, Field, Select } from '../../components/fields.tsx';
import { ValueSegments } from '../../components/filter-chips.tsx';
import { ListActionDialog } from '../../components/list-action-dialog.tsx';
import { Section } from '../../components/pane.tsx';
import { Empty, EndOfRows, StateView } from '../../components/state-view.tsx';
import { Text } from '../../components/text.tsx';
import { Time } from '../../components/time.tsx';
import { toast } from '../../components/toast.tsx';
import { offerFile } from '../../download.ts';
import { countOf, formatCount } from '../../format.ts';
import { useKeys } from '../../keyboard.ts';
import { linkPath } from '../../link-path.ts';
import { ACTIONS, KINDS, kindTitle, shortSubject, subjectId } from '../../list-actions.ts';
import { readListEntries, removeEntry } from '../../list-writes.ts';
import { now } from '../../now.ts';
import { isReadOnly } from '../../session.ts';
import { useLink, useUrlState } from '../../url-state.ts';
import { visibleText } from '../../visible-text.ts';
import { usePages } from '../../use-pages.ts';
import { toListCsv, UPLOAD_ROWS_MAX } from './list-csv.ts';

const PAGE_ROWS = 50;
const POLL_MS = 30_000;
const DAY_SECONDS = 86_400;
/** Kinds with a page of what has it. */
const LINKED = /^(?:fingerprint|ip)$/;

/** The entries of the list, with what each of them hit in 24 hours. */
export function EntriesTab(): JSX.Element {
  const url = useUrlState();
  const link = useLink();
  const action = ACTIONS.find((name) => name === url.get('action')) ?? null;
  const kind = KINDS.find(({ value }) => value === url.get('kind'))?.value ?? null;
  const entries = usePages<ListEntryRow>(v1('/lists', { usage: true, limit: PAGE_ROWS, action, kind }), {
    idOf: subjectId,
    everyMs: POLL_MS,
  });
  const canWrite = !isReadOnly();
  const [isAdding, setAdding] = useState(false);
  const remove = (entry: ListEntryRow): void => {
    removeEntry(entry, entries.refresh).then(
      () => entries.replace(subjectId(entry), () => null),
      (error: unknown) => toast(`Not removed: ${toFault(error).title}`),
    );
  };
  const add = (): boolean => {
    if (canWrite) setAdding(true);
    return canWrite;
  };
  useKeys(
    'Lists',
    [
      { keys: 'n', does: 'Add an entry', run: add },
      {
        keys: 'x',
        does: 'Remove the entry of the row',
        run: () => {
          const entry = entries.rows.find((one) => subjectId(one) === focusedRow());
          if (entry === undefined || !canWrite) return false;
          remove(entry);
          return true;
        },
      },
    ],
    [entries.rows, canWrite],
  );
  const columns: readonly Column<ListEntryRow>[] = [
    { id: 'kind', title: 'Kind', render: (entry) => kindTitle(entry.kind) },
    { id: 'value', title: 'Value', render: (entry) => <code>{visibleText(shortSubject(entry))}</code> },
    { id: 'action', title: 'Action', render: (entry) => <ActionTag action={entry.action} /> },
    { id: 'hits', title: 'Hits in 24 h', render: (entry) => <Hits entry={entry} /> },
    {
      id: 'ends',
      title: 'Ends',
      render: ({ expires_at: at }) => (at === null ? <span class="faint">never</span> : <Time at={at} ago />),
    },
    { id: 'note', title: 'Note', grows: true, render: ({ note }) => <Text value={note} charactersMax={120} /> },
    { id: 'changed', title: 'Changed', optional: true, render: ({ updated_at: at }) => <Time at={at} ago /> },
    {
      id: 'remove',
      title: 'Remove',
      render: (entry) => (
        <Button
          kind="quiet"
          small
          icon="close"
          disabled={!canWrite}
          label={`Remove ${shortSubject(entry)}`}
          onClick={() => remove(entry)}
        />
      ),
    },
  ];
  return (
    <Section
      title="Entries"
      flush
      actions={
        <>
          <ValueSegments label="Action" name="action" values={ACTIONS.map((value) => [value, value])} />
          <Select
            label="Kind"
            labelHidden
            value={kind ?? ''}
            onValue={(value) => url.set({ kind: value === '' ? null : value })}
            choices={[{ value: '', title: 'All kinds' }, ...KINDS.filter(({ value }) => value !== 'entity')]}
          />
          <Button small icon="download" onClick={() => void exportAll(action)}>
            CSV
          </Button>
          <Button small kind="primary" icon="plus" disabled={!canWrite} aria-keyshortcuts="n" onClick={add}>
            Add
          </Button>
        </>
      }
    >
      <StateView of={entries} isEmpty={entries.rows.length === 0} empty={<NoEntries action={action} />}>
        {() => (
          <DataTable
            caption="Entries of the list"
            columns={columns}
            rows={entries.rows}
            keyOf={subjectId}
            hrefOf={({ kind: of, value }) =>
              LINKED.test(of) ? link(linkPath(of, value)) : link('/dashboard/lists', { kind: of })
            }
          />
        )}
      </StateView>
      <EndOfRows pages={entries} retention="Entries are kept until they end or are removed." />
      {isAdding && <AddEntry onClose={() => setAdding(false)} onDone={entries.refresh} />}
    </Section>
  );
}

function NoEntries({ action }: { readonly action: ListAction | null }): JSX.Element {
  const link = useLink();
  return (
    <Empty icon="lists" title={action === null ? 'The list is empty' : `No entry has the action ${action}`}>
      <p>
        Add an address, a network, a person or a device, or choose among the{' '}
        <a href={link('/dashboard/lists', { tab: 'candidates' })}>fingerprints of your flagged decisions</a>. By the
        HTTP interface: <code>POST /v1/lists</code> with <code>kind</code>, <code>value</code> and <code>action</code>.
      </p>
    </Empty>
  );
}

export function ActionTag({ action }: { readonly action: ListAction }): JSX.Element {
  const colour = { block: 'd-block', allow: 'd-allow', watch: 'd-watch' }[action];
  return <span class={`badge badge-plain ${colour}`}>{visibleText(action)}</span>;
}

/** An entry without hits for a day is marked; a new one may not have had any yet. */
function Hits({ entry: { day, updated_at: at } }: { readonly entry: ListEntryRow }): JSX.Element {
  if (day === undefined) return <span class="faint">–</span>;
  if (day.decisions > 0)
    return (
      <span class="num">
        {formatCount(day.decisions)}
        {day.is_truncated ? '+' : ''} <span class="muted">of {countOf(day.identities, 'identity', 'identities')}</span>
      </span>
    );
  if (now.value - at < DAY_SECONDS) return <span class="muted">none yet</span>;
  return (
    <span class="tag" title="No decision of the last 24 hours had it">
      {' '}
      no hits{' '}
    </span>
  );
}

/** Asks for a value, then shows how many it hits before anything is written. */
function AddEntry({ onClose, onDone }: { readonly onClose: () => void; readonly onDone: () => void }): JSX.Element {
  const [kind, setKind] = useState('ip');
  const [name, setName] = useState('');
  const [value, setValue] = useState('');
  const [action, setAction] = useState<ListAction>('block');
  const [isAsked, setAsked] = useState(false);
  const subject = { kind: kind === 'entity' ? `entity.${name.trim()}` : kind, value: value.trim() };
  const isEmpty = subject.value === '' || subject.kind === 'entity.';
  if (isAsked)
    return (
      <ListActionDialog subjects={[subject]} action={action} onClose={onClose} onDone={onDone} onUndone={onDone} />
    );
  return (
    <Dialog title="Add an entry" onClose={onClose}>
      <form
        class="dialog-form"
        onSubmit={(event) => {
          event.preventDefault();
          setAsked(!isEmpty);
        }}
      >
        <Select label="Kind" value={kind} onValue={setKind} choices={KINDS} />
        {kind === 'entity' && (
          <Field
            label="Name"
            value={name}
            onValue={setName}
            maxLength={64}
            hint="As in entity_keys, such as user_id."
          />
        )}
        <Field
          label="Value"
          value={value}
          onValue={setValue}
          maxLength={1_024}
          autoFocus
          autoComplete="off"
          spellcheck={false}
          hint={`Such as ${KINDS.find((one) => one.value === kind)?.example ?? ''}.`}
        />
        <Select
          label="Action"
          value={action}
          onValue={(chosen) => setAction(ACTIONS.find((one) => one === chosen) ?? 'block')}
          choices={ACTIONS.map((one) => ({ value: one, title: one }))}
        />
        <footer class="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={isEmpty}>
            See how many it hits
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

async function exportAll(action: ListAction | null): Promise<void> {
  try {
    const rows = await readListEntries(action === null ? {} : { action }, UPLOAD_ROWS_MAX);
    offerFile('gatehouse-list.csv', 'text/csv', toListCsv(rows));
    toast(`${countOf(rows.length, 'entry', 'entries')} exported`);
  } catch (error) {
    toast(`Not exported: ${toFault(error).title}`);
  }
}
