/**
 * The feeds: facts about networks and mail domains that others publish. Each names where it comes from, under which licence, and what it
 * must look like to be used.
 */

/** How a file is written: a network a line, networks with their autonomous systems, JSON by operator, or a mail domain a line. */
type FeedForm = 'lines' | 'asn' | 'operators' | 'domains';

/** Flags that a feed may set on its networks: fields of GeoIP databases. */
export const FEED_KINDS = ['tor', 'vpn', 'hosting', 'proxy', 'relay'] as const;
export type FeedKind = (typeof FEED_KINDS)[number];

/** Flags that a feed may set on mail domains. */
export type MailDomainMark = 'disposable' | 'free_mail';

/** Where one operator publishes its networks: each file is JSON, CSV or lines, of which every network counts. */
export interface OperatorSource {
  readonly operator: string;
  readonly urls: readonly string[];
}

export interface DataFeed {
  readonly name: string;
  /** File name in an offline folder. */
  readonly file: string;
  readonly form: FeedForm;
  /** What the record of its rows says; `crawler`: the operator; `asn`: number and name of the autonomous system. */
  readonly marks: FeedKind | 'crawler' | 'asn' | MailDomainMark;
  /**
   * One address, or those of several operators; an operator of the file in use that is not among them stays as it is. Null: there is no
   * address that anybody may fetch; the file comes by an offline folder.
   */
  readonly source: string | readonly OperatorSource[] | null;
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

/** Source: the pages of the operators about the addresses of their machines. Microsoft's address changes every week. */
const CLOUDS: readonly OperatorSource[] = [
  { operator: 'amazon', urls: ['https://ip-ranges.amazonaws.com/ip-ranges.json'] },
  { operator: 'digitalocean', urls: ['https://www.digitalocean.com/geo/google.csv'] },
  { operator: 'google', urls: ['https://www.gstatic.com/ipranges/cloud.json'] },
  { operator: 'linode', urls: ['https://geoip.linode.com/'] },
  { operator: 'oracle', urls: ['https://docs.oracle.com/en-us/iaas/tools/public_ip_ranges.json'] },
  { operator: 'vultr', urls: ['https://geofeed.constant.com/'] },
];

const GOOGLE_CRAWLERS = 'https://developers.google.com/static/crawling/ipranges';
/**
 * Source: the pages of the operators about their crawlers. Google's list of fetchers that its customers run is left out: anybody can rent
 * those. Meta, Telegram and X publish no list of this form.
 */
const CRAWLERS: readonly OperatorSource[] = [
  { operator: 'bing', urls: ['https://www.bing.com/toolbox/bingbot.json'] },
  {
    operator: 'duckduckgo',
    urls: ['https://duckduckgo.com/duckduckbot.json', 'https://duckduckgo.com/duckassistbot.json'],
  },
  {
    operator: 'google',
    urls: [
      `${GOOGLE_CRAWLERS}/common-crawlers.json`,
      `${GOOGLE_CRAWLERS}/special-crawlers.json`,
      `${GOOGLE_CRAWLERS}/user-triggered-fetchers-google.json`,
    ],
  },
  {
    operator: 'openai',
    urls: [
      'https://openai.com/gptbot.json',
      'https://openai.com/searchbot.json',
      'https://openai.com/chatgpt-user.json',
    ],
  },
  {
    operator: 'perplexity',
    urls: ['https://www.perplexity.ai/perplexitybot.json', 'https://www.perplexity.ai/perplexity-user.json'],
  },
];

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
    source: CLOUDS,
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
    source: CRAWLERS,
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
  {
    name: 'disposable',
    file: 'disposable.txt',
    form: 'domains',
    marks: 'disposable',
    source:
      'https://raw.githubusercontent.com/disposable-email-domains/disposable-email-domains/main/disposable_email_blocklist.conf',
    licence: 'CC0 1.0',
    isShipped: true,
    rowsMin: 1_000,
    rowsMax: 300_000,
    oldAfterDays: 90,
    without: 'newer services for disposable mailboxes are not seen',
  },
  {
    name: 'free_mail',
    file: 'free_mail.txt',
    form: 'domains',
    marks: 'free_mail',
    source: null,
    licence: 'ISC and MIT (the shipped copy)',
    isShipped: true,
    rowsMin: 50,
    rowsMax: 100_000,
    oldAfterDays: 365,
    without: 'rules about free mail providers see none',
  },
];

/** Choice: several times the largest list that is published. */
export const FEED_BYTES_MAX = 64 * 1024 * 1024;
/** A feed never holds a larger network. Choice: no single publisher has one. */
export const WIDEST_PREFIX = { 4: 8, 6: 16 } as const;
