import type { JSX } from 'preact';
import type { ApiKeyRow } from '../../../../contract/wire-types.ts';
import type { Column } from '../../components/data-table.tsx';
import { StateMark } from '../../components/state-mark.tsx';
import { Text } from '../../components/text.tsx';
import { Time } from '../../components/time.tsx';
import { formatCount } from '../../format.ts';
import { now } from '../../now.ts';
import { cutText, visibleText } from '../../visible-text.ts';
import { callsWords, keyStateOf } from './key-words.ts';

const REFUSALS_SHOWN = 3;

export const KEY_COLUMNS: readonly Column<ApiKeyRow>[] = [
  {
    id: 'prefix',
    title: 'Key',
    render: ({ prefix, test: isTest, is_current: isCurrent }) => (
      <>
        <code>{prefix}…</code> {isTest && <span class="tag">test</span>} {isCurrent && <span class="tag">yours</span>}
      </>
    ),
  },
  { id: 'name', title: 'Name', grows: true, render: ({ name }) => <Text value={name} charactersMax={60} /> },
  { id: 'kind', title: 'Kind', render: ({ kind }) => (kind === 'secret' ? 'Secret' : 'Public') },
  { id: 'state', title: 'State', render: (row) => <KeyStateView row={row} /> },
  { id: 'scopes', title: 'Scopes', render: ({ scopes }) => scopes.join(', ') },
  {
    id: 'networks',
    title: 'Networks',
    optional: true,
    render: ({ networks }) =>
      networks.length === 0 ? (
        <span class="muted">every</span>
      ) : (
        <Text value={networks.join(', ')} charactersMax={40} />
      ),
  },
  {
    id: 'used',
    title: 'Last used',
    render: ({ usage }) =>
      usage.last_used_at === null ? (
        <span class="muted">not since the start</span>
      ) : (
        <Time at={usage.last_used_at} ago />
      ),
  },
  { id: 'calls', title: 'Calls', align: 'right', render: ({ usage }) => callsWords(usage.calls) },
  {
    id: 'refusals',
    title: 'Refused',
    optional: true,
    render: ({ usage }) => <Refusals refusals={usage.refusals} countMax={REFUSALS_SHOWN} />,
  },
];

/** The state of a key, with its time where the word needs one. */
export function KeyStateView({ row }: { readonly row: ApiKeyRow }): JSX.Element {
  const { kind, tone, word, at } = keyStateOf(row, now.value);
  return (
    <span>
      <StateMark tone={tone} word={word} />
      {kind === 'rotating' && (
        <>
          {' '}
          <Time at={at} />
        </>
      )}
      {(kind === 'revoked' || kind === 'expired') && (
        <>
          {' '}
          <Time at={at} ago />
        </>
      )}
    </span>
  );
}

/** Refused calls by code, the most frequent first. */
export function Refusals({
  refusals,
  countMax,
}: {
  readonly refusals: ApiKeyRow['usage']['refusals'];
  readonly countMax: number;
}): JSX.Element {
  const sorted = Object.entries(refusals).sort(([, a], [, b]) => b - a);
  if (sorted.length === 0) return <span class="faint">–</span>;
  const rest = sorted.length - countMax;
  return (
    <span class="tone-warn">
      {sorted
        .slice(0, countMax)
        .map(([code, count]) => `${formatCount(count)} ${cutText(visibleText(code), 30)}`)
        .join(', ')}
      {rest > 0 && ` and ${rest} more codes`}
    </span>
  );
}
