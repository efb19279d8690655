import { TOP_ROWS_MAX, TOP_SUBJECTS } from '../kernel/history-limits.ts';
import { QUERIES } from '../contract/routes.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import type { DecisionReader } from '../history/decision-reader.ts';
import { linksOf } from '../history/link-summary.ts';
import { TopCounter, TopTables, type TopSubject } from '../history/top-counter.ts';
import { DECISIONS } from '../risk/decision.ts';
import { readLinkTail } from '../risk/link-tail.ts';
import { BUSY } from './busy.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { EndpointHandler } from './kit/endpoint-types.ts';
import { readQuery } from './query.ts';
import { readRange } from './time-range.ts';

/** Subjects that are shown as their own text. */
const TEXTS: ReadonlySet<string> = new Set(['country', 'crawler', 'event_type', 'reason']);
/** Choice: more than there are crawlers that are known by name, in all states of their proof. */
const CRAWLERS_MAX = 100;

/** The endpoint for the most frequent subjects of decisions. Source: contract, 9.10. */
export function topHandlers(
  endpoint: EndpointFactory,
  { decisions }: { readonly decisions: Pick<DecisionReader, 'scan' | 'readAt'> },
): SecretHandlers<'readTop'> {
  /** The tables of the last call, for the next one: 30 MB that are allocated again for each call cost a garbage collection. */
  let spare: TopTables | null = new TopTables();
  const giveBack = (tables: TopTables): void => {
    tables.reset();
    spare = tables;
  };

  const readTop: EndpointHandler = async ({ query, caller, nowMs, nowSeconds, slices, coverage }) => {
    const read = readQuery(query, QUERIES.readTop);
    if (read.kind === 'problem') return read;
    const { by, count } = read.value;
    const range = readRange(read.value, nowSeconds);
    if (range.kind === 'problem') return range;
    const { from, to } = range;
    const tables = spare ?? new TopTables();
    spare = null;
    const counter = new TopCounter(by, count, tables);
    const wanted = { sinceMs: from * 1000, untilMs: to * 1000, nowMs, rowsMax: TOP_ROWS_MAX, coverage };
    const scanned = await decisions.scan(caller.customer, wanted, (record, bytes, at, end, occurredAtMs, block) => {
      counter.add(record, bytes, { block, at, end }, occurredAtMs);
      return false;
    });
    if (scanned.kind === 'busy') {
      giveBack(tables);
      return BUSY;
    }
    const found = await counter.top(by === 'crawler' ? CRAWLERS_MAX : TOP_SUBJECTS, slices);
    giveBack(tables);
    const rows = found.flatMap((subject) => {
      const shown = TEXTS.has(by) ? textOf(by, subject.key) : linkOf(subject, decisions);
      return shown === null ? [] : [{ ...shown, ...showCounts(subject) }];
    });
    const body = { by, count, from, to, decisions: scanned.rows, is_truncated: scanned.isTruncated, rows };
    return { kind: 'json', status: 200, body };
  };

  return { readTop: endpoint({}, readTop) };
}

/** A crawler's key has its name, its proof, its operator and its purpose; see `TopCounter`. */
function textOf(by: string, key: string): Readonly<Record<string, unknown>> {
  if (by !== 'crawler') return { kind: by, id: key };
  const [id, verified, operator, purpose] = key.split(' ');
  return { kind: by, id, verified: verified === '' ? null : verified, operator, purpose };
}

/** Returns the link as decisions show it; null if its decision was removed meanwhile. */
function linkOf(
  { key, place }: TopSubject,
  decisions: Pick<DecisionReader, 'readAt'>,
): { readonly kind: string; readonly id: string } | null {
  const record = place === null ? null : decisions.readAt(place);
  if (record === null || record.links === null) return null;
  const at = readLinkTail(record.links).findIndex(({ hash }) => hash === key);
  return linksOf(record)[at] ?? null;
}

function showCounts(subject: TopSubject): Readonly<Record<string, unknown>> {
  const { count, decisions, challenged, blocked, worst, lastSeenMs } = subject;
  return {
    count,
    decisions,
    challenged,
    blocked,
    worst: DECISIONS[worst] ?? 'ALLOW',
    last_seen: Math.floor(lastSeenMs / 1000),
  };
}
