import type { JsonAnswer, JsonRequest, JsonValue, LongText, Page, Source, TextRequest } from '../base/connector.ts';
import { decodeText, textDecoder } from '../read/charset.ts';
import { refreshTarget } from '../read/refresh.ts';
import { isHtmlPage, mediaType, parseJsonBody, requirePage, requireText } from './content.ts';
import { mayFetchAgain, type Patience } from './attempt.ts';
import { decompressInPieces } from './decompress.ts';
import { FetchFailure, statusFault } from './source-failure.ts';
import { follow, undecodable, type Followed, type FollowRequest } from './follow.ts';
import type { FetchParts, SourceUsage } from './fetch-parts.ts';
import { withFirstPieces, type Pieces } from './pieces.ts';
import { isLoginPage, readFetchUrl } from './redirects.ts';
import { findRobots, holdToRobots } from './robots.ts';
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

type Answered = Extract<Followed, { kind: 'answer' }>;

/**
 * Creates one job's access to the network: rate-limited, guarded, retried and counted. Its methods reject with `SourceFailure`s, or as the
 * rate limiter's token does if that rejects.
 * Credits: one for each page and each API call that succeeded, even if the source responded that nothing has changed, because the cost of a
 * job must not depend on earlier fetches. An error status that a connector accepts as a response is free.
 */
export function createSource(parts: SourceParts): CountedSource {
  const session = parts.session === null ? null : new SessionJar(parts.session);
  const usage = { pages: 0, credits: 0, errors: 0, bytes: 0 };
  let tier: SourceUsage['tier'] = null;

  const onBytes = (bytes: number): void => {
    usage.bytes += bytes;
  };
  const byRobots = (url: string): Promise<void> => holdToRobots(parts, url, onBytes);

  /** Fetches and reads; repeats both if the body was incomplete. A failure on the way counts as one error. */
  async function fetched<T>(
    url: string,
    ask: Ask,
    read: (answer: Answered) => T | Promise<T>,
    tierOf: (value: T) => 'basic' | 'standard' = () => ask.tier,
  ): Promise<T> {
    const patience: Patience = { retries: 0 };
    for (;;) {
      try {
        const answer = await answerOf(url, ask, patience);
        const value = await read(answer);
        if (answer.status >= 200 && answer.status < 300) {
          usage.pages++;
          usage.credits++;
          if (tier !== 'standard') tier = tierOf(value);
        }
        return value;
      } catch (error) {
        if (await mayFetchAgain(parts, error, patience)) continue;
        usage.errors++;
        throw error;
      }
    }
  }

  async function answerOf(url: string, { robots, allowStatuses, ...ask }: Ask, patience: Patience): Promise<Answered> {
    const target = readFetchUrl(url);
    if (target === null) throw new FetchFailure('content', `${url}: not an http or https URL`);
    const beforeHop = robots ? byRobots : () => Promise.resolve();
    const isAnswer = (status: number): boolean => allowStatuses.includes(status);
    const followed = await follow(parts, { ...ask, url: target, session, patience, beforeHop, isAnswer, onBytes });
    if (followed.kind === 'astray') throw new FetchFailure('refused', followed.detail);
    const isSuccess = followed.status >= 200 && followed.status < 300;
    if (isSuccess || isAnswer(followed.status)) return followed;
    throw new FetchFailure('refused', `${followed.url}: status ${followed.status}`);
  }

  /** Follows pages that only lead to another one, which are free as redirects are. Each address is checked like any other. */
  async function page(url: string): Promise<Page> {
    let at = url;
    for (let hops = 0; ; hops++) {
      const found = await fetched(at, PAGE, (answer) => {
        requirePage(answer.url, answer.contentType, answer.body);
        return toPage(answer);
      });
      const next = refreshTarget(found);
      if (next === null) return found;
      usage.pages--;
      usage.credits--;
      if (hops >= REFRESHES_MAX) {
        usage.errors++;
        throw new FetchFailure('refused', `${url}: more than ${REFRESHES_MAX} pages that lead to another one`);
      }
      if (isLoginPage(next) && !isLoginPage(url)) {
        usage.errors++;
        throw new FetchFailure(session === null ? 'login' : 'session', `${at} leads to ${next}`);
      }
      at = next;
    }
  }

  return {
    page,
    json: (url, options = {}) =>
      fetched(url, jsonAsk(options), ({ body, contentType, ...answer }): JsonAnswer => ({
        url: answer.url,
        status: answer.status,
        body: jsonOf(answer, contentType, body, session !== null),
        headers: answer.headers,
      })),
    text: (url, options = {}) =>
      fetched(
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
      const { value } = await fetched(url, LONG_TEXT, readOf, ({ isPage }) => (isPage ? 'standard' : 'basic'));
      return value;
    },
    async robotsSitemaps(url) {
      const target = readFetchUrl(url);
      if (target === null) return [];
      const answer = await findRobots(parts, target, onBytes).catch(() => null);
      return answer?.kind === 'rules' ? answer.rules.sitemaps : [];
    },
    base: (fallback) => parts.base ?? fallback,
    usage: () => ({ ...usage, tier }),
    takeCookies: () => session?.takeChanges() ?? null,
  };
}

interface Ask extends Pick<FollowRequest, 'accept' | 'headers' | 'bytesMax' | 'opensGzip' | 'leavesPacked'> {
  readonly robots: boolean;
  readonly allowStatuses: readonly number[];
  readonly tier: 'basic' | 'standard';
}

const PAGE: Ask = {
  accept: 'text/html, application/xhtml+xml;q=0.9, application/xml;q=0.8, text/*;q=0.7, */*;q=0.1',
  headers: {},
  bytesMax: PAGE_BYTES_MAX,
  opensGzip: false,
  leavesPacked: false,
  robots: true,
  allowStatuses: [],
  tier: 'standard',
};

function jsonAsk({ headers = {}, allowStatuses = [] }: JsonRequest): Ask {
  const { accept = 'application/json', ...own } = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  return { ...PAGE, accept, headers: own, robots: false, allowStatuses, tier: 'basic' };
}

const ACCEPT_TEXT = 'text/*, application/xml, */*;q=0.5';

const LONG_TEXT: Ask = {
  ...PAGE,
  accept: ACCEPT_TEXT,
  bytesMax: LONG_TEXT_BYTES_MAX,
  opensGzip: true,
  leavesPacked: true,
  tier: 'basic',
};

function textAsk({ accept = ACCEPT_TEXT, allowStatuses = [], robots = true }: TextRequest): Ask {
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
