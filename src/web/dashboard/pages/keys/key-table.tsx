import type { JSX } from 'preact';
import type { ApiKeyRow } from '../../../../contract/wire-types.ts';
import type { Column } from '../../components/data-table.tsx';
import { ResourceList, type ResourceSpec, useResource } from '../../components/resource-list.tsx';
import { StateMark } from '../../components/state-mark.tsx';
import { Text } from '../../components/text.tsx';
import { Time } from '../../components/time.tsx';
import { formatCount } from '../../format.ts';
import { cutText, visibleText } from '../../visible-text.ts';

const REFUSALS_SHOWN = 3;

const COLUMNS: readonly Column<ApiKeyRow>[] = [
  {
    id: 'prefix',
    title: 'Key',
    render: ({ prefix, is_current: isCurrent }) => (
      <>
        <code>{prefix}…</code> {isCurrent && <span class="tag">yours</span>}
      </>
    ),
  },
  { id: 'kind', title: 'Kind', render: ({ kind }) => (kind === 'secret' ? 'Secret' : 'Public') },
  {
    id: 'state',
    title: 'State',
    render: ({ revoked_at: at }) =>
      at === null ? (
        <StateMark tone="good" word="Valid" />
      ) : (
        <span>
          <StateMark tone="bad" word="Revoked" /> <Time at={at} ago />
        </span>
      ),
  },
  {
    id: 'used',
    title: 'Last used',
    render: ({ usage }) =>
      usage.last_used_at === null ? (
        <span class="muted">not since the server started</span>
      ) : (
        <Time at={usage.last_used_at} ago />
      ),
  },
  { id: 'calls', title: 'Calls', align: 'right', render: ({ usage }) => formatCount(usage.calls) },
  { id: 'refusals', title: 'Refused', render: ({ usage }) => <Refusals refusals={usage.refusals} /> },
  {
    id: 'origins',
    title: 'Allowed origins',
    grows: true,
    render: ({ kind, origins }) =>
      kind === 'secret' ? (
        <span class="muted">none: it belongs on a server</span>
      ) : origins.length === 0 ? (
        <span class="muted">none: no web page can use it</span>
      ) : (
        <Text value={origins.join(', ')} charactersMax={300} />
      ),
  },
  {
    id: 'limit',
    title: 'Decide calls a minute',
    align: 'right',
    optional: true,
    render: (row) => formatCount(row.rate_limit),
  },
  { id: 'made', title: 'Created', align: 'right', render: ({ created_at: at }) => <Time at={at} ago /> },
];

function Refusals({ refusals }: { readonly refusals: ApiKeyRow['usage']['refusals'] }): JSX.Element {
  const sorted = Object.entries(refusals).sort(([, a], [, b]) => b - a);
  if (sorted.length === 0) return <span class="faint">–</span>;
  const rest = sorted.length - REFUSALS_SHOWN;
  return (
    <span class="tone-warn">
      {sorted
        .slice(0, REFUSALS_SHOWN)
        .map(([code, count]) => `${formatCount(count)} ${cutText(visibleText(code), 30)}`)
        .join(', ')}
      {rest > 0 && ` and ${rest} more codes`}
    </span>
  );
}

const KEYS: ResourceSpec<ApiKeyRow> = {
  title: 'API keys',
  icon: 'keys',
  path: '/keys',
  pageRows: 100,
  everyMs: 5_000,
  keyOf: ({ prefix, created_at: at }) => `${prefix} ${at}`,
  columns: COLUMNS,
  filters: [
    {
      name: 'kind',
      form: 'segments',
      label: 'Kind',
      values: [
        ['secret', 'Secret'],
        ['public', 'Public'],
        ['revoked', 'Revoked'],
      ],
      matches: (row, kind) => (kind === 'revoked' ? row.revoked_at !== null : row.kind === kind),
    },
  ],
  empty: { title: 'No such key', text: 'Keys are created on the server’s machine, with the command below.' },
  retention: 'Revoked keys stay in the list.',
};

/** The keys with their calls and refusals since the start; they are created and revoked on the command line only. */
export function KeyTable({ customerId }: { readonly customerId: string | null }): JSX.Element {
  const keys = useResource(KEYS);
  const since = Math.max(0, ...keys.pages.rows.map(({ usage }) => usage.since));
  const note = (
    <>
      Calls and refusals since <Time at={since} />
    </>
  );
  return (
    <ResourceList of={keys} note={since === 0 ? undefined : note}>
      <details class="padded">
        <summary>Create and revoke keys</summary>
        <pre tabIndex={0}>
          <code>{commandsFor(customerId ?? 'cus_ID')}</code>
        </pre>
      </details>
    </ResourceList>
  );
}

function commandsFor(customerId: string): string {
  return `# on the machine of the server; the key is printed once
npm run -s gatehouse -- keys create --customer ${customerId}
npm run -s gatehouse -- keys create --customer ${customerId} --origin https://shop.example
npm run -s gatehouse -- keys revoke sk_live_abcd`;
}
