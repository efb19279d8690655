import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { FingerprintBody, ListEntryRow } from '../../../../contract/wire-types.ts';
import type { ListAction } from '../../../../contract/vocabulary.ts';
import { toFault, v1 } from '../../api.ts';
import { Button } from '../../components/fields.tsx';
import { BlastRadius, ListActionDialog } from '../../components/list-action-dialog.tsx';
import { Section } from '../../components/pane.tsx';
import { Text } from '../../components/text.tsx';
import { Time } from '../../components/time.tsx';
import { toast } from '../../components/toast.tsx';
import { useKeys } from '../../keyboard.ts';
import { ACTIONS } from '../../list-actions.ts';
import { removeEntry } from '../../list-writes.ts';
import { isReadOnly } from '../../session.ts';
import { type Live, useLive } from '../../use-live.ts';

const WORDS: Readonly<Record<ListAction, string>> = { block: 'Block…', allow: 'Allow…', watch: 'Watch…' };
const KEYS: Readonly<Record<ListAction, string>> = { block: 'b', allow: 'a', watch: 'w' };

/** A fingerprint's entry in the list, how many devices it hits, and the buttons that change it. */
export function FingerprintEntry({
  hash,
  found,
}: {
  readonly hash: string;
  readonly found: Live<FingerprintBody>;
}): JSX.Element {
  const [asked, setAsked] = useState<ListAction | null>(null);
  const canWrite = !isReadOnly();
  const action = found.data?.list_action ?? null;
  const entry = useLive<ListEntryRow>(action === null ? null : v1(`/lists/${hash}`, { as: action }));
  const changed = (): void => {
    found.refresh();
    entry.refresh();
  };
  useKeys(
    'Fingerprint',
    ACTIONS.map((name) => ({
      keys: KEYS[name],
      does: `${WORDS[name].slice(0, -1)} the fingerprint (asks)`,
      run: () => {
        if (canWrite) setAsked(name);
        return canWrite;
      },
    })),
    [canWrite],
  );
  const remove = (present: ListEntryRow): void => {
    removeEntry(present, changed).catch((error: unknown) => toast(`Not removed: ${toFault(error).title}`));
  };
  // Nothing is claimed before the response.
  const isKnown = found.data !== undefined || found.fault?.status === 404;
  const standing = !isKnown ? '…' : action === null ? 'It is not on your list.' : `It is on your list: ${action}.`;
  const shown = action === null ? undefined : entry.data;
  return (
    <Section
      title="On your list"
      actions={ACTIONS.map((name) => (
        <Button
          key={name}
          small
          kind={name === 'block' ? 'danger' : 'plain'}
          aria-keyshortcuts={KEYS[name]}
          disabled={!canWrite}
          onClick={() => setAsked(name)}
        >
          {WORDS[name]}
        </Button>
      ))}
    >
      <div class="stack">
        {shown === undefined ? (
          <p class="muted">{standing}</p>
        ) : (
          <div class="row">
            <strong>{shown.action}</strong>
            <span>
              {shown.expires_at === null ? (
                'permanently'
              ) : (
                <>
                  until <Time at={shown.expires_at} />
                </>
              )}
            </span>
            {shown.note !== null && <Text value={shown.note} />}
            <Button small disabled={!canWrite} onClick={() => remove(shown)}>
              Remove
            </Button>
          </div>
        )}
        <BlastRadius hash={hash} />
      </div>
      {asked !== null && (
        <ListActionDialog
          subjects={[{ kind: 'fingerprint', value: hash }]}
          action={asked}
          onClose={() => setAsked(null)}
          onDone={changed}
          onUndone={changed}
        />
      )}
    </Section>
  );
}
