import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { ReviewVerdict } from '../../../contract/vocabulary.ts';
import type { PolicyBody, ShadowReviewRow } from '../../../contract/wire-types.ts';
import { v1 } from '../api.ts';
import { Button } from '../components/fields.tsx';
import { Segments } from '../components/filter-chips.tsx';
import { Empty, Skeleton, StateView, TooMuch } from '../components/state-view.tsx';
import { countOf, formatCount } from '../format.ts';
import { useKeys } from '../keyboard.ts';
import { isReadOnly } from '../session.ts';
import { useLink, useUrlState } from '../url-state.ts';
import { useLive } from '../use-live.ts';
import { usePages } from '../use-pages.ts';
import { visibleText } from '../visible-text.ts';
import { Precision } from './review/precision.tsx';
import { ReviewCard } from './review/review-card.tsx';
import { NOBODY, type ReviewFilter, ReviewFilters, readReviewFilter } from './review/review-filters.tsx';
import { findPlace } from './review/review-stack.ts';
import { useDecisions } from './review/use-decisions.ts';
import { UndoBar, VERDICT_WORDS } from './review/undo-bar.tsx';
import { type ReviewEnd, VerdictQueue } from './review/verdict-queue.ts';
import { WorkDialog } from './review/work-dialog.tsx';

const VIEWS = ['open', 'samples', 'precision'] as const;

/** Choice: rows of one call; the next ones are loaded when few are left. */
const ROWS = 500;
const FEW_LEFT = 20;
/** Choice: decisions that one search by event type looks at before it asks. */
const EXAMINED_STEP = 200;

const VERDICT_KEYS: readonly (readonly [string, ReviewVerdict])[] = [
  ['1', 'fraud'],
  ['2', 'legitimate'],
  ['3', 'unsure'],
];

/** Open work and samples as a stack: one decision at a time, a verdict by one key, and the next one is there. */
export default function ReviewPage(): JSX.Element {
  const url = useUrlState();
  const link = useLink();
  const view = VIEWS.find((name) => name === url.get('view')) ?? 'open';
  const queue = useMemo(() => new VerdictQueue(), []);
  useEffect(() => {
    const flush = (): void => queue.flush();
    addEventListener('pagehide', flush);
    return () => {
      removeEventListener('pagehide', flush);
      flush();
    };
  }, []);
  return (
    <div class="stack">
      <div class="row">
        <Segments
          label="Parts of this page"
          options={[
            { title: 'Open', href: link('/dashboard/review'), isOn: view === 'open' },
            { title: 'Samples', href: link('/dashboard/review', { view: 'samples' }), isOn: view === 'samples' },
            { title: 'Precision', href: link('/dashboard/review', { view: 'precision' }), isOn: view === 'precision' },
          ]}
        />
      </div>
      {view === 'precision' ? (
        <Precision given={queue.given.value} />
      ) : (
        <Stack key={view} queue={queue} isWork={view === 'open'} />
      )}
    </div>
  );
}

function Stack({ queue, isWork }: { readonly queue: VerdictQueue; readonly isWork: boolean }): JSX.Element {
  const url = useUrlState();
  const filter = readReviewFilter(url.query);
  const rows = usePages<ShadowReviewRow>(
    v1('/shadow-reviews', { ...listOf(isWork, filter, url.get('order')), limit: ROWS }),
    {
      idOf: ({ request_id: id }) => id,
    },
  );
  const policy = useLive<PolicyBody>(v1('/policy'));
  const [examinedMax, setExaminedMax] = useState(EXAMINED_STEP);
  const given = queue.given.value;
  const left = rows.rows.filter(
    ({ request_id: id, score, decision, assignee }) =>
      !given.has(id) &&
      filter.scoreMin <= score &&
      score <= filter.scoreMax &&
      (isWork ? filter.who === '' || filter.who === (assignee ?? NOBODY) : decision !== 'REVIEW'),
  );
  const assignees = [...new Set(rows.rows.flatMap(({ assignee }) => assignee ?? []))].sort();
  const [asked, setAsked] = useState<ShadowReviewRow | null>(null);
  const [wanted, setWanted] = useState<readonly string[]>([]);
  const decisions = useDecisions(wanted);
  const place = findPlace(left, url.get('at'), filter.event, examinedMax, (id) => {
    const one = decisions.get(id);
    return one === undefined ? undefined : (one.data?.event_type ?? null);
  });
  const toLoad = place.load.join();
  useEffect(() => setWanted(place.load), [toLoad]);
  useEffect(() => setExaminedMax(EXAMINED_STEP), [filter.event, filter.why]);
  useEffect(() => {
    if (left.length < FEW_LEFT && rows.hasMore && !rows.loadingMore && rows.fault === null) rows.loadMore();
  }, [left.length, rows.hasMore, rows.loadingMore, rows.fault]);

  const { row } = place;
  const goTo = (id: string | undefined): void => url.set({ at: id ?? null }, { replace: true });
  const give = (verdict: ReviewEnd): boolean => {
    if (row === null || isReadOnly()) return false;
    queue.give(row, verdict);
    goTo(place.next?.request_id);
    return true;
  };
  const ask = (): boolean => {
    if (row !== null && !isReadOnly()) setAsked(row);
    return row !== null;
  };
  const undo = (): boolean => {
    const last = queue.undo();
    if (last !== null) goTo(last.row.request_id);
    return last !== null;
  };
  const step = (to: ShadowReviewRow | null): boolean => {
    if (to !== null) goTo(to.request_id);
    return to !== null;
  };
  useKeys(
    'Review',
    [
      ...VERDICT_KEYS.map(([keys, verdict]) => ({
        keys,
        does: VERDICT_WORDS[verdict],
        run: () => give(verdict),
      })),
      { keys: 'c', does: 'Close without a verdict', run: () => give('closed') },
      { keys: 'n', does: 'Assign, or write a note', run: () => ask() },
      { keys: 'z', does: 'Take the last verdict back, within 10 s', run: undo },
      { keys: 'j', does: 'Later: the next decision', run: () => step(place.next) },
      { keys: 'k', does: 'The decision before', run: () => step(place.previous) },
    ],
    [row?.request_id, place.next?.request_id, place.previous?.request_id],
  );

  const total = `${formatCount(given.size + left.length)}${rows.hasMore ? '+' : ''}`;
  const isFiltered =
    filter.why !== '' || filter.who !== '' || filter.event !== '' || filter.scoreMin > 0 || filter.scoreMax < 100;
  return (
    <>
      <ReviewFilters filter={filter} isWork={isWork} assignees={assignees} />
      <StateView of={rows} skeleton="text">
        {() => (
          <>
            <p class="row spread review-progress">
              <span class="num" role="status">
                {row === null
                  ? `${countOf(given.size, 'verdict')} given`
                  : `${formatCount(given.size + place.index + 1)} of ${total}`}
              </span>
              <progress max={Math.max(1, given.size + left.length)} value={given.size} aria-label="Verdicts given" />
            </p>
            <UndoBar queue={queue} onUndo={undo} />
            {row !== null ? (
              <>
                <ReviewCard
                  key={row.request_id}
                  row={row}
                  loaded={decisions.get(row.request_id)}
                  retry={() => decisions.retry(row.request_id)}
                  policy={policy.data}
                />
                <Verdicts onGive={give} onAsk={ask} onLater={place.next === null ? null : () => step(place.next)} />
              </>
            ) : place.isSearching || (rows.hasMore && !place.isStopped) ? (
              <Searching event={filter.event} />
            ) : place.isStopped ? (
              <TooMuch examined={examinedMax} found={0} onMore={() => setExaminedMax(examinedMax + EXAMINED_STEP)} />
            ) : (
              <End isWork={isWork} isFiltered={isFiltered} given={given.size} refresh={rows.refresh} />
            )}
            {row === null && !place.isSearching && !place.isStopped && <Precision given={given} />}
            {asked !== null && (
              <WorkDialog
                row={asked}
                onDone={(changed) => rows.replace(changed.request_id, () => changed)}
                onClose={() => setAsked(null)}
              />
            )}
          </>
        )}
      </StateView>
    </>
  );
}

/** Open work: every REVIEW. Samples: what else was copied to the queue. */
function listOf(isWork: boolean, { why }: ReviewFilter, order: string): Readonly<Record<string, string>> {
  if (!isWork) return { state: 'open', why };
  return { queue: 'review', state: 'open', order: order === 'score' ? 'score' : 'oldest' };
}

function Searching({ event }: { readonly event: string }): JSX.Element {
  if (event === '') return <Skeleton form="text" />;
  return (
    <p class="muted" role="status">
      Looking for decisions of the type {visibleText(event)}…
    </p>
  );
}

function Verdicts({
  onGive,
  onAsk,
  onLater,
}: {
  readonly onGive: (verdict: ReviewEnd) => void;
  readonly onAsk: () => void;
  readonly onLater: (() => void) | null;
}): JSX.Element {
  return (
    <div class="verdicts" role="group" aria-label="Verdict">
      {VERDICT_KEYS.map(([key, verdict]) => (
        <Button
          key={verdict}
          kind={verdict === 'fraud' ? 'danger' : 'plain'}
          aria-keyshortcuts={key}
          disabled={isReadOnly()}
          onClick={() => onGive(verdict)}
        >
          {VERDICT_WORDS[verdict]} <kbd aria-hidden="true">{key}</kbd>
        </Button>
      ))}
      <Button aria-keyshortcuts="c" disabled={isReadOnly()} onClick={() => onGive('closed')}>
        Close <kbd aria-hidden="true">c</kbd>
      </Button>
      <Button kind="quiet" aria-keyshortcuts="n" disabled={isReadOnly()} onClick={onAsk}>
        Assign… <kbd aria-hidden="true">n</kbd>
      </Button>
      <Button kind="quiet" disabled={onLater === null} aria-keyshortcuts="j" onClick={() => onLater?.()}>
        Later <kbd aria-hidden="true">j</kbd>
      </Button>
    </div>
  );
}

function End({
  isWork,
  isFiltered,
  given,
  refresh,
}: {
  readonly isWork: boolean;
  readonly isFiltered: boolean;
  readonly given: number;
  readonly refresh: () => void;
}): JSX.Element {
  const link = useLink();
  if (isFiltered)
    return (
      <Empty
        icon="review"
        title={given === 0 ? 'No decision matches the filters' : 'No further decision matches the filters'}
      >
        <a href={link('/dashboard/review', isWork ? {} : { view: 'samples' })}>Clear the filters</a>
      </Empty>
    );
  return (
    <Empty icon="check" title={given === 0 ? 'Nothing waits for a verdict' : 'That was all'}>
      {isWork ? (
        <p>
          Every <code>REVIEW</code> is here until it has a verdict or a label, or is closed. Rows are kept for 30 days.{' '}
          <a href={link('/dashboard/review', { view: 'samples' })}>Samples of all decisions</a>
        </p>
      ) : (
        <p>
          Samples are decisions at most 3 points below Block, those that the challenger decides differently, and a
          random share: <code>"sample_rate": 0.01</code> in the policy file. Rows are kept for 30 days.
        </p>
      )}
      <p class="review-again">
        <Button icon="refresh" onClick={refresh}>
          Check again
        </Button>
      </p>
    </Empty>
  );
}
