import type { ProblemBody } from '../../contract/wire-types.ts';
import { notePartial } from './partial.ts';
import { acquireSearchTurn } from './search-turns.ts';
import { expireSession } from './session.ts';

/** All requests of the pages: the public API by cookie, under `/dashboard/api`. */

export const API = '/dashboard/api';

/** Choice: the longest wait for a response; a synchronous extraction has its own. */
const TIMEOUT_MS = 20_000;

export type FieldFault = NonNullable<ProblemBody['errors']>[number];

/** A problem response (RFC 9457), or `unreachable`, `timeout`, `unexpected_response` when there was none. */
export class ApiFault extends Error {
  override readonly name = 'ApiFault';
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  /** 0 without a response. */
  readonly status: number;
  readonly requestId: string | null;
  readonly retryAfterSeconds: number | null;
  readonly errors: readonly FieldFault[];

  constructor(status: number, problem: Partial<ProblemBody> & Pick<ProblemBody, 'code' | 'title'>) {
    super(`${problem.code}: ${problem.title}`);
    this.status = status;
    this.code = problem.code;
    this.title = problem.title;
    this.detail = problem.detail ?? '';
    this.requestId = problem.request_id ?? null;
    this.retryAfterSeconds = problem.retry_after ?? null;
    this.errors = problem.errors ?? [];
  }
}

export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Returns the URL of an endpoint of the public API. Parameters that are undefined, null or '' are left out. */
export function v1(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null && value !== '') parameters.set(name, String(value));
  const text = parameters.toString();
  return `${API}/v1${path}${text === '' ? '' : `?${text}`}`;
}

export interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
  /** Lets the request outlive the page (`keepalive`). For small writes. */
  readonly keepalive?: boolean;
  /** Statuses besides 2xx that are returned instead of thrown, for example 304, and 503 of `/readyz`. */
  readonly accept?: readonly number[];
}

/**
 * Sends a request and returns the response.
 *
 * @throws {ApiFault} for every other status, and when there is no response. A 401 also leads to the sign-in page.
 * @throws {DOMException} `AbortError` when `signal` was aborted.
 */
export async function request(url: string, options: RequestOptions = {}): Promise<Response> {
  const { method = 'GET', body, headers, signal, timeoutMs = TIMEOUT_MS, accept = [], keepalive = false } = options;
  const timeout = new AbortController();
  const onAbort = (): void => timeout.abort();
  signal?.addEventListener('abort', onAbort);
  if (signal?.aborted === true) timeout.abort();
  const release = await acquireSearchTurn(url, timeout.signal);
  const timer = setTimeout(() => timeout.abort(), timeoutMs);
  try {
    const response = await fetch(url, {
      method,
      headers: {
        'X-Gatehouse': '1',
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      credentials: 'same-origin',
      redirect: 'error',
      cache: 'no-store',
      keepalive,
      signal: timeout.signal,
    });
    notePartial(url, response.headers);
    if (response.ok || accept.includes(response.status)) return response;
    throw await readFault(response);
  } catch (error) {
    if (error instanceof ApiFault) {
      if (error.status === 401) expireSession(error.code);
      throw error;
    }
    if (signal?.aborted === true) throw error;
    throw timeout.signal.aborted
      ? new ApiFault(0, { code: 'timeout', title: `No response within ${Math.round(timeoutMs / 1_000)} s` })
      : new ApiFault(0, { code: 'unreachable', title: 'The server cannot be reached' });
  } finally {
    release();
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}

/** Reads JSON. Errors as for `request`. */
export async function getJson<T>(url: string, options: RequestOptions = {}): Promise<T> {
  return readJson<T>(await request(url, options));
}

/** Writes, and returns the body of the response; null after 204. Errors as for `request`. */
export async function send<T = null>(
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  url: string,
  body?: unknown,
  options: Omit<RequestOptions, 'method' | 'body'> = {},
): Promise<T> {
  const response = await request(url, { ...options, method, body });
  return response.status === 204 ? (null as T) : readJson<T>(response);
}

export async function readJson<T>(response: Response): Promise<T> {
  try {
    return (await response.json()) as T;
  } catch {
    throw new ApiFault(response.status, { code: 'unexpected_response', title: 'The response is not JSON' });
  }
}

async function readFault(response: Response): Promise<ApiFault> {
  const { status } = response;
  const retryAfter = Number(response.headers.get('retry-after') ?? '');
  try {
    const problem = (await response.json()) as ProblemBody;
    if (typeof problem.code === 'string' && typeof problem.title === 'string')
      return new ApiFault(status, { ...(retryAfter > 0 ? { retry_after: retryAfter } : {}), ...problem });
  } catch {
    // Not from Gatehouse: a proxy in front of it answered.
  }
  return new ApiFault(status, { code: 'unexpected_response', title: `The server answered with status ${status}` });
}

/** Returns any error as a fault; errors of our own code are reported as such. */
export function toFault(error: unknown): ApiFault {
  if (error instanceof ApiFault) return error;
  return new ApiFault(0, {
    code: 'page_error',
    title: 'The page could not handle the response',
    detail: error instanceof Error ? error.message : String(error),
  });
}
