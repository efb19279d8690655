import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fileErrorCode } from '../assets/asset-files.ts';
import { CheckChild } from '../assets/check-child.ts';
import { allFeeds, FEEDS_FOLDER, type FeedStates, readFeedStates, writeFeedStates } from './feed-folder.ts';
import { feedSnapshotFolder } from '../kernel/programs.ts';
import type { FeedCheck, FeedMerge, FeedRequest, FetchedPart } from './feed-work.ts';
import { type DataFeed, FEED_BYTES_MAX } from './manifest.ts';

export interface FeedUpdateOptions {
  readonly dataDir: string;
  readonly geoipDir: string;
  /** Writes the new file of a feed to `path`; `absent`: there is none to be had. Never rejects. */
  readonly fetch: (feed: DataFeed, path: string) => Promise<FeedFetch>;
  /** Feeds whose change of size was looked at and is right. */
  readonly accepted: ReadonlySet<string>;
  readonly nowSeconds: () => number;
}

export type OneFetch = { readonly kind: 'fetched' | 'absent' } | { readonly kind: 'failed'; readonly detail: string };
/** `parts`: files beside `path`, which `updateFeeds` joins and removes. */
export type FeedFetch = OneFetch | { readonly kind: 'parts'; readonly parts: readonly FetchedPart[] };

/** One line of `gatehouse data update`. */
export interface FeedResult {
  readonly feed: string;
  readonly state: 'ok' | 'held' | 'absent';
  readonly version: string | null;
  readonly rows: number | null;
  readonly dropped: number;
  readonly reason: string | null;
  readonly detail: string;
}

/** Choice: a list of 2,000,000 rows is compiled in half of this. */
const CHILD_MS_MAX = 120_000;
const CHILD_BYTES_MAX = 1_536 * 1024 * 1024;

/**
 * Fetches, checks and compiles all feeds. A file that fails its checks is held back: the one in use stays. A server beside it takes over
 * the compiled databases by itself. Throws if a folder cannot be written.
 */
export async function updateFeeds(options: FeedUpdateOptions): Promise<readonly FeedResult[]> {
  const { dataDir, geoipDir } = options;
  const folder = join(dataDir, FEEDS_FOLDER);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  mkdirSync(geoipDir, { recursive: true });
  const states = readFeedStates(dataDir);
  const feeds = allFeeds(states);
  const child = new FeedChild();
  try {
    const results: FeedResult[] = [];
    for (const feed of feeds) results.push(await updateFeed(feed, states, child, options));
    const nowSeconds = options.nowSeconds();
    const files = feeds.flatMap((feed) => {
      const path = fileInUse(folder, feed);
      return path === null ? [] : [{ feed, path }];
    });
    const answer = await child.ask({ do: 'compile', files, folder: geoipDir, nowSeconds });
    if (answer.kind !== 'answer' || answer.message !== true)
      throw new Error(
        `the databases were not compiled: ${answer.kind === 'answer' ? 'a file changed' : answer.detail}`,
      );
    writeFeedStates(dataDir, states);
    return results;
  } finally {
    child.close();
  }
}

/** The file that an update compiles: the accepted one, else the shipped one; null without either. */
function fileInUse(folder: string, feed: DataFeed): string | null {
  const accepted = join(folder, feed.file);
  if (existsSync(accepted)) return accepted;
  return feed.isShipped ? join(fileURLToPath(feedSnapshotFolder()), feed.file) : null;
}

async function updateFeed(
  feed: DataFeed,
  states: FeedStates,
  child: FeedChild,
  { dataDir, fetch, accepted, nowSeconds }: FeedUpdateOptions,
): Promise<FeedResult> {
  const state = (states.feeds[feed.name] ??= { kept: null, held: null });
  const result = (more: Pick<FeedResult, 'state'> & Partial<FeedResult>): FeedResult => {
    const { version = null, rows = null, dropped = 0 } = state.kept ?? {};
    return { feed: feed.name, version, rows, dropped, reason: null, detail: '', ...more };
  };
  const hold = (reason: string, detail: string): FeedResult => {
    state.held = { reason, detail, atSeconds: nowSeconds() };
    return result({ state: 'held', reason, detail });
  };
  const folder = join(dataDir, FEEDS_FOLDER);
  const incoming = join(folder, `${feed.file}.incoming`);
  /** Returns what stays as it was, a line an operator; a text if nothing new came. */
  const joinParts = async (parts: readonly FetchedPart[]): Promise<readonly string[] | string> => {
    const base = fileInUse(folder, feed);
    const answer = await child.ask({ do: 'merge', parts, base, path: incoming, nowSeconds: nowSeconds() });
    for (const path of parts.flatMap(({ paths }) => paths)) rmSync(path, { force: true });
    if (answer.kind !== 'answer') return `reading it ${answer.detail}`;
    const left = Object.entries(answer.message as FeedMerge).map(([operator, fault]) => `${operator} (${fault})`);
    return left.length === parts.length ? left.join('; ') : left;
  };
  try {
    const fetched = await fetch(feed, incoming);
    const left = fetched.kind === 'parts' ? await joinParts(fetched.parts) : [];
    if (typeof left === 'string') return hold('fetch_failed', left);
    if (fetched.kind === 'absent') {
      if (state.kept !== null) return result({ state: 'ok', detail: 'no new file' });
      return feed.isShipped
        ? result({ state: 'ok', detail: 'the copy that came with the service' })
        : result({ state: 'absent', detail: feed.without });
    }
    if (fetched.kind === 'failed') return hold('fetch_failed', fetched.detail);
    const rowsBefore = accepted.has(feed.name) ? null : (state.kept?.rows ?? null);
    const answer = await child.ask({ do: 'check', feed, path: incoming, rowsBefore, nowSeconds: nowSeconds() });
    if (answer.kind !== 'answer') return hold('unreadable', `reading it ${answer.detail}`);
    const check = answer.message as FeedCheck;
    if (check.kind === 'held') return hold(check.reason, check.detail);
    renameSync(incoming, join(folder, feed.file));
    const updatedAtSeconds = nowSeconds();
    const version = new Date((check.writtenAtSeconds ?? updatedAtSeconds) * 1_000).toISOString().slice(0, 10);
    state.kept = { version, rows: check.rows, dropped: check.dropped, updatedAtSeconds };
    state.held = null;
    return left.length === 0 ? result({ state: 'ok' }) : hold('fetch_failed', `as before: ${left.join('; ')}`);
  } finally {
    rmSync(incoming, { force: true });
  }
}

/** The process that reads the files; another one after a file ended it. */
class FeedChild {
  #child: CheckChild | null = null;

  async ask(request: FeedRequest): ReturnType<CheckChild['ask']> {
    this.#child ??= new CheckChild('feed-child', CHILD_BYTES_MAX);
    const answer = await this.#child.ask(JSON.stringify(request), CHILD_MS_MAX);
    if (answer.kind !== 'answer') this.close();
    return answer;
  }

  close(): void {
    this.#child?.close();
    this.#child = null;
  }
}

/** Returns a `fetch` that takes the files of a folder, named as the manifest names them. */
export function offlineFeeds(folder: string): FeedUpdateOptions['fetch'] {
  return async (feed, path) => copyFeed(join(folder, feed.file), path);
}

/** Copies a file of the operator. Never throws. */
export function copyFeed(from: string, path: string): OneFetch {
  if (!existsSync(from)) return { kind: 'absent' };
  try {
    const found = statSync(from);
    // Copying a pipe would never end.
    if (!found.isFile()) return { kind: 'failed', detail: 'it is no file' };
    if (found.size > FEED_BYTES_MAX) return { kind: 'failed', detail: `it is larger than ${FEED_BYTES_MAX} bytes` };
    copyFileSync(from, path);
    return { kind: 'fetched' };
  } catch (error) {
    return { kind: 'failed', detail: `it cannot be read (${fileErrorCode(error)})` };
  }
}
