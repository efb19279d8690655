import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ApiFault } from '../api.ts';
import { formatClock, formatCount } from '../format.ts';
import { visibleText } from '../visible-text.ts';
import { Button } from './fields.tsx';
import { Icon, type IconName } from './icon.tsx';

/**
 * The six states of everything that is loaded: empty, loading, stale, error, no more, too much. `StateView` chooses between the first
 * four; lists put `EndOfRows` or `TooMuch` below their rows.
 */

interface Loadable {
  readonly fault: ApiFault | null;
  readonly loading: boolean;
  readonly asOfMs: number | null;
  readonly retryAtMs: number | null;
  readonly refresh: () => void;
}

/** Shows the state of a `useLive` or `usePages`; `children` draws the data of the first once they are there, or the rows of the second. */
export function StateView<T>({
  of,
  isEmpty = false,
  empty,
  skeleton = 'rows',
  children,
}: {
  readonly of: Loadable & { readonly data?: T | undefined };
  readonly isEmpty?: boolean;
  readonly empty?: ComponentChildren;
  readonly skeleton?: SkeletonForm;
  readonly children: (data: T) => ComponentChildren;
}): JSX.Element {
  if (of.loading) return <Skeleton form={skeleton} />;
  if (of.asOfMs === null) {
    if (of.fault === null) return <Skeleton form={skeleton} />;
    return <FaultView fault={of.fault} retry={of.refresh} retryAtMs={of.retryAtMs} />;
  }
  return (
    <>
      {of.fault !== null && <Stale of={of} />}
      {isEmpty ? empty : children(of.data as T)}
    </>
  );
}

/** An empty state: says what will appear here, and gives the command or the link. */
export function Empty({
  icon = 'search',
  title,
  children,
}: {
  readonly icon?: IconName;
  readonly title: string;
  readonly children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="state state-empty">
      <Icon name={icon} size={22} />
      <p class="state-title">{title}</p>
      {children !== undefined && <div class="state-text">{children}</div>}
    </div>
  );
}

export type SkeletonForm = 'rows' | 'chart' | 'tiles' | 'text';

/** Choice: a response that comes sooner shows no skeleton, which would only flicker. */
const SKELETON_AFTER_MS = 150;

/** A skeleton of the final size. Visible after 150 ms; reserves its space at once. */
export function Skeleton({ form = 'rows' }: { readonly form?: SkeletonForm }): JSX.Element {
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), SKELETON_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  const count = { rows: 8, chart: 1, tiles: 4, text: 3 }[form];
  return (
    <div class={`skeleton skeleton-${form}${isShown ? ' skeleton-shown' : ''}`} aria-busy="true">
      <span class="hidden-text">Loading</span>
      {Array.from({ length: count }, (_, n) => (
        <span key={n} class="skeleton-part" />
      ))}
    </div>
  );
}

/** Whole seconds until a time, counted down. */
function useSecondsUntil(atMs: number | null): number | null {
  const [, tick] = useState(0);
  useEffect(() => {
    if (atMs === null) return undefined;
    const timer = setInterval(() => tick((n) => n + 1), 1_000);
    return () => clearInterval(timer);
  }, [atMs]);
  return atMs === null ? null : Math.max(0, Math.ceil((atMs - Date.now()) / 1_000));
}

/** Old data with the time that they are from: "as of 14:02:11, retrying in 8 s". */
export function Stale({ of }: { readonly of: Loadable }): JSX.Element {
  const seconds = useSecondsUntil(of.retryAtMs);
  return (
    <p class="stale" role="status">
      <Icon name="clock" size={14} />
      <span>
        {of.asOfMs === null ? 'Not loaded' : `As of ${formatClock(of.asOfMs / 1_000)}`}
        {seconds === null ? '' : `, retrying in ${seconds} s`}
        {of.fault === null ? '' : ` (${visibleText(of.fault.title)}: ${of.fault.code})`}
      </span>
      <Button kind="quiet" small onClick={of.refresh}>
        Retry now
      </Button>
    </p>
  );
}

/** A problem with its code and request id, by which the log is searched. */
export function FaultView({
  fault,
  retry,
  retryAtMs = null,
}: {
  readonly fault: ApiFault;
  readonly retry?: () => void;
  readonly retryAtMs?: number | null;
}): JSX.Element {
  const seconds = useSecondsUntil(retryAtMs);
  return (
    <div class="state state-error" role="alert">
      <Icon name="error" size={22} />
      <p class="state-title">{visibleText(fault.title)}</p>
      {fault.detail !== '' && <p class="state-text">{visibleText(fault.detail)}</p>}
      {fault.errors.length > 0 && (
        <ul class="state-list">
          {fault.errors.map(({ pointer, message }) => (
            <li key={`${pointer} ${message}`}>
              <code>{visibleText(pointer)}</code> {visibleText(message)}
            </li>
          ))}
        </ul>
      )}
      <p class="state-codes">
        <code>{fault.code}</code>
        {fault.requestId !== null && <code>{visibleText(fault.requestId)}</code>}
        {seconds !== null && <span class="num">retrying in {seconds} s</span>}
      </p>
      {retry !== undefined && (
        <Button icon="refresh" onClick={retry}>
          Retry
        </Button>
      )}
    </div>
  );
}

/** Below the last row: more, or why there is no more. `retention` names how long rows are kept. */
export function EndOfRows({
  pages,
  retention,
}: {
  readonly pages: {
    readonly rows: readonly unknown[];
    readonly hasMore: boolean;
    readonly loadingMore: boolean;
    readonly loadMore: () => void;
  };
  readonly retention: string;
}): JSX.Element | null {
  if (pages.rows.length === 0) return null;
  return (
    <div class="end-of-rows">
      {pages.hasMore ? (
        <Button onClick={pages.loadMore} disabled={pages.loadingMore}>
          {pages.loadingMore ? 'Loading…' : 'Load more'}
        </Button>
      ) : (
        <p class="muted">
          {pages.rows.length === 1 ? 'The only row.' : `All ${formatCount(pages.rows.length)} rows.`} {retention}
        </p>
      )}
    </div>
  );
}

/** A search that examined as many rows as one call may: "100,000 rows searched, 3 found: narrow the range or continue". */
export function TooMuch({
  examined,
  found,
  onMore,
}: {
  readonly examined: number;
  readonly found: number;
  readonly onMore?: () => void;
}): JSX.Element {
  return (
    <div class="too-much" role="status">
      <Icon name="warning" size={16} />
      <span>
        {formatCount(examined)} rows searched, {formatCount(found)} found: narrow the range
        {onMore === undefined ? '.' : ' or continue.'}
      </span>
      {onMore !== undefined && (
        <Button small onClick={onMore}>
          Continue
        </Button>
      )}
    </div>
  );
}
