import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ApiKeyRow, NewApiKeyBody } from '../../../../contract/wire-types.ts';
import { send, v1 } from '../../api.ts';
import { Checks } from '../../components/checks.tsx';
import { Confirm } from '../../components/dialog.tsx';
import { type Choice, Field, Select } from '../../components/fields.tsx';
import { ShownOnceDialog } from '../../components/shown-once-dialog.tsx';
import { Time } from '../../components/time.tsx';
import { toast } from '../../components/toast.tsx';
import { formatTime } from '../../format.ts';
import { now } from '../../now.ts';
import { visibleText } from '../../visible-text.ts';
import { endOfDay, keyStateOf, readNetworks, SCOPE_WORDS, stopsWithout } from './key-words.ts';

interface KeyDialogProps {
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** A key that was made, with its texts, and until when the one that it replaces is valid. */
export interface MadeKey {
  readonly body: NewApiKeyBody;
  /** Unix seconds; null if it replaces none, or one that has ended. */
  readonly oldEndsAt: number | null;
}

type OnMade = (made: MadeKey) => void;

const NAME_CHARACTERS_MAX = 100;
const DAY_SECONDS = 86_400;
const DAYS = [7, 30, 90, 365] as const;
const CHOSEN_DAY = 'day';

function pathOf({ prefix }: ApiKeyRow): string {
  return `/keys/${encodeURIComponent(prefix)}`;
}

/** Makes a key with at most the rights of the session's own key, `own`. */
export function NewKeyDialog({
  own,
  onMade,
  onClose,
  onDone,
}: KeyDialogProps & { readonly own: ApiKeyRow; readonly onMade: OnMade }): JSX.Element {
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<readonly string[]>(own.scopes.includes('decide') ? ['decide'] : []);
  const [networks, setNetworks] = useState('');
  const [end, setEnd] = useState('');
  const [day, setDay] = useState('');
  const expiresAt = end === CHOSEN_DAY ? endOfDay(day) : end === '' ? null : Math.floor(now.value) + Number(end);
  const run = async (): Promise<void> => {
    const given = readNetworks(networks);
    const body = await send<NewApiKeyBody>('POST', v1('/keys'), {
      name: name.trim(),
      scopes,
      ...(given.length > 0 && { networks: given }),
      ...(expiresAt !== null && { expires_at: expiresAt }),
    });
    onMade({ body, oldEndsAt: null });
    onDone();
  };
  return (
    <Confirm
      title="New key"
      confirm="Make the key"
      disabled={name.trim() === '' || scopes.length === 0 || (end === CHOSEN_DAY && expiresAt === null)}
      onConfirm={run}
      onClose={onClose}
    >
      <Field
        label="Name"
        value={name}
        onValue={setName}
        maxLength={NAME_CHARACTERS_MAX}
        placeholder="checkout service"
        required
        autoFocus
        hint="What it is for. It stands in this list and in the audit log."
      />
      <Checks
        legend="What it may do"
        choices={own.scopes.map((value) => ({ value, title: SCOPE_WORDS[value] }))}
        chosen={scopes}
        onChosen={setScopes}
      />
      <Field
        label="Networks"
        value={networks}
        onValue={setNetworks}
        spellcheck={false}
        placeholder="203.0.113.0/24, 2001:db8::/32"
        hint={
          own.networks.length === 0
            ? 'Addresses and networks that it may be used from, by commas. Empty: every address.'
            : `Within ${own.networks.join(', ')}, the networks of your own key. Empty: the same.`
        }
      />
      <Select label="Expires" value={end} onValue={setEnd} choices={endChoices(own, now.value)} />
      {end === CHOSEN_DAY && (
        <Field label="Last day" type="date" value={day} onValue={setDay} required hint="Until the end of that day." />
      )}
      {scopes.includes('decide') && (
        <p class="muted small">
          A public key comes with it. It allows no web page; <code>keys create --origin</code> on the command line makes
          one for pages.
        </p>
      )}
    </Confirm>
  );
}

function endChoices({ expires_at: ownEnd }: ApiKeyRow, nowSeconds: number): readonly Choice[] {
  const days = DAYS.filter((count) => ownEnd === null || nowSeconds + count * DAY_SECONDS < ownEnd);
  return [
    { value: '', title: ownEnd === null ? 'Never' : `With your own key, ${formatTime(ownEnd, nowSeconds)}` },
    ...days.map((count) => ({ value: String(count * DAY_SECONDS), title: `After ${count} days` })),
    { value: CHOSEN_DAY, title: 'On a day…' },
  ];
}

const GRACES: readonly Choice[] = [
  { value: '0', title: 'At once: programs with the old key fail' },
  { value: '3600', title: 'After 1 hour' },
  { value: '86400', title: 'After 1 day' },
  { value: '604800', title: 'After 7 days' },
];

/** Replaces a key. The key of the session is only replaced with an overlap: its session would end before the new text is shown. */
export function RotateKeyDialog({
  row,
  onMade,
  onClose,
  onDone,
}: KeyDialogProps & { readonly row: ApiKeyRow; readonly onMade: OnMade }): JSX.Element {
  const [grace, setGrace] = useState('86400');
  const run = async (): Promise<void> => {
    const seconds = Number(grace);
    const at = Math.floor(now.value);
    const body = await send<NewApiKeyBody>('POST', v1(`${pathOf(row)}/rotate`), { grace_seconds: seconds });
    onMade({ body, oldEndsAt: seconds === 0 ? null : Math.min(at + seconds, row.expires_at ?? Infinity) });
    onDone();
  };
  return (
    <Confirm title="Rotate the key" confirm="Make a new key" onConfirm={run} onClose={onClose}>
      <p>
        The new key has the name and the rights of <code>{row.prefix}…</code>. Give it to every program that uses the
        old one before that ends.
      </p>
      <Select
        label="The old key ends"
        value={grace}
        onValue={setGrace}
        choices={row.is_current ? GRACES.filter(({ value }) => value !== '0') : GRACES}
        hint={row.is_current ? 'You are signed in with it: then sign in again with the new one.' : undefined}
      />
      {row.expires_at !== null && (
        <p>
          The new one expires at the same time as the old one would: <Time at={row.expires_at} />.
        </p>
      )}
    </Confirm>
  );
}

export function RevokeKeyDialog({
  row,
  keys,
  onClose,
  onDone,
}: KeyDialogProps & { readonly row: ApiKeyRow; readonly keys: readonly ApiKeyRow[] }): JSX.Element {
  const run = async (): Promise<void> => {
    await send('DELETE', v1(pathOf(row)));
    toast(`${row.prefix}… is revoked`);
    onDone();
  };
  const state = keyStateOf(row, now.value);
  return (
    <Confirm title="Revoke the key" confirm="Revoke" danger onConfirm={run} onClose={onClose}>
      <p class="text">
        <code>{row.prefix}…</code>
        {row.name !== '' && (
          <>
            {' '}
            (<bdi>{visibleText(row.name)}</bdi>)
          </>
        )}{' '}
        is refused at once, everywhere, and never counts again.
      </p>
      <ul class="bullets">
        {stopsWithout(row, keys, now.value).map((words) => (
          <li key={words}>{words}</li>
        ))}
        {row.is_current && <li>You are signed in with it: this session ends.</li>}
        {state.kind === 'rotating' && <li>It ends by itself soon: {row.replaced_by}… replaces it.</li>}
      </ul>
      {state.kind !== 'rotating' && <p class="muted">To change it without a gap, rotate it with an overlap.</p>}
    </Confirm>
  );
}

export function KeyTextDialog({
  made: { body, oldEndsAt },
  onClose,
}: {
  readonly made: MadeKey;
  readonly onClose: () => void;
}): JSX.Element {
  const { secret_key: secret, public_key: open, name } = body;
  return (
    <ShownOnceDialog
      title="The key"
      secrets={[
        ...(secret === undefined ? [] : [{ label: 'Secret key', text: secret, note: 'Belongs on a server only.' }]),
        ...(open === undefined ? [] : [{ label: 'Public key', text: open, note: 'May stand in pages and apps.' }]),
      ]}
      after={
        oldEndsAt !== null && (
          <p>
            The old key is valid until <Time at={oldEndsAt} />.
          </p>
        )
      }
      onClose={onClose}
    >
      Store it now where your program reads it
      {name !== '' && (
        <>
          {' '}
          (<bdi class="text">{visibleText(name)}</bdi>)
        </>
      )}
      . Gatehouse keeps only a hash: no later call shows it again.
    </ShownOnceDialog>
  );
}
