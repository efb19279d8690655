import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ReviewVerdict } from '../../../../contract/vocabulary.ts';
import type { PolicyBody, ShadowReviewRow } from '../../../../contract/wire-types.ts';
import { v1 } from '../../api.ts';
import { Button } from '../../components/fields.tsx';
import { Empty, Skeleton, StateView, TooMuch } from '../../components/state-view.tsx';
import { countOf, formatCount } from '../../format.ts';
import { useKeys } from '../../keyboard.ts';
import { isReadOnly } from '../../session.ts';
import { useLink, useUrlState } from '../../url-state.ts';
import { useLive } from '../../use-live.ts';
import { visibleText } from '../../visible-text.ts';
import { Precision } from './precision.tsx';
import { ReviewCard } from './review-card.tsx';
import { isFiltering, ReviewFilters, readReviewFilter } from './review-filters.tsx';
import { UndoBar, VERDICT_WORDS } from './undo-bar.tsx';
import { type Stack, useStack } from './use-stack.ts';
import type { ReviewEnd, VerdictQueue } from './verdict-queue.ts';
import { WorkDialog } from './work-dialog.tsx';

const VERDICT_KEYS: readonly (readonly [string, ReviewVerdict])[] = [
  ['1', 'fraud'],
  ['2', 'legitimate'],
  ['3', 'unsure'],
];

/** Open work, or samples: one decision at a time, with the buttons and keys of its verdict. */
export function DecisionStack({
  queue,
  isWork,
}: {
  readonly queue: VerdictQueue;
  readonly isWork: boolean;
}): JSX.Element {
  const filter = readReviewFilter(useUrlState().query);
  const entered = queue.entered.value;
  const stack = useStack(isWork, filter, entered);
  const { pages, place } = stack;
  const policy = useLive<PolicyBody>(v1('/policy'));
  const [assigned, setAssigned] = useState<ShadowReviewRow | null>(null);
  const actions = useActions(queue, stack, setAssigned);
  const { row } = place;
  const isAtEnd = row === null && !place.isSearching && !place.isStopped;
  return (
    <>
      <ReviewFilters filter={filter} isWork={isWork} assignees={stack.assignees} />
      <StateView of={pages} skeleton="text">
        {() => (
          <>
            <Progress stack={stack} entered={entered.size} />
            <UndoBar queue={queue} onUndo={actions.undo} />
            {row !== null ? (
              <>
                <ReviewCard
                  key={row.request_id}
                  row={row}
                  loaded={stack.decisions.get(row.request_id)}
                  retry={() => stack.decisions.retry(row.request_id)}
                  policy={policy.data}
                />
                <VerdictButtons
                  onVerdict={actions.enter}
                  onAssign={actions.assign}
                  onLater={place.next === null ? null : () => actions.goTo(place.next)}
                />
              </>
            ) : place.isSearching || (pages.hasMore && !place.isStopped) ? (
              <Searching event={filter.event} />
            ) : place.isStopped ? (
              <TooMuch examined={stack.examinedMax} found={0} onMore={stack.examineMore} />
            ) : (
              <End isWork={isWork} isFiltered={isFiltering(filter)} entered={entered.size} refresh={pages.refresh} />
            )}
            {isAtEnd && <Precision entered={entered} />}
            {assigned !== null && (
              <WorkDialog
                row={assigned}
                onDone={(changed) => pages.replace(changed.request_id, () => changed)}
                onClose={() => setAssigned(null)}
              />
            )}
          </>
        )}
      </StateView>
    </>
  );
}

interface Actions {
  /** Each returns whether there was something to do. */
  readonly enter: (verdict: ReviewEnd) => boolean;
  readonly assign: () => boolean;
  readonly undo: () => boolean;
  readonly goTo: (row: ShadowReviewRow | null) => boolean;
}

/** Returns the actions on the decision that is shown, and gives them keys. */
function useActions(queue: VerdictQueue, { place }: Stack, onAssign: (row: ShadowReviewRow) => void): Actions {
  const url = useUrlState();
  const { row, next, previous } = place;
  const show = (id: string | undefined): void => url.set({ at: id ?? null }, { replace: true });
  const actions: Actions = {
    enter: (verdict) => {
      if (row === null || isReadOnly()) return false;
      queue.enter(row, verdict);
      show(next?.request_id);
      return true;
    },
    assign: () => {
      if (row !== null && !isReadOnly()) onAssign(row);
      return row !== null;
    },
    undo: () => {
      const last = queue.undo();
      if (last !== null) show(last.row.request_id);
      return last !== null;
    },
    goTo: (to) => {
      if (to !== null) show(to.request_id);
      return to !== null;
    },
  };
  useKeys(
    'Review',
    [
      ...VERDICT_KEYS.map(([keys, verdict]) => ({
        keys,
        does: VERDICT_WORDS[verdict],
        run: () => actions.enter(verdict),
      })),
      { keys: 'c', does: 'Close without a verdict', run: () => actions.enter('closed') },
      { keys: 'n', does: 'Assign, or write a note', run: actions.assign },
      { keys: 'z', does: 'Take the last verdict back, within 10 s', run: actions.undo },
      { keys: 'j', does: 'Later: the next decision', run: () => actions.goTo(next) },
      { keys: 'k', does: 'The decision before', run: () => actions.goTo(previous) },
    ],
    [row?.request_id, next?.request_id, previous?.request_id],
  );
  return actions;
}

function Progress({ stack, entered }: { readonly stack: Stack; readonly entered: number }): JSX.Element {
  const { left, pages, place } = stack;
  const total = entered + left.length;
  return (
    <p class="row spread review-progress">
      <span class="num" role="status">
        {place.row === null
          ? `${countOf(entered, 'verdict')} given`
          : `${formatCount(entered + place.index + 1)} of ${formatCount(total)}${pages.hasMore ? '+' : ''}`}
      </span>
      <progress max={Math.max(1, total)} value={entered} aria-label="Verdicts given" />
    </p>
  );
}

function Searching({ event }: { readonly event: string }): JSX.Element {
  if (event === '') return <Skeleton form="text" />;
  return (
    <p class="muted" role="status">
      Looking for decisions of the type {visibleText(event)}…
    </p>
  );
}

function VerdictButtons({
  onVerdict,
  onAssign,
  onLater,
}: {
  readonly onVerdict: (verdict: ReviewEnd) => void;
  readonly onAssign: () => void;
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
          onClick={() => onVerdict(verdict)}
        >
          {VERDICT_WORDS[verdict]} <kbd aria-hidden="true">{key}</kbd>
        </Button>
      ))}
      <Button aria-keyshortcuts="c" disabled={isReadOnly()} onClick={() => onVerdict('closed')}>
        Close <kbd aria-hidden="true">c</kbd>
      </Button>
      <Button kind="quiet" aria-keyshortcuts="n" disabled={isReadOnly()} onClick={onAssign}>
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
  entered,
  refresh,
}: {
  readonly isWork: boolean;
  readonly isFiltered: boolean;
  readonly entered: number;
  readonly refresh: () => void;
}): JSX.Element {
  const link = useLink();
  if (isFiltered)
    return (
      <Empty
        icon="review"
        title={entered === 0 ? 'No decision matches the filters' : 'No further decision matches the filters'}
      >
        <a href={link('/dashboard/review', isWork ? {} : { view: 'samples' })}>Clear the filters</a>
      </Empty>
    );
  return (
    <Empty icon="check" title={entered === 0 ? 'Nothing waits for a verdict' : 'That was all'}>
      {isWork ? (
        <p>
          Every <code>REVIEW</code> is here until it has a verdict or a label, or is closed. Rows are kept for 30 days.{' '}
          <a href={link('/dashboard/review', { view: 'samples' })}>Samples of all decisions</a>
        </p>
      ) : (
        <p>
          Samples are decisions at most 3 points below Block, those that a challenger decides differently, and a random
          share: <code>"sample_rate": 0.01</code> in the policy file. Rows are kept for 30 days.
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
