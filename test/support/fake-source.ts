import {
  SourceFailure,
  type JsonAnswer,
  type JsonRequest,
  type JsonValue,
  type Page,
  type Source,
  type TextRequest,
} from '../../src/extract/base/connector.ts';
import { parseJsonBody } from '../../src/extract/fetch/content.ts';

/**
 * A `Source` without a network, for connector tests. It responds from a map of URL → response or from a function, records its requests, and
 * fails like the real one. An unknown URL gives a 404.
 */
export interface FakeSource extends Source {
  /** All requests, in order. */
  readonly requests: readonly FakeRequest[];
  /** URLs of the requests, in order. */
  readonly urls: readonly string[];
}

export interface FakeRequest {
  readonly method: 'page' | 'json' | 'text';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The `Accept` value of a `text` request; null for the others. */
  readonly accept: string | null;
  /** Whether robots.txt applies to it. */
  readonly robots: boolean;
}

export interface FakeAnswer {
  /** Default 200. */
  readonly status?: number;
  /** Names are in lower case. Determines the content type; default: JSON for objects, HTML for text. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Text is sent unchanged; anything else is sent as JSON. */
  readonly body: JsonValue;
  /** Final URL after redirects; default: the requested URL. */
  readonly url?: string;
}

/** A string is short for a 200 with that text; a thrown or returned SourceFailure is the failure itself. */
export type FakeReply = FakeAnswer | SourceFailure | string | null | undefined;

export type FakeAnswers = ReadonlyMap<string, FakeReply> | ((request: FakeRequest) => FakeReply);

export interface FakeSourceOptions {
  /** robots.txt disallows URLs that begin with one of these, for requests to which robots.txt applies. */
  readonly disallowed?: readonly string[];
  /** Values of the `Sitemap` lines of robots.txt. */
  readonly sitemaps?: readonly string[];
  /** Returned by `base` instead of the connector's default address. */
  readonly base?: string;
}

/** Content types allowed for a page; anything else is `unsupported_content`. */
const PAGE_TYPE = /^(?:|text\/.*|application\/(?:xhtml\+xml|xml|[a-z.-]+\+xml))$/;

export function fakeSource(answers: FakeAnswers, options: FakeSourceOptions = {}): FakeSource {
  const requests: FakeRequest[] = [];
  const answer = (request: FakeRequest, allowStatuses: readonly number[] = []): Page => {
    requests.push(request);
    if (request.robots && (options.disallowed ?? []).some((prefix) => request.url.startsWith(prefix)))
      throw new SourceFailure('robots_disallowed', `robots.txt disallows ${request.url}`, false);
    const reply = typeof answers === 'function' ? answers(request) : answers.get(request.url);
    const page = toPage(request.url, reply);
    const isAnswer = (page.status >= 200 && page.status < 300) || allowStatuses.includes(page.status);
    if (!isAnswer) throw failureOf(page.status, request.url);
    return page;
  };
  return {
    requests,
    get urls() {
      return requests.map(({ url }) => url);
    },
    page: (url: string) =>
      settle(() => {
        const page = answer({ method: 'page', url, headers: {}, accept: null, robots: true });
        if (!PAGE_TYPE.test(page.contentType))
          throw new SourceFailure('unsupported_content', `${url} is ${page.contentType}`, false);
        return page;
      }),
    json: (url: string, { headers = {}, allowStatuses = [] }: JsonRequest = {}) =>
      settle(() => toJson(answer({ method: 'json', url, headers, accept: null, robots: false }, allowStatuses))),
    text: (url: string, { accept = null, allowStatuses = [], robots = true }: FakeTextRequest = {}) =>
      settle(() => answer({ method: 'text', url, headers: {}, accept, robots }, allowStatuses)),
    longText: async (url, read) => {
      await Promise.resolve();
      const { text, ...page } = answer({ method: 'text', url, headers: {}, accept: null, robots: true });
      return await read({ ...page, beginning: text.slice(0, 4_096), pieces: inPieces(text) });
    },
    base: (fallback: string) => options.base ?? fallback,
    robotsSitemaps: () => Promise.resolve(options.sitemaps ?? []),
  };
}

type FakeTextRequest = Omit<TextRequest, 'accept'> & { readonly accept?: string | null };

/** Splits the text at arbitrary positions, like a network stream. */
async function* inPieces(text: string): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += PIECE_CHARACTERS)
    yield await Promise.resolve(text.slice(at, at + PIECE_CHARACTERS));
}

const PIECE_CHARACTERS = 1_000;

/** Asynchronous like the real source, so that a failure is always a rejection. */
async function settle<T>(read: () => T): Promise<T> {
  await Promise.resolve();
  return read();
}

function toPage(url: string, reply: FakeReply): Page {
  if (reply instanceof SourceFailure) throw reply;
  const given: FakeAnswer =
    reply === null || reply === undefined
      ? { status: 404, body: '' }
      : typeof reply === 'string'
        ? { body: reply }
        : reply;
  const isText = typeof given.body === 'string';
  const headers = { 'content-type': isText ? 'text/html; charset=utf-8' : 'application/json', ...given.headers };
  return {
    url: given.url ?? url,
    status: given.status ?? 200,
    contentType: (headers['content-type'].split(';', 1)[0] ?? '').trim().toLowerCase(),
    text: typeof given.body === 'string' ? given.body : JSON.stringify(given.body),
    headers,
  };
}

function toJson({ url, status, headers, contentType, text }: Page): JsonAnswer {
  return { url, status, headers, body: parseJsonBody(url, contentType, Buffer.from(text)) };
}

/** Returns the failure that a status causes after all retries. */
function failureOf(status: number, url: string): SourceFailure {
  const detail = `${status} from ${url}`;
  if (status === 401) return new SourceFailure('login_required', detail, false);
  if (status === 403 || status === 451) return new SourceFailure('access_denied', detail, false);
  if (status === 404 || status === 410) return new SourceFailure('source_not_found', detail, false);
  if (status === 429) return new SourceFailure('rate_limited_by_source', detail, true);
  return new SourceFailure('source_unavailable', detail, status >= 500);
}
