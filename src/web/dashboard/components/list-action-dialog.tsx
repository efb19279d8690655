import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { FingerprintBody, ListEntryRow } from '../../../contract/wire-types.ts';
import type { ListAction } from '../../../contract/vocabulary.ts';
import { toFault, v1 } from '../api.ts';
import { countOf, formatCount } from '../format.ts';
import { type ListedSubject, shortSubject, subjectId, subjectWords } from '../list-actions.ts';
import { findEntry, offerUndo, readSubjectUse, warningOf, writeEntry } from '../list-writes.ts';
import { visibleText } from '../visible-text.ts';
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

/** Choice: shorter than the pause after a word. */
const TYPING_MS = 300;

/** Number of decisions that an entry of another kind than a fingerprint would hit, by a dry run. */
function SubjectUse({ subject }: { readonly subject: ListedSubject }): JSX.Element {
  const [found, setFound] = useState<Awaited<ReturnType<typeof readSubjectUse>> | null>(null);
  const [fault, setFault] = useState('');
  const { kind, value } = subject;
  useEffect(() => {
    setFound(null);
    setFault('');
    let isCurrent = true;
    const read = (): void => {
      readSubjectUse({ kind, value }).then(
        (result) => isCurrent && setFound(result),
        (error: unknown) => isCurrent && setFault(toFault(error).title),
      );
    };
    const timer = setTimeout(read, TYPING_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [kind, value]);
  if (fault !== '') return <p class="blast">How many it hits could not be counted: {visibleText(fault)}</p>;
  if (found === null) return <p class="blast muted">Counting how many it hits…</p>;
  const { usage, before, errors, warning } = found ?? {};
  if (errors !== undefined)
    return <p class="blast tone-bad">{visibleText(errors.map((one) => one.message).join(' '))}</p>;
  return (
    <div class="blast stack">
      {usage === null || usage === undefined ? (
        <p>Decisions do not keep this kind of value, so how many it hits is not known.</p>
      ) : (
        <p>
          In the last 24 h it occurred in <strong>{countOf(usage.sessions_24h, 'session')}</strong> of{' '}
          <strong>{countOf(usage.identities_24h, 'identity', 'identities')}</strong>;{' '}
          {countOf(usage.flagged_24h, 'decision')} were not ALLOW.
        </p>
      )}
      {warning !== undefined && (
        <p class="notice">
          <Icon name="warning" size={14} /> {warningOf({ warning }).trim()}
        </p>
      )}
      {before !== null && before !== undefined && (
        <p class="muted">It is already on your list: {before}. This replaces that entry.</p>
      )}
    </div>
  );
}

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

/** Asks before something goes on the list: what, how many it hits, how long, and a note. */
export function ListActionDialog({
  subjects,
  action,
  onClose,
  onDone,
  onUndone,
}: {
  /** Among these the person chooses; the first one is chosen. The person writes a value that is '', because decisions do not keep it. */
  readonly subjects: readonly [ListedSubject, ...ListedSubject[]];
  readonly action: ListAction;
  readonly onClose: () => void;
  readonly onDone?: (entry: ListEntryRow) => void;
  /** After the person took it back: what the page shows is old. */
  readonly onUndone?: () => void;
}): JSX.Element {
  const [days, setDays] = useState(EXPIRY_DEFAULT[action]);
  const [note, setNote] = useState('');
  const [chosenId, setChosenId] = useState(subjectId(subjects[0]));
  const [typed, setTyped] = useState('');
  const listed = subjects.find((one) => subjectId(one) === chosenId) ?? subjects[0];
  const isKept = listed.value !== '';
  const subject = isKept ? listed : { kind: listed.kind, value: typed.trim() };
  const { kind, value } = subject;
  const run = async (): Promise<void> => {
    const expiresAt = days === '' ? null : Math.floor(Date.now() / 1_000) + Number(days) * 86_400;
    const before = await findEntry(subject);
    const change = {
      kind,
      value,
      action,
      note: note.trim() === '' ? null : note.trim(),
      expires_at: expiresAt,
    };
    const entry = await writeEntry(change, true);
    offerUndo(`${VERBS[action]}: ${shortSubject(entry)} is on the list.${warningOf(entry)}`, entry, before, onUndone);
    onDone?.(entry);
  };
  const chosen = EXPIRIES.find(({ value }) => value === days)?.title ?? '';
  return (
    <Confirm
      title={`${VERBS[action]} the ${subjectWords(subject)}`}
      confirm={days === '' ? `${VERBS[action]} permanently` : `${VERBS[action]} for ${chosen}`}
      danger={action === 'block'}
      disabled={value === ''}
      onConfirm={run}
      onClose={onClose}
    >
      {subjects.length > 1 && (
        <Select
          label="What"
          value={chosenId}
          onValue={(id) => {
            setChosenId(id);
            setTyped('');
          }}
          choices={subjects.map((one) => ({ value: subjectId(one), title: subjectWords(one) }))}
        />
      )}
      {!isKept && (
        <Field
          label="Its value"
          value={typed}
          onValue={setTyped}
          maxLength={256}
          spellcheck={false}
          autoComplete="off"
          required
          hint="Decisions keep only a hash of it, so write it as you send it."
        />
      )}
      {kind === 'fingerprint' && <BlastRadius hash={value} isWrite />}
      {kind !== 'fingerprint' && value !== '' && <SubjectUse subject={subject} />}
      <Select label="Ends after" value={days} onValue={setDays} choices={EXPIRIES} />
      <Field label="Note" value={note} onValue={setNote} maxLength={500} hint="Optional." />
    </Confirm>
  );
}
