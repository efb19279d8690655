import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ApiKeyRow, MeBody } from '../../../../contract/wire-types.ts';
import { Button } from '../../components/fields.tsx';
import { ResourceList, type ResourceSpec, useResource } from '../../components/resource-list.tsx';
import { Time } from '../../components/time.tsx';
import { useKeys } from '../../keyboard.ts';
import { now } from '../../now.ts';
import { isReadOnly } from '../../session.ts';
import { useUrlState } from '../../url-state.ts';
import { KEY_COLUMNS } from './key-columns.tsx';
import { KeyTextDialog, type MadeKey, NewKeyDialog } from './key-dialogs.tsx';
import { KeyPane } from './key-pane.tsx';
import { keyStateOf } from './key-words.ts';

const KEYS: ResourceSpec<ApiKeyRow> = {
  title: 'API keys',
  icon: 'keys',
  path: '/keys',
  pageRows: 100,
  everyMs: 5_000,
  keyOf: ({ prefix, created_at: at }) => `${prefix} ${at}`,
  columns: KEY_COLUMNS,
  opens: { name: 'key' },
  filters: [
    {
      name: 'kind',
      form: 'segments',
      label: 'Kind',
      values: [
        ['secret', 'Secret'],
        ['public', 'Public'],
        ['expired', 'Expired'],
        ['revoked', 'Revoked'],
      ],
      matches: (row, kind) =>
        kind === 'expired' || kind === 'revoked' ? keyStateOf(row, now.value).kind === kind : row.kind === kind,
    },
  ],
  empty: { title: 'No such key', text: 'A key with the scope admin makes others, here or by POST /v1/keys.' },
  retention: 'Revoked and expired keys stay in the list.',
};

/** The keys with their rights and their use since the start. A session of a key with the scope admin makes, replaces and revokes them. */
export function KeyTable({ me }: { readonly me: MeBody | undefined }): JSX.Element {
  const url = useUrlState();
  const keys = useResource(KEYS);
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<MadeKey | null>(null);
  const { rows, refresh } = keys.pages;
  const own = rows.find(({ is_current: isCurrent }) => isCurrent);
  const isAdmin = own?.scopes.includes('admin') === true;
  const canManage = isAdmin && !isReadOnly();
  const open = rows.find((row) => KEYS.keyOf(row) === keys.openKey);
  useKeys('Keys', canManage ? [{ keys: 'n', does: 'New key', run: () => setMaking(true) }] : [], [canManage]);
  const since = Math.max(0, ...rows.map(({ usage }) => usage.since));
  const note = (
    <>
      Calls and refusals since <Time at={since} />
    </>
  );
  return (
    <>
      <ResourceList
        of={keys}
        note={since === 0 ? undefined : note}
        actions={
          canManage ? (
            <Button icon="plus" onClick={() => setMaking(true)}>
              New key
            </Button>
          ) : undefined
        }
        pane={
          open === undefined ? null : (
            <KeyPane
              key={keys.openKey}
              row={open}
              keys={rows}
              canManage={canManage}
              closeHref={url.href({ key: null })}
              onMade={setMade}
              onChanged={refresh}
            />
          )
        }
      >
        {own !== undefined && !canManage && (
          <p class="padded muted">
            {isAdmin
              ? 'This dashboard is read-only: keys are made by POST /v1/keys, or with the commands below.'
              : 'You are signed in with a key without the scope admin: sign in with one that has it to make, rotate or revoke keys.'}
          </p>
        )}
        <details class="padded">
          <summary>Keys on the command line</summary>
          <pre tabIndex={0}>
            <code>{commandsFor(me?.customer_id ?? 'cus_ID')}</code>
          </pre>
        </details>
      </ResourceList>
      {isMaking && own !== undefined && (
        <NewKeyDialog own={own} onMade={setMade} onClose={() => setMaking(false)} onDone={refresh} />
      )}
      {made !== null && <KeyTextDialog made={made} onClose={() => setMade(null)} />}
    </>
  );
}

function commandsFor(customerId: string): string {
  return `# on the machine of the server; the key is printed once
npx gatehouse keys create --customer ${customerId} --name shop --scopes decide
npx gatehouse keys create --customer ${customerId} --test
npx gatehouse keys create --customer ${customerId} --origin https://shop.example
npx gatehouse keys rotate sk_live_abcd
npx gatehouse keys revoke sk_live_abcd`;
}
