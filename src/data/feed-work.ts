import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileErrorCode } from '../assets/asset-files.ts';
import { COMPILED_FILES, compileFeeds } from './compile-feeds.ts';
import { replaceFile } from './feed-folder.ts';
import { type FeedFault, type FeedReading, type FeedRow, readFeedFile } from './feed-rows.ts';
import { type DataFeed, FEED_BYTES_MAX } from './manifest.ts';

/** What the process that reads feeds is asked, as JSON text: files of others are read by it alone. */
export type FeedRequest =
  | {
      readonly do: 'check';
      readonly feed: DataFeed;
      readonly path: string;
      /** Rows of the file in use; null without one. */
      readonly rowsBefore: number | null;
      readonly nowSeconds: number;
    }
  | {
      readonly do: 'compile';
      readonly files: readonly { readonly feed: DataFeed; readonly path: string }[];
      /** Where the compiled databases are written. */
      readonly folder: string;
      readonly nowSeconds: number;
    };

export type FeedCheck =
  | { readonly kind: 'ok'; readonly rows: number; readonly dropped: number; readonly writtenAtSeconds: number | null }
  | { readonly kind: 'held'; readonly reason: FeedFault; readonly detail: string };

/** A publisher's clock may be ahead. Choice: by a day at most, which time zones explain. */
const AHEAD_SECONDS_MAX = 86_400;
/** Choice: a list that changes by more than this between two updates is more often cut or mixed up than true. */
const SHRINK_MIN = 0.5;
const GROWTH_MAX = 2;

/** Returns what a check found, or whether the databases were written: not when a file changed or went away meanwhile. */
export function doFeedWork(request: FeedRequest): FeedCheck | boolean {
  if (request.do === 'check') {
    const { feed, path, rowsBefore, nowSeconds } = request;
    return checkOf(readFile(feed, path), rowsBefore, nowSeconds);
  }
  const all: FeedRow[] = [];
  for (const { feed, path } of request.files) {
    const reading = readFile(feed, path);
    if (reading.kind === 'held') return false;
    for (const row of reading.rows) all.push(row);
  }
  const compiled = compileFeeds(all, request.nowSeconds);
  for (const name of ['networks', 'asn'] as const) {
    const bytes = compiled[name];
    if (bytes === null) continue;
    replaceFile(join(request.folder, COMPILED_FILES[name]), bytes);
  }
  return true;
}

function readFile(feed: DataFeed, path: string): FeedReading {
  try {
    const found = statSync(path);
    if (!found.isFile()) return { kind: 'held', reason: 'unreadable', detail: 'it is no file' };
    if (found.size > FEED_BYTES_MAX)
      return { kind: 'held', reason: 'too_large', detail: `it is larger than ${FEED_BYTES_MAX} bytes` };
    return readFeedFile(feed, readFileSync(path));
  } catch (error) {
    return { kind: 'held', reason: 'unreadable', detail: `it cannot be read (${fileErrorCode(error)})` };
  }
}

function checkOf(reading: FeedReading, rowsBefore: number | null, nowSeconds: number): FeedCheck {
  if (reading.kind === 'held') return reading;
  const { dropped, writtenAtSeconds } = reading;
  const rows = reading.rows.length;
  if (writtenAtSeconds !== null && writtenAtSeconds > nowSeconds + AHEAD_SECONDS_MAX)
    return { kind: 'held', reason: 'from_future', detail: 'its date is in the future' };
  const change = rowsBefore === null ? null : `it has ${rows} networks, and ${rowsBefore} before`;
  if (change !== null && rows < SHRINK_MIN * (rowsBefore ?? 0))
    return { kind: 'held', reason: 'lost_half', detail: change };
  if (change !== null && rows > GROWTH_MAX * (rowsBefore ?? 0))
    return { kind: 'held', reason: 'doubled', detail: change };
  return { kind: 'ok', rows, dropped, writtenAtSeconds };
}
