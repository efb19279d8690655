import type { JsonAnswer, JsonRequest, JsonValue, LongText, Page, Source, TextRequest } from '../base/connector.ts';
import { decodeText, textDecoder } from '../read/charset.ts';
import { refreshTarget } from '../read/refresh.ts';
import { isHtmlPage, mediaType, parseJsonBody, requirePage, requireText } from './content.ts';
import { type Answered, CountedFetches, type FetchAsk } from './counted-fetches.ts';
import { decompressInPieces } from './decompress.ts';
import { FetchFailure, statusFault } from './source-failure.ts';
import { undecodable } from './follow.ts';
import type { FetchParts, SourceUsage } from './fetch-parts.ts';
import { withFirstPieces, type Pieces } from './pieces.ts';
import { isLoginPage, readFetchUrl } from './redirects.ts';
import { findRobots } from './robots.ts';
import { type JobSession, SessionJar } from './fetch-session.ts';
import type { CookieChange } from './session-cookies.ts';

/** Maximum size of a page or an API response, on the wire and decompressed. Choice: the largest pages of common sites have some 5 MiB. */
const PAGE_BYTES_MAX = 10 * 1_048_576;
/** Maximum size of a sitemap. Source: the sitemaps protocol's 50 MB. */
const LONG_TEXT_BYTES_MAX = 50 * 1_048_576;
/** Choice: enough to detect a text's encoding if it is not declared. */
const HEAD_BYTES = 65_536;
const BEGINNING_CHARACTERS = 4_096;
/** Choice: pages of this kind one after the other; usual ones lead to their target at once. */
const REFRESHES_MAX = 3;

export interface SourceParts extends FetchParts {
  /** null: not logged in. */
  readonly session: JobSession | null;
  /** Base address that replaces the connector's own, set by an operator or a test; null for its own. */
  readonly base: string | null;
}

/** A source for the steps of one job, or for one step. */
export interface CountedSource extends Source {
  usage(): SourceUsage;
  /** Returns the source's changes to the session's cookies since the last call; null if there are none. */
  takeCookies(): readonly CookieChange[] | null;
}

/**
 * Creates one job's access to the network: rate-limited, guarded, retried and counted. Its methods reject with `SourceFailure`s, or as the
 * rate limiter's token does if that rejects.
 */
export function createSource(parts: SourceParts): CountedSource {
  const session = parts.session === null ? null : new SessionJar(parts.session);
  const fetches = new CountedFetches(parts, session);

  return {
    page: (url) => fetchPage(fetches, url, session !== null),
    json: (url, options = {}) =>
      fetches.fetch(url, jsonAsk(options), ({ body, contentType, ...answer }): JsonAnswer => ({
        url: answer.url,
        status: answer.status,
        body: jsonOf(answer, contentType, body, session !== null),
        headers: answer.headers,
      })),
    text: (url, options = {}) =>
      fetches.fetch(
        url,
        textAsk(options),
        (answer) => {
          requireText(answer.url, answer.contentType, answer.body);
          return toPage(answer);
        },
        // The connector requested a text of an interface. It may have received a page, which costs as much as any other page.
        ({ contentType, text }) => (isHtmlPage(contentType, text) ? 'standard' : 'basic'),
      ),
    async longText<T>(url: string, read: (text: LongText) => Promise<T>): Promise<T> {
      const readOf = async (answer: Answered): Promise<{ readonly value: T; readonly isPage: boolean }> => {
        try {
          const text = await toLongText(answer);
          return { value: await read(text), isPage: isHtmlPage(text.contentType, text.beginning) };
        } finally {
          answer.rest?.leave();
        }
      };
      const { value } = await fetches.fetch(url, LONG_TEXT, readOf, ({ isPage }) => (isPage ? 'standard' : 'basic'));
      return value;
    },
    async robotsSitemaps(url) {
      const target = readFetchUrl(url);
      if (target === null) return [];
      const answer = await findRobots(parts, target, fetches.onBytes).catch(() => null);
      return answer?.kind === 'rules' ? answer.rules.sitemaps : [];
    },
    base: (fallback) => parts.base ?? fallback,
    usage: () => fetches.usage,
    takeCookies: () => session?.takeChanges() ?? null,
  };
}

/** Follows pages that only lead to another one, which are free as redirects are. Each address is checked like any other. */
async function fetchPage(fetches: CountedFetches, url: string, hasSession: boolean): Promise<Page> {
  let at = url;
  for (let hops = 0; ; hops++) {
    const found = await fetches.fetch(at, PAGE, (answer) => {
      requirePage(answer.url, answer.contentType, answer.body);
      return toPage(answer);
    });
    const next = refreshTarget(found);
    if (next === null) return found;
    fetches.refund();
    if (hops >= REFRESHES_MAX) {
      const detail = `${url}: more than ${REFRESHES_MAX} pages that lead to another one`;
      throw fetches.failed(new FetchFailure('refused', detail));
    }
    if (isLoginPage(next) && !isLoginPage(url))
      throw fetches.failed(new FetchFailure(hasSession ? 'session' : 'login', `${at} leads to ${next}`));
    at = next;
  }
}

const PAGE: FetchAsk = {
  accept: 'text/html, application/xhtml+xml;q=0.9, application/xml;q=0.8, text/*;q=0.7, */*;q=0.1',
  headers: {},
  bytesMax: PAGE_BYTES_MAX,
  opensGzip: false,
  leavesPacked: false,
  robots: true,
  allowStatuses: [],
  tier: 'standard',
};

function jsonAsk({ headers = {}, allowStatuses = [] }: JsonRequest): FetchAsk {
  const { accept = 'application/json', ...own } = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  return { ...PAGE, accept, headers: own, robots: false, allowStatuses, tier: 'basic' };
}

const ACCEPT_TEXT = 'text/*, application/xml, */*;q=0.5';

const LONG_TEXT: FetchAsk = {
  ...PAGE,
  accept: ACCEPT_TEXT,
  bytesMax: LONG_TEXT_BYTES_MAX,
  opensGzip: true,
  leavesPacked: true,
  tier: 'basic',
};

function textAsk({ accept = ACCEPT_TEXT, allowStatuses = [], robots = true }: TextRequest): FetchAsk {
  return { ...PAGE, accept, opensGzip: true, robots, allowStatuses, tier: 'basic' };
}

/** An accepted error status whose body is no JSON, such as a firewall's page, is the failure that its status says. */
function jsonOf(
  { url, status }: Pick<Answered, 'url' | 'status'>,
  type: string,
  body: Buffer,
  hasSession: boolean,
): JsonValue {
  try {
    return parseJsonBody(url, type, body);
  } catch (error) {
    throw status < 400 ? error : new FetchFailure(statusFault(status, hasSession), `${url}: status ${status}`);
  }
}

function toPage({ url, status, headers, contentType, body }: Answered): Page {
  const { text } = decodeText(body, contentType === '' ? null : contentType);
  return { url, status, contentType: mediaType(contentType), text, headers };
}

async function toLongText(answer: Answered): Promise<LongText> {
  const { url, status, headers, contentType, body, rest, encoding } = answer;
  const unpacked = decompressInPieces(
    { body, rest: rest?.pieces ?? null },
    { contentEncoding: encoding ?? '', bytesMax: LONG_TEXT_BYTES_MAX, opensGzip: encoding !== null },
    (why) => undecodable(url, why),
  );
  const { head, all } = await withFirstPieces(unpacked, HEAD_BYTES);
  requireText(url, contentType, head);
  const said = contentType === '' ? null : contentType;
  return {
    url,
    status,
    contentType: mediaType(contentType),
    headers,
    beginning: decodeText(head.subarray(0, HEAD_BYTES), said).text.slice(0, BEGINNING_CHARACTERS),
    pieces: decoded(all, textDecoder(head, said)),
  };
}

async function* decoded(pieces: Pieces, decode: ReturnType<typeof textDecoder>): AsyncGenerator<string> {
  for await (const piece of pieces) yield decode(piece, false);
  yield decode(new Uint8Array(0), true);
}
