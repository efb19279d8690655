import { listenOnDocument, readProperty } from './page-proof.ts';

/** Events of a page while the collector runs on it. */
export interface PageEvents {
  /** The page was shown again from the back-forward cache. */
  onReturn(): void;
  /** A script changed the address to another path: a new page of a single-page application. */
  onRoute(): void;
}

/** The Navigation API, in Chromium, Firefox 147 and Safari 26. Elsewhere a single-page application counts as one page. */
interface WithNavigation {
  readonly navigation?: EventTarget;
}

function isHidden(): boolean {
  return readProperty(Document, 'hidden', document);
}

/** Follows the page's life until `signal` aborts, and returns for how many milliseconds it was hidden. Patches nothing of the page's. */
export function followPage(events: PageEvents, signal: AbortSignal): () => number {
  let hiddenMs = 0;
  let hiddenSinceMs = isHidden() ? performance.now() : null;
  listenOnDocument(
    'visibilitychange',
    () => {
      if (hiddenSinceMs !== null) hiddenMs += performance.now() - hiddenSinceMs;
      hiddenSinceMs = isHidden() ? performance.now() : null;
    },
    { signal },
  );
  addEventListener(
    'pageshow',
    ({ persisted }) => {
      if (!persisted) return;
      hiddenMs = 0;
      events.onReturn();
    },
    { signal },
  );
  let path = location.pathname;
  (window as WithNavigation).navigation?.addEventListener(
    'currententrychange',
    () => {
      if (location.pathname === path) return;
      path = location.pathname;
      hiddenMs = 0;
      events.onRoute();
    },
    { signal },
  );
  return () => hiddenMs + (hiddenSinceMs === null ? 0 : performance.now() - hiddenSinceMs);
}
