import { parseDomain } from '../kernel/registrable-domain.ts';
import { readIp } from '../risk/signals/ip.ts';
import { MAIL_DOMAIN_BITS, mailDomainBytes, mailDomainName } from '../risk/signals/mail-domains.ts';
import { type DataFeed, FEED_ROWS_MAX, WIDEST_PREFIX } from './manifest.ts';
import { type NetworkBits, type NetworkRecord, readNetworkBits } from './network-tree.ts';
import { networksOfRange } from './network-range.ts';

/** One network of a feed with what the feed says about it. A mail domain takes the network that stands for it. */
export interface FeedRow {
  readonly bits: NetworkBits;
  readonly record: NetworkRecord;
}

/** What a file has, or why it is not used. `reason` is stable: `gatehouse data update` prints it. */
export type FeedReading =
  | {
      readonly kind: 'ok';
      readonly rows: readonly FeedRow[];
      /** Lines that are no network or domain, or one that no feed may hold. */
      readonly dropped: number;
      /** When the publisher wrote it, Unix seconds; null if it says nothing. */
      readonly writtenAtSeconds: number | null;
    }
  | { readonly kind: 'held'; readonly reason: FeedFault; readonly detail: string };

export type FeedFault =
  | 'too_large'
  | 'too_many_rows'
  | 'too_few_rows'
  | 'too_deep'
  | 'not_utf8'
  | 'not_json'
  | 'malformed'
  | 'from_future'
  | 'lost_half'
  | 'doubled'
  | 'unreadable';

/** Choice: more than this share of lines that cannot be used means that the file is something else. */
const DROPPED_SHARE_MAX = 0.05;
const DEPTH_MAX = 16;
const OPERATOR = /^[a-z][a-z0-9_-]{0,31}$/;

interface Collected {
  readonly rows: FeedRow[];
  dropped: number;
  writtenAtSeconds: number | null;
}

/** Reads the bytes of a feed's file. Total: what a publisher sends is not trusted. */
export function readFeedFile(feed: DataFeed, bytes: Uint8Array): FeedReading {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return held('not_utf8', 'it is not UTF-8');
  }
  if (text.includes('\0')) return held('not_utf8', 'it has zero bytes, as UTF-16 has them');
  const collected: Collected = { rows: [], dropped: 0, writtenAtSeconds: null };
  const fault = feed.form === 'operators' ? readOperators(feed, text, collected) : readLines(feed, text, collected);
  if (fault !== null) return fault;
  const { rows, dropped, writtenAtSeconds } = collected;
  if (rows.length < feed.rowsMin)
    return held('too_few_rows', `it has ${rows.length} rows; this feed has at least ${feed.rowsMin}`);
  if (rows.length > feed.rowsMax)
    return held('too_many_rows', `it has ${rows.length} rows; this feed has at most ${feed.rowsMax}`);
  if (dropped > DROPPED_SHARE_MAX * (rows.length + dropped))
    return held('malformed', `${dropped} of its ${rows.length + dropped} lines are nothing that this feed may hold`);
  return { kind: 'ok', rows, dropped, writtenAtSeconds };
}

type Held = Extract<FeedReading, { readonly kind: 'held' }>;

function held(reason: FeedFault, detail: string): Held {
  return { kind: 'held', reason, detail };
}

const TOO_MANY = held('too_many_rows', `it has more than ${FEED_ROWS_MAX} rows`);

/** `# date: 2026-08-22` or `# Updated: 2026-08-22T10:00:00Z` in a comment. */
const DATE_COMMENT = /^[#;].*?\b(\d{4}-\d\d-\d\d(?:T[\d:.]+Z?)?)/;

function readLines(feed: DataFeed, text: string, collected: Collected): Held | null {
  let from = 0;
  let count = 0;
  while (from < text.length) {
    const end = text.indexOf('\n', from);
    const line = text.slice(from, end < 0 ? text.length : end).trim();
    from = end < 0 ? text.length : end + 1;
    if (line === '') continue;
    if (line.startsWith('#') || line.startsWith(';')) {
      collected.writtenAtSeconds ??= secondsOf(DATE_COMMENT.exec(line)?.[1]);
      continue;
    }
    count += 1;
    if (count > FEED_ROWS_MAX) return TOO_MANY;
    if (feed.form === 'asn') addAsnLine(line, count === 1, collected);
    else if (feed.form === 'domains') addDomain(line, feed.marks, collected);
    else addNetwork(/^[^\s,;#]*/.exec(line)?.[0] ?? '', { [feed.marks]: true }, collected);
  }
  return null;
}

/**
 * The largest providers of honest mailboxes. A list that names one as disposable is wrong there: the line is dropped. Choice: by what a
 * mistake would touch.
 */
const NEVER_DISPOSABLE: ReadonlySet<string> = new Set([
  'gmail.com',
  'googlemail.com',
  'outlook.com',
  'hotmail.com',
  'live.com',
  'msn.com',
  'yahoo.com',
  'icloud.com',
  'me.com',
  'aol.com',
  'gmx.de',
  'gmx.net',
  'web.de',
  'proton.me',
  'protonmail.com',
  'qq.com',
  '163.com',
  'mail.ru',
]);

/** A mail domain. A public suffix such as `co.uk` is dropped: it would be every domain below it. */
function addDomain(line: string, marks: DataFeed['marks'], collected: Collected): void {
  const text = /^[^\s,;#]*/.exec(line)?.[0] ?? '';
  const name = mailDomainName(text);
  if (name === null || parseDomain(name) === null || (marks === 'disposable' && NEVER_DISPOSABLE.has(name))) {
    collected.dropped += 1;
    return;
  }
  collected.rows.push({ bits: { bytes: mailDomainBytes(name), length: MAIL_DOMAIN_BITS }, record: { [marks]: true } });
}

const ASN_MAX = 4_294_967_295;
const ORGANISATION_CHARACTERS_MAX = 64;

/** `network,number,name`, or `first,last,number,…,name` with commas or tabs. A first line without a network names the columns. */
function addAsnLine(line: string, isFirst: boolean, collected: Collected): void {
  const cells = line.split(line.includes('\t') ? '\t' : ',').map((cell) => cell.trim().replace(/^"|"$/g, ''));
  const [first = '', second = '', third = ''] = cells;
  const isRange = !first.includes('/');
  const asn = Number((isRange ? third : second).replace(/^AS/i, ''));
  if (!Number.isInteger(asn) || asn < 0 || asn > ASN_MAX) {
    if (!isFirst) collected.dropped += 1;
    return;
  }
  // Numbers of lists for networks that nobody announces.
  if (asn === 0) return;
  const record = {
    autonomous_system_number: asn,
    autonomous_system_organization: (cells.at(-1) ?? '').slice(0, ORGANISATION_CHARACTERS_MAX),
  };
  if (!isRange) return addNetwork(first, record, collected);
  const networks = networksOfRange(first, second);
  if (networks === null) collected.dropped += 1;
  else for (const network of networks) addNetwork(network, record, collected);
}

/** An object of operators, or what one operator publishes: every text in it that is a network counts. */
function readOperators(feed: DataFeed, text: string, collected: Collected): Held | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return held('not_json', 'it is not JSON');
  }
  if (typeof parsed !== 'object' || parsed === null) return held('malformed', 'it is no object');
  const walk = (value: unknown, operator: string, depth: number): Held | null => {
    if (depth > DEPTH_MAX) return held('too_deep', `it is nested deeper than ${DEPTH_MAX}`);
    if (collected.rows.length + collected.dropped > FEED_ROWS_MAX) return TOO_MANY;
    if (typeof value === 'string') {
      if (/^[0-9a-f:.]+\/\d+$/i.test(value)) addNetwork(value, recordOf(feed, operator), collected);
      return null;
    }
    if (typeof value !== 'object' || value === null) return null;
    for (const member of Object.values(value)) {
      const fault = walk(member, operator, depth + 1);
      if (fault !== null) return fault;
    }
    return null;
  };
  for (const [name, member] of Object.entries(parsed)) {
    if (/^(?:creationtime|createdate|date)$/i.test(name)) {
      collected.writtenAtSeconds ??= secondsOf(typeof member === 'string' ? member : undefined);
      continue;
    }
    const fault = walk(member, OPERATOR.test(name) ? name : 'other', 1);
    if (fault !== null) return fault;
  }
  return null;
}

function recordOf({ marks }: DataFeed, operator: string): NetworkRecord {
  return marks === 'crawler' ? { crawler: operator } : { [marks]: true };
}

function addNetwork(text: string, record: NetworkRecord, collected: Collected): void {
  const network = readNetworkBits(text);
  // No network of a feed is partly private, as these are blocks of their own: its first address says what it is.
  const ip = readIp(text.split('/')[0] ?? '');
  const isPublic = ip.kind === 'valid' && ip.public;
  if (network === null || network.prefix < WIDEST_PREFIX[network.version] || !isPublic) collected.dropped += 1;
  else collected.rows.push({ bits: network, record });
}

/** Unix seconds; null for text that is no date. AWS writes `2026-08-22-10-00-00`. */
function secondsOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const atMs = Date.parse(text.replace(/^(\d{4}-\d\d-\d\d)-(\d\d)-(\d\d)-(\d\d)$/, '$1T$2:$3:$4Z'));
  return Number.isNaN(atMs) ? null : Math.floor(atMs / 1_000);
}
