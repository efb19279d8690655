import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { NamedListRow, NamedListsBody } from '../../../../contract/wire-types.ts';
import { type ApiFault, send, toFault, v1 } from '../../api.ts';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Button, Field, Select } from '../../components/fields.tsx';
import { Pane, Section, WithPane } from '../../components/pane.tsx';
import { Empty, FaultView, StateView } from '../../components/state-view.tsx';
import { Text } from '../../components/text.tsx';
import { Time } from '../../components/time.tsx';
import { toast } from '../../components/toast.tsx';
import { formatCount } from '../../format.ts';
import { useKeys } from '../../keyboard.ts';
import { KINDS, kindTitle } from '../../list-actions.ts';
import { isReadOnly } from '../../session.ts';
import { useUrlState } from '../../url-state.ts';
import { useLive } from '../../use-live.ts';
import { visibleText } from '../../visible-text.ts';
import { NamedListPane } from './named-list-pane.tsx';

const POLL_MS = 30_000;
const NAME = /^[a-z][a-z0-9_]{0,39}$/;
const NAMED_KINDS = [{ value: 'text', title: 'Text of any meaning', example: 'gold' }, ...KINDS];

const COLUMNS: readonly Column<NamedListRow>[] = [
  { id: 'name', title: 'Name', render: ({ name }) => <code>list.{name}</code> },
  { id: 'kind', title: 'Kind', render: ({ kind }) => kindTitle(kind) },
  { id: 'items', title: 'Items', align: 'right', render: ({ items }) => formatCount(items) },
  { id: 'rules', title: 'Rules', render: ({ used_by: codes }) => <RuleCodes codes={codes} /> },
  { id: 'note', title: 'Note', grows: true, render: ({ note }) => <Text value={note} charactersMax={120} /> },
  { id: 'changed', title: 'Changed', optional: true, render: ({ updated_at: at }) => <Time at={at} ago /> },
];

function RuleCodes({ codes }: { readonly codes: readonly string[] }): JSX.Element {
  if (codes.length === 0) return <span class="faint">none</span>;
  return (
    <>
      <code>{visibleText(codes[0] ?? '')}</code>
      {codes.length > 1 && <span class="muted"> and {formatCount(codes.length - 1)} more</span>}
    </>
  );
}

/** The lists that conditions of rules can name. */
export function NamedTab(): JSX.Element {
  const url = useUrlState();
  const lists = useLive<NamedListsBody>(v1('/named-lists'), { everyMs: POLL_MS });
  const [isAdding, setAdding] = useState(false);
  const canWrite = !isReadOnly();
  const rows = lists.data?.data ?? [];
  const open = rows.find(({ name }) => name === url.get('list'));
  const close = url.href({ list: null });
  useKeys('Lists', canWrite ? [{ keys: 'n', does: 'New named list', run: () => setAdding(true) }] : [], [canWrite]);
  const pane =
    open === undefined ? null : (
      <Pane title={`list.${open.name}`} closeHref={close}>
        <NamedListPane
          key={open.name}
          list={open}
          onChanged={lists.refresh}
          onDeleted={() => {
            url.set({ list: null });
            lists.refresh();
          }}
        />
      </Pane>
    );
  return (
    <WithPane pane={pane}>
      <Section
        title="Named lists"
        note={lists.data && `${formatCount(lists.data.items)} of ${formatCount(lists.data.items_max)} items`}
        flush
        actions={
          <Button small kind="primary" icon="plus" disabled={!canWrite} onClick={() => setAdding(true)}>
            New list
          </Button>
        }
      >
        <StateView of={lists} isEmpty={rows.length === 0} empty={<NoLists />}>
          {() => (
            <DataTable
              caption="Named lists"
              columns={COLUMNS}
              rows={rows}
              keyOf={({ name }) => name}
              hrefOf={({ name }) => url.href({ list: name })}
              selected={open?.name ?? null}
            />
          )}
        </StateView>
      </Section>
      {isAdding && (
        <NewList
          onClose={() => setAdding(false)}
          onMade={(name) => {
            setAdding(false);
            lists.refresh();
            url.set({ list: name });
          }}
        />
      )}
    </WithPane>
  );
}

function NoLists(): JSX.Element {
  return (
    <Empty icon="lists" title="There is no named list">
      <p>
        A rule of your own can ask whether a value is in a list: <code>email.domain in list.partners</code>. By the HTTP
        interface: <code>PUT /v1/named-lists/partners</code>.
      </p>
    </Empty>
  );
}

function NewList({
  onClose,
  onMade,
}: {
  readonly onClose: () => void;
  readonly onMade: (name: string) => void;
}): JSX.Element {
  const [name, setName] = useState('');
  const [kind, setKind] = useState('text');
  const [entity, setEntity] = useState('');
  const [note, setNote] = useState('');
  const [fault, setFault] = useState<ApiFault | null>(null);
  const isNamed = NAME.test(name);
  const make = async (): Promise<void> => {
    setFault(null);
    try {
      const body = { kind: kind === 'entity' ? `entity.${entity.trim()}` : kind, note: note.trim() || null };
      await send('PUT', v1(`/named-lists/${name}`), body);
      toast(`list.${name} can be used in conditions`);
      onMade(name);
    } catch (error) {
      setFault(toFault(error));
    }
  };
  return (
    <Dialog title="New named list" onClose={onClose}>
      <form
        class="dialog-form"
        onSubmit={(event) => {
          event.preventDefault();
          void make();
        }}
      >
        <Field
          label="Name"
          value={name}
          onValue={setName}
          maxLength={40}
          autoFocus
          autoComplete="off"
          spellcheck={false}
          error={
            name === '' || isNamed ? undefined : 'Lower-case letters, digits and _; a letter first, 40 characters.'
          }
          hint="Conditions name it as list.<name>."
        />
        <Select
          label="Kind"
          value={kind}
          onValue={setKind}
          choices={NAMED_KINDS}
          hint={`It stays. Values such as ${NAMED_KINDS.find(({ value }) => value === kind)?.example ?? ''}.`}
        />
        {kind === 'entity' && (
          <Field
            label="Name of the identity"
            value={entity}
            onValue={setEntity}
            maxLength={64}
            hint="As in entity_keys, such as user_id."
          />
        )}
        <Field label="Note" value={note} onValue={setNote} maxLength={500} hint="Optional, for people." />
        {fault !== null && <FaultView fault={fault} />}
        <footer class="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={!isNamed || (kind === 'entity' && entity.trim() === '')}>
            Create
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
