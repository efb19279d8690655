import type { JSX } from 'preact';
import { useLocation } from 'preact-iso/router';
import { useState } from 'preact/hooks';
import type { WatchRow } from '../../../contract/wire-types.ts';
import type { Column } from '../components/data-table.tsx';
import { Button } from '../components/fields.tsx';
import { ResourceList, type ResourceSpec, useResource } from '../components/resource-list.tsx';
import { StateMark } from '../components/state-mark.tsx';
import { Text } from '../components/text.tsx';
import { Time } from '../components/time.tsx';
import { useKeys } from '../keyboard.ts';
import { isReadOnly } from '../session.ts';
import { useUrlState } from '../url-state.ts';
import { FeedTokenDialog, NewWatch } from './watches/new-watch.tsx';
import { WatchChanges } from './watches/watch-changes.tsx';
import { WatchDetail } from './watches/watch-detail.tsx';
import { foundWords, operationOf, scheduleOf, watchState } from './watches/watch-words.ts';

const COLUMNS: readonly Column<WatchRow>[] = [
  {
    id: 'what',
    title: 'Watch',
    render: (watch) => <Text value={watch.name ?? operationOf(watch)} charactersMax={50} />,
  },
  {
    id: 'state',
    title: 'State',
    render: (watch) => {
      const { tone, word } = watchState(watch);
      return <StateMark tone={tone} word={word} />;
    },
  },
  {
    id: 'found',
    title: 'Last run found',
    grows: true,
    render: (watch) => <Text value={watchState(watch).why ?? foundWords(watch)} charactersMax={120} />,
  },
  { id: 'runs', title: 'Runs', render: (watch) => <Text value={scheduleOf(watch)} charactersMax={40} /> },
  { id: 'last', title: 'Last run', render: ({ last_run: last }) => <Time at={last?.started_at ?? null} /> },
  { id: 'next', title: 'Next run', render: ({ next_run_at: at }) => <Time at={at} /> },
];

const WATCHES: ResourceSpec<WatchRow> = {
  title: 'Watches',
  icon: 'watches',
  path: '/watches',
  pageRows: 100,
  everyMs: 3_000,
  keyOf: ({ id }) => id,
  columns: COLUMNS,
  opens: { name: 'watch' },
  empty: {
    title: 'No watch yet',
    text: (
      <p>
        A watch runs an extraction again and again and keeps what is new, changed or gone. Press “New watch”, or “Watch
        it” below a filled form on the page “Extractions”.
      </p>
    ),
  },
  retention: 'A customer may have 100.',
};

/** Watches with their last runs, and the changes of one. */
export default function WatchesPage(): JSX.Element {
  const url = useUrlState();
  const { route } = useLocation();
  const [isCreating, setCreating] = useState(false);
  const [feed, setFeed] = useState<{ readonly id: string; readonly token: string } | null>(null);
  const watches = useResource(WATCHES);
  const { openKey } = watches;
  const { refresh } = watches.pages;
  const open = watches.rows.find(({ id }) => id === openKey);
  const closeHref = url.href({ watch: null });
  useKeys(
    'Watches',
    [
      ...(isReadOnly() ? [] : [{ keys: 'n', does: 'New watch', run: () => setCreating(true) }]),
      ...(openKey === '' ? [] : [{ keys: 'Escape', does: 'Close the watch', run: () => route(closeHref) }]),
    ],
    [openKey, closeHref, route],
  );
  return (
    <div class="stack">
      {open !== undefined && (
        <>
          <WatchDetail
            key={open.id}
            watch={open}
            closeHref={closeHref}
            onChanged={refresh}
            onToken={(token) => setFeed({ id: open.id, token })}
            onDeleted={() => {
              refresh();
              url.set({ watch: null });
            }}
          />
          <WatchChanges key={`changes ${open.id}`} watch={open} />
        </>
      )}
      <ResourceList
        of={watches}
        actions={
          isReadOnly() ? undefined : (
            <Button icon="plus" onClick={() => setCreating(true)}>
              New watch
            </Button>
          )
        }
      />
      {isCreating && (
        <NewWatch
          onClose={() => setCreating(false)}
          onMade={({ id, feed_token: token }) => {
            setFeed({ id, token });
            refresh();
            url.set({ watch: id });
          }}
        />
      )}
      {feed !== null && <FeedTokenDialog {...feed} onClose={() => setFeed(null)} />}
    </div>
  );
}
