import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { FingerprintBody, ListEntryRow } from '../../../contract/wire-types.ts';
import type { ListAction } from '../../../contract/vocabulary.ts';
import { v1 } from '../api.ts';
import { countOf, formatCount, shortHash } from '../format.ts';
import { findEntry, offerUndo, warningOf, writeEntry } from '../list-writes.ts';
import { useLive } from '../use-live.ts';
import { Confirm } from './dialog.tsx';
import { Field, Select } from './fields.tsx';
import { Icon } from './icon.tsx';
import { StateView } from './state-view.tsx';

const VERBS: Readonly<Record<ListAction, string>> = { block: 'Block', allow: 'Allow', watch: 'Watch' };

const EXPIRIES = [
  { value: '1', title: '1 day' },
  { value: '7', title: '7 days' },
  { value: '30', title: '30 days' },
  { value: '90', title: '90 days' },
  { value: '', title: 'Never' },
] as const;

/** Choice: blocks end after 30 days by default, because two iPhones share a fingerprint and a device gets a new owner. */
const EXPIRY_DEFAULT: Readonly<Record<ListAction, string>> = { block: '30', allow: '', watch: '30' };

/** How many would be hit: "In 24 h this fingerprint was 412 sessions of 388 identities." */
export function BlastRadius({
  hash,
  isWrite = false,
}: {
  readonly hash: string;
  /** Before a write: says which entry it replaces. */
  readonly isWrite?: boolean;
}): JSX.Element {
  const found = useLive<FingerprintBody>(v1(`/fingerprints/${encodeURIComponent(hash)}`));
  if (found.fault?.status === 404) return <p class="blast">No decision of the last 30 days has this fingerprint.</p>;
  return (
    <StateView of={found} skeleton="text">
      {() => {
        const { data } = found;
        if (data === undefined) return null;
        const { day, month, common, list_action: listed } = data;
        return (
          <div class="blast stack">
            <p>
              In the last 24 h this fingerprint occurred in <strong>{countOf(day.sessions, 'session')}</strong> of{' '}
              <strong>{countOf(day.identities, 'identity', 'identities')}</strong> from{' '}
              {countOf(day.networks, 'network')} in {countOf(day.countries, 'country', 'countries')}; in 30 days{' '}
              {countOf(month.sessions, 'session')} of {countOf(month.identities, 'identity', 'identities')}.
            </p>
            {common && (
              <p class="notice">
                <Icon name="warning" size={14} /> {countOf(day.networks, 'network')} in 24 h,{' '}
                {formatCount(month.networks)} in 30 days: too many for one device. Many devices of one model share this
                fingerprint, so an entry hits people who have nothing to do with each other.
              </p>
            )}
            {isWrite && listed !== null && (
              <p class="muted">It is already on your list: {listed}. This replaces that entry.</p>
            )}
          </div>
        );
      }}
    </StateView>
  );
}

/** Asks before a fingerprint goes on the list: how many it hits, how long, and a note. */
export function ListActionDialog({
  hash,
  action,
  onClose,
  onDone,
  onUndone,
}: {
  readonly hash: string;
  readonly action: ListAction;
  readonly onClose: () => void;
  readonly onDone?: (entry: ListEntryRow) => void;
  /** After the person took it back: what the page shows is old. */
  readonly onUndone?: () => void;
}): JSX.Element {
  const [days, setDays] = useState(EXPIRY_DEFAULT[action]);
  const [note, setNote] = useState('');
  const run = async (): Promise<void> => {
    const expiresAt = days === '' ? null : Math.floor(Date.now() / 1_000) + Number(days) * 86_400;
    const before = await findEntry(hash);
    const change = {
      fingerprint_hash: hash,
      action,
      note: note.trim() === '' ? null : note.trim(),
      expires_at: expiresAt,
    };
    const entry = await writeEntry(change);
    offerUndo(`${VERBS[action]}: ${shortHash(hash)} is on the list.${warningOf(entry)}`, hash, before, onUndone);
    onDone?.(entry);
  };
  const chosen = EXPIRIES.find(({ value }) => value === days)?.title ?? '';
  return (
    <Confirm
      title={`${VERBS[action]} the fingerprint ${shortHash(hash)}`}
      confirm={days === '' ? `${VERBS[action]} permanently` : `${VERBS[action]} for ${chosen}`}
      danger={action === 'block'}
      onConfirm={run}
      onClose={onClose}
    >
      <BlastRadius hash={hash} isWrite />
      <Select label="Ends after" value={days} onValue={setDays} choices={EXPIRIES} />
      <Field label="Note" value={note} onValue={setNote} maxLength={500} hint="Optional." />
    </Confirm>
  );
}
