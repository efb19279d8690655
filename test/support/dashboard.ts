import { UNSIGNED } from './manage.ts';
import { type Answer, send } from './requests.ts';

/** Requests as the pages of the dashboard make them, by a browser that has signed in. */

type Headers = Readonly<Record<string, string | null>>;

/** The headers that a browser and a page of the dashboard add to a write. */
export function ownHeaders(url: string): Record<string, string> {
  return { origin: new URL(url).origin, 'sec-fetch-site': 'same-origin', 'x-gatehouse': '1' };
}

/** Sends a request with the headers of a page of the dashboard; `headers` overrides them, and `null` removes one. */
export function askAs(
  url: string,
  cookie: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Headers = {},
): Promise<Answer> {
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
  const cookies = cookie === '' ? {} : { cookie };
  return send(url, 'none', {
    method,
    path,
    body: text,
    headers: { ...UNSIGNED, ...ownHeaders(url), ...cookies, ...headers },
  });
}

export interface Person {
  /** As in a Cookie header. */
  readonly cookie: string;
  ask(method: string, path: string, body?: unknown, headers?: Headers): Promise<Answer>;
  /** Calls an endpoint of /v1 through the dashboard. */
  call(method: string, path: string, body?: unknown, headers?: Headers): Promise<Answer>;
}

/** Signs in and returns a browser with the session. */
export async function signIn(
  url: string,
  credentials: { readonly key: string } | { readonly code: string },
): Promise<Person> {
  const answer = await askAs(url, '', 'POST', '/dashboard/session', credentials);
  if (answer.status !== 204) throw new Error(`signing in returned ${answer.status}: ${answer.text}`);
  const cookie = cookieOf(answer);
  return {
    cookie,
    ask: (method, path, body, headers) => askAs(url, cookie, method, path, body, headers),
    call: (method, path, body, headers) => askAs(url, cookie, method, `/dashboard/api${path}`, body, headers),
  };
}

/** Returns the cookie that a response sets, as in a Cookie header. */
export function cookieOf({ headers }: Answer): string {
  return setCookieOf({ headers }).split(';')[0] ?? '';
}

/** Returns the header Set-Cookie; '' without one. */
export function setCookieOf({ headers }: Pick<Answer, 'headers'>): string {
  // The client of Node.js gives this header as a list.
  const lines = headers['set-cookie'] as unknown as readonly string[] | undefined;
  if (lines !== undefined && lines.length !== 1) throw new Error(`${lines.length} cookies are set`);
  return lines?.[0] ?? '';
}
