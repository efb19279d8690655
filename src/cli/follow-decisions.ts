import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiCaller, ApiReply, ApiBody } from './api-access.ts';
import type { CommandError } from './command-outcome.ts';

/** Choice: decisions are shown within a second, and a command uses 60 of the 1,200 management calls of a window. */
const POLL_MS = 1_000;
const PAGE_ROWS = 100;
/** Choice: a page follows another one while a burst lasts; what is older is left out and counted. */
const PAGES_MAX = 20;
/** A row may come twice, so the newest ids are kept. */
const SEEN_MAX = PAGE_ROWS * PAGES_MAX;

/** One decision of the log, as `GET /v1/decisions` shows it. */
export interface LoggedRow {
  readonly request_id: string;
  readonly decision: string;
  readonly would_be?: string;
  readonly score: number;
  readonly reasons: readonly string[];
  readonly event_type: string;
  readonly occurred_at: number;
  readonly ip: string | null;
  readonly country: string | null;
  readonly path: string | null;
}

export interface FollowOptions {
  readonly api: ApiCaller;
  /** Filters of `GET /v1/decisions`. */
  readonly filter: Readonly<Record<string, string>>;
  /** Decisions of before that come first, 0 to `PAGE_ROWS`. */
  readonly before: number;
  readonly stop: AbortSignal;
  /** Called once, when the server has accepted the key. */
  readonly onStart?: () => void;
  /** Called when the server does not answer, and with null when it answers again. */
  readonly onTrouble: (trouble: CommandError | null) => void;
}

/** Errors that end by themselves. */
const PASSING: ReadonlySet<string> = new Set(['unreachable', 'overloaded', 'rate_limited', 'unexpected_answer']);

/**
 * Yields decisions as they are logged, oldest first, until `stop`. Returns the error that ended it; null at `stop`. While the server does
 * not answer it asks again, and continues after the last decision that it had.
 */
export async function* followDecisions(options: FollowOptions): AsyncGenerator<LoggedRow, CommandError | null> {
  const { api, filter, before, stop, onTrouble } = options;
  const first = await api.get(pathOf({ ...filter, limit: String(Math.max(1, before)) }));
  if (first.kind === 'error') return first;
  options.onStart?.();
  const known = rowsOf(first.body);
  const seen = new Set(known.map(({ request_id: id }) => id));
  yield* known.slice(0, before).toReversed();
  // Without a decision before, later ones are those of this second and later.
  let after = known[0]?.request_id ?? null;
  const since = String(Math.floor(Date.now() / 1000));
  let isTroubled = false;
  while (await hasWaited(stop)) {
    const reply = await readAfter(api, after === null ? { ...filter, since } : { ...filter, after });
    if (reply.kind === 'error') {
      // The decision has left the log: ALLOW is kept for 24 h.
      if (reply.code === 'not_found' && after !== null) after = null;
      else if (!PASSING.has(reply.code)) return reply;
      else if (!isTroubled) onTrouble(reply);
      isTroubled = reply.code !== 'not_found';
      continue;
    }
    if (isTroubled) onTrouble(null);
    isTroubled = false;
    for (const row of reply.rows.toReversed()) {
      if (seen.has(row.request_id)) continue;
      remember(seen, row.request_id);
      after = row.request_id;
      yield row;
    }
  }
  return null;
}

type Rows = { readonly kind: 'rows'; readonly rows: readonly LoggedRow[] };

/** Reads all pages, newest first. */
async function readAfter(api: ApiCaller, query: Readonly<Record<string, string>>): Promise<Rows | CommandError> {
  const rows: LoggedRow[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < PAGES_MAX; page++) {
    const limit = String(PAGE_ROWS);
    const reply: ApiReply = await api.get(pathOf({ ...query, limit, ...(cursor !== null && { cursor }) }));
    if (reply.kind === 'error') return reply;
    rows.push(...rowsOf(reply.body));
    const next = reply.body['next_cursor'];
    if (typeof next !== 'string') break;
    cursor = next;
  }
  return { kind: 'rows', rows };
}

function remember(seen: Set<string>, id: string): void {
  seen.add(id);
  const [oldest] = seen;
  if (seen.size > SEEN_MAX && oldest !== undefined) seen.delete(oldest);
}

function pathOf(query: Readonly<Record<string, string>>): string {
  return `/v1/decisions?${new URLSearchParams(query).toString()}`;
}

function rowsOf(body: ApiBody): readonly LoggedRow[] {
  return Array.isArray(body['data']) ? (body['data'] as readonly LoggedRow[]) : [];
}

/** Returns false if it was stopped. */
async function hasWaited(stop: AbortSignal): Promise<boolean> {
  try {
    await sleep(POLL_MS, undefined, { signal: stop });
    return true;
  } catch {
    return false;
  }
}
