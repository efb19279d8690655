import { readFileSync, statSync, writeFileSync } from 'node:fs';
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
      /** Writes one file from what operators published. */
      readonly do: 'merge';
      readonly parts: readonly FetchedPart[];
      /** The file in use; null without one. */
      readonly base: string | null;
      readonly path: string;
      readonly nowSeconds: number;
    }
  | {
      readonly do: 'compile';
      readonly files: readonly { readonly feed: DataFeed; readonly path: string }[];
      /** Where the compiled databases are written. */
      readonly folder: string;
      readonly nowSeconds: number;
    };

/** The files of one operator. */
export interface FetchedPart {
  readonly operator: string;
  readonly paths: readonly string[];
  /** Why they are not all there; null if they are. */
  readonly fault: string | null;
}

/** Operators whose part of the file in use stayed, with the reason. */
export type FeedMerge = Readonly<Record<string, string>>;

export type FeedCheck =
  | { readonly kind: 'ok'; readonly rows: number; readonly dropped: number; readonly writtenAtSeconds: number | null }
  | { readonly kind: 'held'; readonly reason: FeedFault; readonly detail: string };

/** A publisher's clock may be ahead. Choice: by a day at most, which time zones explain. */
const AHEAD_SECONDS_MAX = 86_400;
/** Choice: a list that changes by more than this between two updates is more often cut or mixed up than true. */
const SHRINK_MIN = 0.5;
const GROWTH_MAX = 2;

/**
 * Returns what a check found, which operators a merge left as they were, or whether the databases were written: not when a file changed or
 * went away meanwhile.
 */
export function doFeedWork(request: FeedRequest): FeedCheck | FeedMerge | boolean {
  if (request.do === 'merge') return mergeParts(request);
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
  for (const name of ['networks', 'asn', 'domains'] as const) {
    const bytes = compiled[name];
    if (bytes === null) continue;
    replaceFile(join(request.folder, COMPILED_FILES[name]), bytes);
  }
  return true;
}

/** A network in a text of any form. */
const NETWORK = /(?<![\w.:])[0-9a-f:.]{3,45}\/\d{1,3}(?!\d)/gi;

function mergeParts({ parts, base, path, nowSeconds }: Extract<FeedRequest, { readonly do: 'merge' }>): FeedMerge {
  const before = operatorsOf(base);
  const merged: Record<string, readonly string[]> = { ...before };
  const left: Record<string, string> = {};
  for (const { operator, paths, fault } of parts) {
    const networks = fault === null ? paths.flatMap((one) => readFileSync(one, 'latin1').match(NETWORK) ?? []) : [];
    const known = before[operator]?.length ?? 0;
    if (fault !== null) left[operator] = fault;
    else if (networks.length === 0) left[operator] = 'no network in what it publishes';
    else if (networks.length < SHRINK_MIN * known) left[operator] = `${networks.length} networks, and ${known} before`;
    else merged[operator] = networks;
  }
  writeFileSync(path, JSON.stringify({ date: new Date(nowSeconds * 1_000).toISOString().slice(0, 10), ...merged }));
  return left;
}

/** Returns the networks of each operator in a file that was checked. */
function operatorsOf(path: string | null): Readonly<Record<string, readonly string[]>> {
  if (path === null) return {};
  const found: Record<string, readonly string[]> = {};
  for (const [operator, networks] of Object.entries(JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>))
    if (Array.isArray(networks)) found[operator] = networks.filter((one) => typeof one === 'string');
  return found;
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
  const change = rowsBefore === null ? null : `it has ${rows} rows, and ${rowsBefore} before`;
  if (change !== null && rows < SHRINK_MIN * (rowsBefore ?? 0))
    return { kind: 'held', reason: 'lost_half', detail: change };
  if (change !== null && rows > GROWTH_MAX * (rowsBefore ?? 0))
    return { kind: 'held', reason: 'doubled', detail: change };
  return { kind: 'ok', rows, dropped, writtenAtSeconds };
}
