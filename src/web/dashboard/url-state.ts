import { useCallback } from 'preact/hooks';
import { useLocation } from 'preact-iso/router';

/**
 * All filters are in the URL, so that a view can be linked, opened in a new tab and found again by the back button. Parameters of every
 * page: `range`, `from`, `to` (see use-range.ts); everything else belongs to the page.
 */

export type UrlChange = Readonly<Record<string, string | null | undefined>>;

/** Returns the URL of a path with the parameters; null, undefined and '' remove one. */
export function urlWith(path: string, query: Readonly<Record<string, string>>, change: UrlChange = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...query, ...change }))
    if (value !== null && value !== undefined && value !== '') parameters.set(name, value);
  const text = parameters.toString();
  return text === '' ? path : `${path}?${text}`;
}

export interface UrlState {
  readonly query: Readonly<Record<string, string>>;
  /** Returns '' for an absent parameter. */
  readonly get: (name: string) => string;
  /** Changes parameters of the present page. Filters push a history entry; typing replaces the last one. */
  readonly set: (change: UrlChange, options?: { readonly replace?: boolean }) => void;
  /** The URL after a change, for links. */
  readonly href: (change: UrlChange) => string;
}

/** The parameters of the present URL. */
export function useUrlState(): UrlState {
  const { path, query, route } = useLocation();
  const set = useCallback<UrlState['set']>(
    (change, { replace = false } = {}) => route(urlWith(path, query, change), replace),
    [path, query, route],
  );
  return {
    query,
    get: (name) => query[name] ?? '',
    set,
    href: (change) => urlWith(path, query, change),
  };
}

/** Returns a link to another page that keeps the range of time. */
export function useLink(): (path: string, query?: UrlChange) => string {
  const { query } = useLocation();
  return (path, change = {}) => {
    const { range = '', from = '', to = '' } = query;
    return urlWith(path, { range, from, to }, change);
  };
}
