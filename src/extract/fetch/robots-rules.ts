import { parseUrl } from '../../kernel/parse-url.ts';
import robots from 'robots-parser';
import { ROBOTS_SITEMAPS_MAX } from '../base/connector.ts';

/** The package declares the types of an ES module but is CommonJS, so the import is the function itself. */
const robotsParser = robots as unknown as typeof robots.default;

/** The name by which sites address this service in their robots.txt. */
export const PRODUCT_TOKEN = 'Gatehouse';

/** Bytes that are read; the rest is ignored. Source: RFC 9309, section 2.5: at least 500 KiB. */
export const ROBOTS_BYTES_MAX = 512_000;
/** Choice: a longer rule is longer than any path that is checked. */
const PATTERN_CHARACTERS_MAX = 2_048;
/**
 * Choice: limit for all rules with wildcards together; large shops have some 10,000. Each character costs a pass over the path.
 * Measured: a file made to be slow takes 0.1 s for a path of 2,000 characters; without this limit it took 5 s.
 */
const WILDCARD_CHARACTERS_MAX = 32_768;

export interface RobotsRules {
  allows(url: string): boolean;
  /** Milliseconds; null if the file has none. */
  readonly crawlDelayMs: number | null;
  /** Absolute URLs. */
  readonly sitemaps: readonly string[];
  /** Size of the file, for the limit of the cache. */
  readonly bytes: number;
}

/**
 * Parses the rules of one origin for our product token. Source: RFC 9309. The library does the matching; before that, this code handles
 * what the library omits: lines outside the standard do not separate groups, tokens end at their last valid character, equivalent escapes
 * are normalised, and the work that rules can cause is limited.
 */
export function parseRobots(origin: string, bytes: Buffer): RobotsRules {
  const file = `${origin}/robots.txt`;
  const lines = linesOf(bytes);
  const group = groupOf(lines);
  const matcher = robotsParser(file, ['User-agent: *', ...boundedRules(group)].join('\n'));
  return {
    allows: (url) => isRobotsFile(url) || matcher.isAllowed(comparable(url), PRODUCT_TOKEN) !== false,
    crawlDelayMs: delayOf(group),
    sitemaps: sitemapsOf(lines, file),
    bytes: bytes.length,
  };
}

/** Allows everything: there is no robots.txt. */
export const NO_RULES: RobotsRules = { allows: () => true, crawlDelayMs: null, sitemaps: [], bytes: 0 };

interface Line {
  readonly name: string;
  readonly value: string;
}

const NAMES = new Set(['user-agent', 'allow', 'disallow', 'crawl-delay', 'sitemap']);

const WITH_COLON = /^\s*([A-Za-z-]+)\s*:(.*)/;
/**
 * `Disallow /path` without a colon, as Google's parser accepts it: a name and one value, separated by white space. Choice: a value that
 * should be a path or a URL must look like one, because two words can occur in any text.
 */
const WITHOUT_COLON =
  /^\s*(?=(?:user-agent|crawl-delay)\s|(?:allow|disallow|sitemap)\s+(?:[/*]|https?:))([A-Za-z-]+)\s+(\S+)\s*$/i;

function linesOf(bytes: Buffer): readonly Line[] {
  const text = readable(bytes)
    .toString('utf8')
    .replace(/^\uFEFF/, '');
  return text.split(/\r\n|\r|\n/).flatMap((line) => {
    const [said = ''] = line.split('#', 1);
    const [, name = '', value = ''] = WITH_COLON.exec(said) ?? WITHOUT_COLON.exec(said) ?? [];
    const known = name.toLowerCase();
    return NAMES.has(known) ? [{ name: known, value: value.trim() }] : [];
  });
}

/** Returns the bytes up to the limit, without the line that the limit cuts: half a path disallows more than the whole one. */
function readable(bytes: Buffer): Buffer {
  if (bytes.length <= ROBOTS_BYTES_MAX) return bytes;
  const head = bytes.subarray(0, ROBOTS_BYTES_MAX);
  return head.subarray(0, Math.max(head.lastIndexOf(0x0a), head.lastIndexOf(0x0d)) + 1);
}

/**
 * Returns the lines of all groups that name our token. If there are none, returns those of the groups for all agents. A group ends where a
 * `User-agent` line follows a rule, and nowhere else.
 */
function groupOf(lines: readonly Line[]): readonly Line[] {
  const ours: Line[] = [];
  const everyones: Line[] = [];
  let isNamed = false;
  let hasRules = false;
  let agents = new Set<string>();
  for (const line of lines) {
    if (line.name === 'user-agent') {
      if (hasRules) agents = new Set();
      hasRules = false;
      agents.add(token(line.value));
      isNamed ||= agents.has(OUR_TOKEN);
    } else if (line.name !== 'sitemap') {
      hasRules ||= isRule(line.name);
      if (agents.has(OUR_TOKEN)) ours.push(line);
      if (agents.has('*')) everyones.push(line);
    }
  }
  return isNamed ? ours : everyones;
}

/**
 * Choice: beyond the limit, a Disallow rule with wildcards is cut at its first wildcard, so that it disallows more, and an Allow rule is
 * omitted. A file that is too long to evaluate must not open what it closes.
 */
function boundedRules(group: readonly Line[]): readonly string[] {
  let wildcardCharacters = 0;
  const rules = new Set<string>();
  for (const { name, value } of group) {
    if (!isRule(name)) continue;
    const pattern = comparablePath(value).replaceAll(/\*{2,}/g, '*');
    const first = pattern.indexOf('*');
    const rule = `${name}: ${pattern}`;
    if (rules.has(rule)) continue;
    if (first >= 0) wildcardCharacters += pattern.length;
    const isPlain =
      pattern.length <= PATTERN_CHARACTERS_MAX && (first < 0 || wildcardCharacters <= WILDCARD_CHARACTERS_MAX);
    if (isPlain) rules.add(rule);
    else if (name === 'disallow') rules.add(`${name}: ${pattern.slice(0, first < 0 ? PATTERN_CHARACTERS_MAX : first)}`);
  }
  return [...rules];
}

function isRule(name: string): boolean {
  return name === 'allow' || name === 'disallow';
}

/** The last numeric value counts. */
function delayOf(group: readonly Line[]): number | null {
  const seconds = group
    .filter(({ name, value }) => name === 'crawl-delay' && /^\d+(?:\.\d+)?$/.test(value))
    .map(({ value }) => Number(value))
    .at(-1);
  return seconds === undefined || seconds <= 0 ? null : Math.round(seconds * 1000);
}

const OUR_TOKEN = PRODUCT_TOKEN.toLowerCase();

/** `Gatehouse/1.0` and `Gatehouse (x)` both have the token `gatehouse`. Source: RFC 9309, section 2.2.1. */
function token(value: string): string {
  return value.startsWith('*') ? '*' : (/^[A-Za-z_-]+/.exec(value)?.[0] ?? '').toLowerCase();
}

function sitemapsOf(lines: readonly Line[], file: string): readonly string[] {
  const urls = lines.filter(({ name }) => name === 'sitemap').map(({ value }) => parseUrl(value, file)?.href ?? '');
  return [...new Set(urls)].filter((url) => /^https?:/.test(url)).slice(0, ROBOTS_SITEMAPS_MAX);
}

/** robots.txt itself is always allowed. Source: RFC 9309, section 2.2.2. */
function isRobotsFile(url: string): boolean {
  return parseUrl(url)?.pathname === '/robots.txt';
}

function comparable(url: string): string {
  const { origin, pathname, search } = new URL(url);
  return `${origin}${comparablePath(pathname + search)}`;
}

/** Characters that the URL standard leaves unescaped in a path but that the library escapes in a rule. */
const ESCAPED_BY_LIBRARY = /[[\]^|"<>`{}\\ ]|[^\0-\x7f]+/g;
const UNRESERVED = /[A-Za-z0-9\-._~]/;

/**
 * Normalises equivalent spellings: unreserved characters unescaped, others escaped in upper case, and in a query the escapes of `:` and `/`
 * unescaped. Source: RFC 9309, section 2.2.2 and its table.
 */
function comparablePath(path: string): string {
  const escaped = path.replaceAll(/%[0-9a-fA-F]{2}/g, spelling).replaceAll(ESCAPED_BY_LIBRARY, encodeURIComponent);
  const at = escaped.indexOf('?');
  if (at < 0) return escaped;
  return escaped.slice(0, at) + escaped.slice(at).replaceAll('%3A', ':').replaceAll('%2F', '/');
}

function spelling(escape: string): string {
  const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
  return UNRESERVED.test(character) ? character : escape.toUpperCase();
}
