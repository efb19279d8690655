import type { EgressHeaders } from '../../egress/egress-outcome.ts';
import { fetchPatiently, headerOf, type SourceAnswer, type Patience, type Rest } from './attempt.ts';
import { BODY_BYTES_MAX, type CachedBody } from './body-cache.ts';
import { ACCEPTED_ENCODINGS, decompress, openGzip, type Decompressed, type Undone } from './decompress.ts';
import { FetchFailure } from './source-failure.ts';
import { isLoginPage, isRedirect, keepsTrust, redirectTarget } from './redirects.ts';
import type { FetchParts } from './fetch-parts.ts';
import type { SessionJar } from './fetch-session.ts';
import { RedirectCookies } from './redirect-cookies.ts';

/** Source: RFC 9309, section 2.3.1.2, for robots.txt. Choice: for everything else as well. */
const REDIRECTS_MAX = 5;

export interface FollowRequest {
  readonly url: string;
  readonly accept: string;
  /** The caller's own headers, in lower case. Credentials among them are sent only to the origin of the first URL. */
  readonly headers: Readonly<Record<string, string>>;
  /** Maximum body size, on the wire and decompressed. */
  readonly bytesMax: number;
  readonly session: SessionJar | null;
  readonly patience: Patience;
  /** Called before each hop. Its rejection ends the fetch. */
  readonly beforeHop: (url: string) => Promise<void>;
  readonly isAnswer: (status: number) => boolean;
  /** Decompress a body that is a gzip file. */
  readonly opensGzip: boolean;
  /** Return a large body as it arrives, still compressed. */
  readonly leavesPacked: boolean;
  /** Called with the size of each body on the wire. */
  readonly onBytes: (bytes: number) => void;
}

export type Followed =
  | {
      readonly kind: 'answer';
      /** The URL after redirects. */
      readonly url: string;
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      /** The complete header value; '' if there is none. */
      readonly contentType: string;
      readonly body: Buffer;
      /** The stream that follows `body`, if that is not complete. */
      readonly rest: Rest | null;
      /** The content coding of a body that is still compressed; null if it is decoded. */
      readonly encoding: string | null;
    }
  /** The redirects are too many, form a loop or have no valid target. */
  | { readonly kind: 'astray'; readonly detail: string };

/** Fetches a URL and follows its redirects. Rejects with a `FetchFailure`, or as `beforeHop` and the rate limiter's tokens do. */
export async function follow(parts: FetchParts, request: FollowRequest): Promise<Followed> {
  const { session } = request;
  const seen = new Set<string>();
  const ownCookies = new RedirectCookies();
  let url = request.url;
  let isTrusted = true;
  for (let hops = 0; hops <= REDIRECTS_MAX; hops++) {
    const hasSession = session !== null && isTrusted && session.goesTo(url);
    const credentials = hasSession ? session.headersFor(url) : cookieHeader(ownCookies.headerFor(url));
    const place = JSON.stringify([url, credentials]);
    if (seen.has(place)) return { kind: 'astray', detail: `${request.url}: the redirects form a loop at ${url}` };
    seen.add(place);
    await request.beforeHop(url);
    const asked = { url, isTrusted, hasSession, credentials };
    const { answer, cached } = await hop(parts, request, asked);
    (hasSession ? session : ownCookies).take(url, listOf(answer.headers['set-cookie']));
    if (!isRedirect(answer.status) || request.isAnswer(answer.status))
      return await finish(parts, request, asked, answer, cached);
    const next = redirectTarget(url, headerOf(answer.headers, 'location'));
    if (next === null) return { kind: 'astray', detail: `${url}: a redirect without a valid target` };
    if (isLoginPage(next) && !isLoginPage(request.url))
      throw new FetchFailure(session === null ? 'login' : 'session', `${url} leads to ${next}`);
    isTrusted &&= keepsTrust(url, next, session);
    url = next;
  }
  return { kind: 'astray', detail: `${request.url}: more than ${REDIRECTS_MAX} redirects` };
}

/** One hop of a fetch. */
interface Hop {
  readonly url: string;
  /** Whether the caller's and the session's credentials may be sent. */
  readonly isTrusted: boolean;
  readonly hasSession: boolean;
  /** Headers of the session, or cookies that earlier hops set. */
  readonly credentials: Readonly<Record<string, string>>;
}

async function hop(
  parts: FetchParts,
  request: FollowRequest,
  asked: Hop,
): Promise<{ readonly answer: SourceAnswer; readonly cached: CachedBody | null }> {
  const { bytesMax, leavesPacked, accept, isAnswer, patience } = request;
  const { url, isTrusted, hasSession, credentials } = asked;
  const cached = mayCache(request, asked) ? parts.bodies.find(cacheKey(request, url)) : null;
  const headers = {
    'user-agent': parts.userAgent,
    accept,
    'accept-encoding': ACCEPTED_ENCODINGS,
    ...validators(cached),
    ...ownHeaders(request.headers, url === request.url || (isTrusted && isSameOrigin(url, request.url))),
    ...credentials,
  };
  const wholeBytesMax = leavesPacked ? Math.min(bytesMax, BODY_BYTES_MAX) : bytesMax;
  const answer = await fetchPatiently(parts, {
    url,
    headers,
    bytesMax,
    wholeBytesMax,
    hasSession,
    patience,
    isAnswer,
  });
  request.onBytes(answer.body.length);
  return { answer, cached };
}

async function finish(
  parts: FetchParts,
  request: FollowRequest,
  asked: Hop,
  answer: SourceAnswer,
  cached: CachedBody | null,
): Promise<Followed> {
  const { url } = asked;
  const { status } = answer;
  if (status === 304) {
    if (cached === null) throw new FetchFailure('refused', `${url}: 304 to a request without a validator`);
    const { contentType, headers, body } = cached;
    return { kind: 'answer', url, status: 200, headers, contentType, body, rest: null, encoding: null };
  }
  const encoding = listOf(answer.headers['content-encoding']).join(',');
  const contentType = headerOf(answer.headers, 'content-type') ?? '';
  const headers = plainHeaders(answer.headers);
  const asItCame = (rest: Rest | null): Followed => ({
    kind: 'answer',
    url,
    status,
    headers,
    contentType,
    body: answer.body,
    rest,
    encoding,
  });
  if (answer.rest !== null) return asItCame(counted(answer.rest, request.onBytes));
  const result = await unpackedOf(answer.body, encoding, request);
  if (result.kind === 'too_large' && request.leavesPacked) return asItCame(null);
  if (result.kind !== 'ok') throw undecodable(url, result);
  const unpacked = result.body;
  if (status === 200 && mayCache(request, asked)) {
    const { etag = null, 'last-modified': lastModified = null, 'cache-control': control = '' } = headers;
    const isKept = !/no-store|private/i.test(control);
    const key = cacheKey(request, url);
    if (isKept) parts.bodies.keep(key, { etag, lastModified, contentType, headers, body: unpacked });
    else parts.bodies.drop(key);
  }
  return { kind: 'answer', url, status, headers, contentType, body: unpacked, rest: null, encoding: null };
}

function counted({ pieces, leave }: Rest, onBytes: (bytes: number) => void): Rest {
  async function* all(): AsyncGenerator<Buffer> {
    for await (const piece of pieces) {
      onBytes(piece.length);
      yield piece;
    }
  }
  return { pieces: all(), leave };
}

/** Decodes a body that may stay compressed only if it is small, because only then may it be cached. */
async function unpackedOf(
  body: Buffer,
  encoding: string,
  { bytesMax, leavesPacked, opensGzip }: FollowRequest,
): Promise<Decompressed> {
  const wholeMax = leavesPacked ? Math.min(bytesMax, BODY_BYTES_MAX) : bytesMax;
  const result = await decompress(body, encoding, wholeMax);
  return result.kind === 'ok' && opensGzip ? await openGzip(result.body, wholeMax) : result;
}

export function undecodable(url: string, why: Undone): FetchFailure {
  if (why.kind === 'too_large') return new FetchFailure('too_large', `${url}: decompresses to more than the limit`);
  return new FetchFailure('content', `${url}: ${why.detail}`);
}

/** Choice: responses obtained with a session, a caller's key or cookies belong to that fetch alone and are never cached. */
function mayCache({ session, headers }: FollowRequest, { credentials }: Hop): boolean {
  return session === null && Object.keys(headers).length === 0 && Object.keys(credentials).length === 0;
}

function cookieHeader(cookie: string): Readonly<Record<string, string>> {
  return cookie === '' ? {} : { cookie };
}

function cacheKey({ accept, opensGzip }: FollowRequest, url: string): string {
  return `${opensGzip ? 'open' : 'plain'} ${accept} ${url}`;
}

function validators(cached: CachedBody | null): Record<string, string> {
  if (cached === null) return {};
  const { etag, lastModified } = cached;
  return {
    ...(etag !== null && { 'if-none-match': etag }),
    ...(lastModified !== null && { 'if-modified-since': lastModified }),
  };
}

/** Choice: header names under which keys and tokens are sent. All others, such as `accept-language`, may go to any origin. */
const CREDENTIALS = /^(?:authorization|proxy-authorization|cookie)$|key|token|secret|auth|session/;

function ownHeaders(headers: Readonly<Record<string, string>>, mayHaveCredentials: boolean): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => mayHaveCredentials || !CREDENTIALS.test(name)));
}

function isSameOrigin(a: string, b: string): boolean {
  return new URL(a).origin === new URL(b).origin;
}

function plainHeaders(headers: EgressHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => name !== 'set-cookie')
      .map(([name, value]) => [name, listOf(value).join(', ')]),
  );
}

function listOf(value: string | string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  return typeof value === 'string' ? [value] : value;
}
