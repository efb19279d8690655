import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { NamedItemRow, NamedItemsChangedBody, NamedListRow } from '../../../../contract/wire-types.ts';
import { type ApiFault, send, toFault, v1 } from '../../api.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { Button, Field, Select } from '../../components/fields.tsx';
import { EndOfRows, FaultView, StateView } from '../../components/state-view.tsx';
import { Time } from '../../components/time.tsx';
import { toast } from '../../components/toast.tsx';
import { countOf, formatCount } from '../../format.ts';
import { kindTitle, shortSubject } from '../../list-actions.ts';
import { now } from '../../now.ts';
import { isReadOnly } from '../../session.ts';
import { useLink } from '../../url-state.ts';
import { usePages } from '../../use-pages.ts';
import { visibleText } from '../../visible-text.ts';
import { toBodies } from './list-bodies.ts';
import { LastListChanges } from './last-list-changes.tsx';
import { changedWords, type GivenValue, PASTED_MAX, readValues, VALUES_PER_CALL } from './named-values.ts';

const PAGE_ROWS = 50;
const DAY_SECONDS = 86_400;
const FAULTS_SHOWN = 20;
const ENDS = [
  { value: '', title: 'Never' },
  { value: '7', title: 'After 7 days' },
  { value: '30', title: 'After 30 days' },
  { value: '90', title: 'After 90 days' },
] as const;

type Change = 'add' | 'remove';

/** One named list: the rules that name it, its items, and a field to add and remove some. */
export function NamedListPane({
  list,
  onChanged,
  onDeleted,
}: {
  readonly list: NamedListRow;
  readonly onChanged: () => void;
  readonly onDeleted: () => void;
}): JSX.Element {
  const path = v1(`/named-lists/${list.name}`);
  const items = usePages<NamedItemRow>(v1(`/named-lists/${list.name}/items`, { limit: PAGE_ROWS }), {
    idOf: ({ value }) => value,
  });
  const [isDeleting, setDeleting] = useState(false);
  const [changes, setChanges] = useState(0);
  const canWrite = !isReadOnly();
  const changed = (): void => {
    items.refresh();
    setChanges((n) => n + 1);
    onChanged();
  };
  const remove = async ({ value }: NamedItemRow): Promise<void> => {
    try {
      await send('POST', `${path}/items`, { remove: [value] });
      items.replace(value, () => null);
      setChanges((n) => n + 1);
      onChanged();
    } catch (error) {
      toast(`Not removed: ${toFault(error).title}`);
    }
  };
  return (
    <div class="stack">
      <About list={list} />
      {canWrite && <ChangeItems path={path} kind={list.kind} onChanged={changed} />}
      <section aria-label="Items">
        <h3>Items</h3>
        <StateView of={items} isEmpty={items.rows.length === 0} empty={<p class="muted">The list has no items.</p>}>
          {() => (
            <DataTable
              caption="Items of the list"
              columns={columnsOf(list.kind, canWrite, remove)}
              rows={items.rows}
              keyOf={({ value }) => value}
              keys={false}
            />
          )}
        </StateView>
        <EndOfRows pages={items} retention="Items are kept until they end or are removed." />
      </section>
      <LastListChanges list={list} changes={changes} canWrite={canWrite} onChanged={changed} />
      {canWrite && (
        <div class="row">
          <Button kind="danger" disabled={list.used_by.length > 0} onClick={() => setDeleting(true)}>
            Delete the list
          </Button>
          {list.used_by.length > 0 && <span class="muted small">Rules name it.</span>}
        </div>
      )}
      {isDeleting && (
        <Confirm
          title="Delete the list"
          confirm="Delete"
          danger
          onConfirm={async () => {
            await send('DELETE', path);
            toast('The list is deleted');
            onDeleted();
          }}
          onClose={() => setDeleting(false)}
        >
          <p class="text">
            <code>list.{list.name}</code> and {countOf(list.items, 'item')} are deleted. This cannot be undone.
          </p>
        </Confirm>
      )}
    </div>
  );
}

function About({ list }: { readonly list: NamedListRow }): JSX.Element {
  const link = useLink();
  return (
    <div class="stack-small">
      <p>
        {countOf(list.items, 'item')} of the kind {kindTitle(list.kind)}, changed <Time at={list.updated_at} ago />.
      </p>
      {list.note !== null && <p class="text">{visibleText(list.note)}</p>}
      <p>
        {list.used_by.length === 0 ? (
          <span class="muted">
            No rule names it. A condition asks for it by <code>… in list.{list.name}</code>.
          </span>
        ) : (
          <>
            Named by{' '}
            {list.used_by.map((code, n) => (
              <span key={code}>
                {n > 0 && ', '}
                <a href={link('/dashboard/rules', { view: 'own', own: code })}>
                  <code>{visibleText(code)}</code>
                </a>
              </span>
            ))}
          </>
        )}
      </p>
    </div>
  );
}

function columnsOf(
  kind: string,
  canWrite: boolean,
  remove: (item: NamedItemRow) => Promise<void>,
): readonly Column<NamedItemRow>[] {
  return [
    {
      id: 'value',
      title: 'Value',
      grows: true,
      render: ({ value }) => <code>{visibleText(shortSubject({ kind, value }))}</code>,
    },
    {
      id: 'ends',
      title: 'Ends',
      render: ({ expires_at: at }) => (at === null ? <span class="faint">never</span> : <Time at={at} ago />),
    },
    {
      id: 'remove',
      title: 'Remove',
      render: (item) => (
        <Button
          kind="quiet"
          small
          icon="close"
          disabled={!canWrite}
          label={`Remove ${shortSubject({ kind, value: item.value })}`}
          onClick={() => void remove(item)}
        />
      ),
    },
  ];
}

interface Outcome {
  readonly words: string;
  readonly rejected: readonly { readonly value: string; readonly message: string }[];
}

/** A field for pasted values, which are added or removed at once. */
function ChangeItems({
  path,
  kind,
  onChanged,
}: {
  readonly path: string;
  readonly kind: string;
  readonly onChanged: () => void;
}): JSX.Element {
  const [text, setText] = useState('');
  const [days, setDays] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<ApiFault | null>(null);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const values = readValues(text);
  const isTooMany = values.length > PASTED_MAX;
  const isReady = values.length > 0 && !isTooMany && !isBusy;
  const change = async (how: Change): Promise<void> => {
    setBusy(true);
    setFault(null);
    setOutcome(null);
    try {
      const ends = how === 'add' && days !== '' ? Math.floor(now.value) + Number(days) * DAY_SECONDS : null;
      setOutcome(await write(path, how, values, ends));
      setText('');
    } catch (error) {
      setFault(toFault(error));
    }
    setBusy(false);
    onChanged();
  };
  return (
    <form
      class="dialog-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady) void change('add');
      }}
    >
      <Field
        label="Values"
        rows={4}
        value={text}
        onValue={setText}
        spellcheck={false}
        hint={`One a line, of the kind ${kindTitle(kind)}. Larger files: gatehouse named-lists import.`}
        error={isTooMany ? `These are more than ${formatCount(PASTED_MAX)} values.` : undefined}
      />
      <Select label="They end" value={days} onValue={setDays} choices={ENDS} />
      <div class="row">
        <Button type="submit" kind="primary" disabled={!isReady}>
          Add {values.length > 1 ? formatCount(values.length) : ''}
        </Button>
        <Button disabled={!isReady} onClick={() => void change('remove')}>
          Remove {values.length > 1 ? formatCount(values.length) : ''}
        </Button>
      </div>
      {fault !== null && <FaultView fault={fault} />}
      <div role="status">{outcome !== null && <OutcomeView outcome={outcome} />}</div>
    </form>
  );
}

function OutcomeView({ outcome: { words, rejected } }: { readonly outcome: Outcome }): JSX.Element {
  return (
    <>
      <p>{words}.</p>
      {rejected.length > 0 && (
        <ul class="faults small">
          {rejected.slice(0, FAULTS_SHOWN).map(({ value, message }) => (
            <li key={value}>
              <code>{visibleText(value)}</code>: {visibleText(message)}
            </li>
          ))}
          {rejected.length > FAULTS_SHOWN && <li>and {formatCount(rejected.length - FAULTS_SHOWN)} more</li>}
        </ul>
      )}
    </>
  );
}

/** Sends the values call by call; those before a failed call stay. */
async function write(path: string, how: Change, values: readonly string[], ends: number | null): Promise<Outcome> {
  const counts = { added: 0, removed: 0 };
  const rejected: { readonly value: string; readonly message: string }[] = [];
  // One version for all of the calls.
  const importId = `dashboard-${Date.now()}`;
  const given = values.map((value): GivenValue => (ends === null ? value : { value, expires_at: ends }));
  for (const call of toBodies(given, VALUES_PER_CALL)) {
    const body = await send<NamedItemsChangedBody>('POST', `${path}/items`, { [how]: call, import: importId });
    counts.added += body.added;
    counts.removed += body.removed;
    for (const { index, message } of body.rejected) {
      const one = call[index] ?? '';
      rejected.push({ value: typeof one === 'string' ? one : one.value, message });
    }
  }
  return { words: changedWords(counts.added, counts.removed, rejected.length), rejected };
}
