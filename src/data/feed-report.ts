import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { feedSnapshotFolder } from '../kernel/programs.ts';
import { allFeeds, FEEDS_FOLDER, type FeedStates, readFeedStates } from './feed-folder.ts';
import { FEEDS, type OperatorSource } from './manifest.ts';
import { SHIPPED_FILE, type ShippedFeed } from './shipped-feeds.ts';

/**
 * State of one feed, for `/readyz` and `gatehouse data list`. `old`: it is used, and older than its limit; `held`: its newest file was
 * refused, and the one before is used; `absent`: nothing of it is used.
 */
export interface FeedReport {
  readonly version: string | null;
  readonly age_days: number | null;
  readonly state: 'ok' | 'old' | 'held' | 'absent';
  readonly rows: number | null;
  /** Text for operators: what the feed misses. */
  readonly detail: string;
}

const DAY_MS = 86_400_000;

/** Returns feed → report. Never throws: with a damaged state file every feed is the shipped one, and its detail names the fault. */
export function feedReports(dataDir: string, nowMs: number): Readonly<Record<string, FeedReport>> {
  const { states, fault } = statesOrFault(dataDir);
  const shipped = shippedFeeds();
  const reports: Record<string, FeedReport> = {};
  for (const feed of allFeeds(states)) {
    const { kept = null, held = null } = states.feeds[feed.name] ?? {};
    const used = kept !== null && existsSync(join(dataDir, FEEDS_FOLDER, feed.file)) ? kept : null;
    const from = used ?? shipped[feed.name] ?? null;
    const ageDays = from === null ? null : Math.max(0, Math.floor((nowMs - Date.parse(from.version)) / DAY_MS));
    const isOld = ageDays !== null && ageDays > feed.oldAfterDays;
    const details = [
      ...(from === null ? [feed.without] : []),
      ...(from !== null && used === null ? ['the copy that came with the service'] : []),
      ...(isOld ? [`older than ${feed.oldAfterDays} days: newer networks are missed`] : []),
      ...(held === null ? [] : [`the newest file is held back (${held.reason}): ${held.detail}`]),
      ...(fault === null ? [] : [fault]),
    ];
    const state = held !== null ? 'held' : from === null ? 'absent' : isOld ? 'old' : 'ok';
    reports[feed.name] = {
      version: from?.version ?? null,
      age_days: ageDays,
      state,
      rows: from?.rows ?? null,
      detail: details.join('; '),
    };
  }
  return reports;
}

/**
 * Returns whether the published ranges of an operator of crawlers were fetched, and not so long ago that newer ones would be missed: then
 * an address outside of them is not the operator's.
 */
export function hasFreshRanges(dataDir: string, operator: string, nowMs: number): boolean {
  const feed = FEEDS.find(({ marks }) => marks === 'crawler');
  if (feed === undefined || !Array.isArray(feed.source)) return false;
  const sources: readonly OperatorSource[] = feed.source;
  const { kept = null, held = null } = statesOrFault(dataDir).states.feeds[feed.name] ?? {};
  if (kept === null || held !== null || !sources.some((one) => one.operator === operator)) return false;
  return (nowMs - Date.parse(kept.version)) / DAY_MS <= feed.oldAfterDays;
}

function statesOrFault(dataDir: string): { readonly states: FeedStates; readonly fault: string | null } {
  try {
    return { states: readFeedStates(dataDir), fault: null };
  } catch {
    return { states: { feeds: {}, custom: [] }, fault: 'the states of the feeds cannot be read' };
  }
}

let shippedOnce: Readonly<Record<string, ShippedFeed>> | null = null;

function shippedFeeds(): Readonly<Record<string, ShippedFeed>> {
  shippedOnce ??= JSON.parse(readFileSync(new URL(SHIPPED_FILE, feedSnapshotFolder()), 'utf8')) as Readonly<
    Record<string, ShippedFeed>
  >;
  return shippedOnce;
}
