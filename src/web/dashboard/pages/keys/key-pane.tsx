import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ApiKeyRow } from '../../../../contract/wire-types.ts';
import { FactList } from '../../components/facts.tsx';
import { Button } from '../../components/fields.tsx';
import { Pane } from '../../components/pane.tsx';
import { Text } from '../../components/text.tsx';
import { Time } from '../../components/time.tsx';
import { countOf, formatCount } from '../../format.ts';
import { now } from '../../now.ts';
import { KeyStateView, Refusals } from './key-columns.tsx';
import { type MadeKey, RevokeKeyDialog, RotateKeyDialog } from './key-dialogs.tsx';
import { isKeyUsable, keyStateOf, SCOPE_WORDS } from './key-words.ts';

/** One key beside the list: its rights and its use, and what can be done with it. `canManage`: the session may change keys. */
export function KeyPane({
  row,
  keys,
  canManage,
  closeHref,
  onMade,
  onChanged,
}: {
  readonly row: ApiKeyRow;
  readonly keys: readonly ApiKeyRow[];
  readonly canManage: boolean;
  readonly closeHref: string;
  readonly onMade: (made: MadeKey) => void;
  readonly onChanged: () => void;
}): JSX.Element {
  const [dialog, setDialog] = useState<'rotate' | 'revoke' | null>(null);
  const close = (): void => setDialog(null);
  const isSecret = row.kind === 'secret';
  return (
    <Pane title={`${row.prefix}…`} closeHref={closeHref}>
      <div class="stack">
        <FactList
          label="Key"
          facts={[
            { title: 'Name', value: <Text value={row.name} charactersMax={300} /> },
            { title: 'Kind', value: isSecret ? 'Secret: it belongs on a server' : 'Public: for pages and apps' },
            { title: 'State', value: <KeyStateView row={row} /> },
            {
              title: 'May',
              value: (
                <ul class="stack-small">
                  {row.scopes.map((scope) => (
                    <li key={scope}>{SCOPE_WORDS[scope]}</li>
                  ))}
                </ul>
              ),
            },
            {
              title: 'Networks',
              value:
                row.networks.length === 0 ? (
                  'every address'
                ) : (
                  <Text value={row.networks.join(', ')} charactersMax={900} />
                ),
            },
            isSecret
              ? null
              : {
                  title: 'Origins',
                  value:
                    row.origins.length === 0 ? (
                      'none: no web page can use it'
                    ) : (
                      <Text value={row.origins.join(', ')} charactersMax={900} />
                    ),
                },
            { title: 'Expires', value: row.expires_at === null ? 'never' : <Time at={row.expires_at} /> },
            row.replaced_by === null ? null : { title: 'Replaced by', value: <code>{row.replaced_by}…</code> },
            { title: 'Created', value: <Time at={row.created_at} /> },
            { title: 'Decide calls', value: `up to ${formatCount(row.rate_limit)} a minute` },
            {
              title: 'Used',
              value: (
                <>
                  {countOf(row.usage.calls, 'call')} since <Time at={row.usage.since} />
                </>
              ),
            },
            { title: 'Refused', value: <Refusals refusals={row.usage.refusals} countMax={Infinity} /> },
          ]}
        />
        {canManage && isKeyUsable(keyStateOf(row, now.value)) && (
          <div class="row">
            <Button onClick={() => setDialog('rotate')}>Rotate</Button>
            <Button kind="danger" onClick={() => setDialog('revoke')}>
              Revoke
            </Button>
          </div>
        )}
      </div>
      {dialog === 'rotate' && <RotateKeyDialog row={row} onMade={onMade} onClose={close} onDone={onChanged} />}
      {dialog === 'revoke' && <RevokeKeyDialog row={row} keys={keys} onClose={close} onDone={onChanged} />}
    </Pane>
  );
}
