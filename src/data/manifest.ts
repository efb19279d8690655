/**
 * The feeds: facts about networks that others publish. Each names where it comes from, under which licence, and what it must look like to
 * be used.
 */

/** How a file is written: a network a line, networks with their autonomous systems, or JSON by operator. */
type FeedForm = 'lines' | 'asn' | 'operators';

/** Flags that a feed may set on its networks: fields of GeoIP databases. */
export const FEED_KINDS = ['tor', 'vpn', 'hosting', 'proxy', 'relay'] as const;
export type FeedKind = (typeof FEED_KINDS)[number];

export interface DataFeed {
  readonly name: string;
  /** File name in an offline folder. */
  readonly file: string;
  readonly form: FeedForm;
  /** What the record of its networks says; `crawler`: the operator; `asn`: number and name of the autonomous system. */
  readonly marks: FeedKind | 'crawler' | 'asn';
  /** Null: there is no address that anybody may fetch; the file comes by an offline folder. */
  readonly source: string | null;
  readonly licence: string;
  /** Whether a snapshot is part of this package. */
  readonly isShipped: boolean;
  /** Choice: outside of these numbers of rows a file is not this feed. */
  readonly rowsMin: number;
  readonly rowsMax: number;
  /** Choice: at this age what the feed misses matters. */
  readonly oldAfterDays: number;
  /** What an installation does not see without it; text for operators. */
  readonly without: string;
}

export const FEED_ROWS_MAX = 2_000_000;

export const FEEDS: readonly DataFeed[] = [
  {
    name: 'tor',
    file: 'tor.txt',
    form: 'lines',
    marks: 'tor',
    source: 'https://check.torproject.org/torbulkexitlist',
    licence: 'published by the Tor Project for this use; the shipped networks are derived from an MIT-licensed list',
    isShipped: true,
    rowsMin: 20,
    rowsMax: 50_000,
    oldAfterDays: 7,
    without: 'payments from Tor are not seen',
  },
  {
    name: 'vpn',
    file: 'vpn.txt',
    form: 'lines',
    marks: 'vpn',
    source: null,
    licence: 'MIT (the shipped copy)',
    isShipped: true,
    rowsMin: 100,
    rowsMax: FEED_ROWS_MAX,
    oldAfterDays: 180,
    without: 'commercial VPN services are not seen',
  },
  {
    name: 'clouds',
    file: 'clouds.json',
    form: 'operators',
    marks: 'hosting',
    source: 'https://ip-ranges.amazonaws.com/ip-ranges.json',
    licence: 'published by the operators; the shipped copy is CC0 1.0',
    isShipped: true,
    rowsMin: 100,
    rowsMax: 500_000,
    oldAfterDays: 180,
    without: 'machines in clouds look like people',
  },
  {
    name: 'crawlers',
    file: 'crawlers.json',
    form: 'operators',
    marks: 'crawler',
    source: null,
    licence: 'published by the operators; the shipped copy is CC0 1.0',
    isShipped: true,
    rowsMin: 10,
    rowsMax: 100_000,
    oldAfterDays: 180,
    without: 'a forged crawler looks like a real one',
  },
  {
    name: 'asn',
    file: 'asn.csv',
    form: 'asn',
    marks: 'asn',
    source: null,
    licence: 'that of the file',
    isShipped: false,
    rowsMin: 1_000,
    rowsMax: FEED_ROWS_MAX,
    oldAfterDays: 90,
    without: 'rules about autonomous systems see hosting companies only',
  },
];

/** Choice: several times the largest list that is published. */
export const FEED_BYTES_MAX = 64 * 1024 * 1024;
/** A feed never holds a larger network. Choice: no single publisher has one. */
export const WIDEST_PREFIX = { 4: 8, 6: 16 } as const;
