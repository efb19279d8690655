import { parseUrl } from '../../kernel/parse-url.ts';
import { isIP } from 'node:net';
import type * as z from 'zod';
import { type FieldError, pointerPart, problem } from '../../contract/problem.ts';
import {
  HEADER_CHARACTERS_MAX,
  HOST_CHARACTERS_MAX,
  type SESSION_COOKIE,
  SESSION_REQUEST,
  TOKEN,
} from '../../contract/requests/session-requests.ts';
import { registrableDomain } from '../../kernel/registrable-domain.ts';
import { invalid, validate, type Validated } from '../../contract/validate.ts';
import type { SourceCookie, SourceSession } from '../base/source-session.ts';
import type { NewSession } from '../base/jobs-port.ts';
import { type CheckTarget, readRequestTarget } from './request-target.ts';

/** Choice: 16 KiB, more than servers accept as the header of one request. */
const SESSION_CHARACTERS_MAX = 16_384;
const HEADER_VALUE = /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/;

/** Headers that define how or where a request is sent; the service sets these itself. Cookies have a member of their own. */
const OWN_HEADERS = new Set([
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'cookie',
  'expect',
  'host',
  'if-modified-since',
  'if-none-match',
  'keep-alive',
  'proxy-authorization',
  'range',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
]);

/** Parses the body of `POST /v1/sessions`. No message repeats a value from it. */
export function readSession(
  body: unknown,
  nowMs: number,
  checkTarget: CheckTarget,
): Validated<Pick<NewSession, 'session' | 'expiresAtMs'>> {
  const read = validate(SESSION_REQUEST, body);
  if (read.kind === 'problem') return read;
  const { value } = read;
  const host = readHost(value.host);
  if (host === null) return invalid([{ pointer: '/host', code: 'invalid_value', message: HOST_FORM }]);
  const session: SourceSession = {
    host,
    cookies: (value.cookies ?? []).map((cookie) => sessionCookie(cookie, host)),
    headers: Object.fromEntries(
      Object.entries(value.headers ?? {}).map(([name, text]) => [name.toLowerCase(), text.trim()]),
    ),
  };
  const expiresAtMs = value.expires_at === null || value.expires_at === undefined ? null : value.expires_at * 1000;
  const errors = [
    ...cookieErrors(session, nowMs),
    ...headerErrors(value.headers ?? {}),
    ...sizeErrors(session),
    ...(expiresAtMs !== null && expiresAtMs <= nowMs ? [PAST] : []),
  ];
  if (errors.length > 0) return invalid(errors.slice(0, FIELD_ERRORS_MAX));
  const { blocked } = readRequestTarget(`https://${host.includes(':') ? `[${host}]` : host}/`, '/host', checkTarget);
  if (blocked.length > 0) {
    return {
      kind: 'problem',
      problem: problem('blocked_url', 'The service is not allowed to reach this host.', { errors: blocked }),
    };
  }
  return { kind: 'ok', value: { session, expiresAtMs } };
}

/** Choice: as many as other error responses list. */
const FIELD_ERRORS_MAX = 32;
const HOST_FORM = 'This must be a host name under a registrable domain or an IP address, without port and path.';
const FOREIGN: FieldError = {
  pointer: '/cookies',
  code: 'invalid_value',
  message: 'This must be the host of the session or a subdomain of it.',
};
const PAST: FieldError = { pointer: '/expires_at', code: 'invalid_value', message: 'This must be in the future.' };

/**
 * Returns the host as URLs spell it; null if it is invalid. A bare public suffix is invalid, because its cookies would be sent to every
 * site under it.
 */
function readHost(text: string): string | null {
  if (text.length > HOST_CHARACTERS_MAX || /[\s/\\?#@%]/.test(text)) return null;
  const isV6 = isIP(text) === 6;
  if (!isV6 && text.includes(':')) return null;
  const url = parseUrl(`http://${isV6 ? `[${text}]` : text}/`);
  if (url === null) return null;
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  return isIP(host) !== 0 || registrableDomain(host) !== null ? host : null;
}

function sessionCookie(given: z.infer<typeof SESSION_COOKIE>, host: string): SourceCookie {
  const domain = (given.domain ?? host).toLowerCase().replace(/^\./, '');
  return {
    name: given.name,
    value: given.value,
    domain: domain === host ? null : domain,
    path: given.path ?? '/',
    secure: given.secure ?? false,
    httpOnly: given.http_only ?? false,
    expiresAtMs: given.expires_at === null || given.expires_at === undefined ? null : given.expires_at * 1000,
  };
}

function cookieErrors({ host, cookies }: SourceSession, nowMs: number): FieldError[] {
  return cookies.flatMap(({ domain, expiresAtMs }, index) => {
    const pointer = `/cookies/${index}`;
    const hasEnded = expiresAtMs !== null && expiresAtMs <= nowMs;
    return [
      ...(domain === null || isBelow(domain, host) ? [] : [{ ...FOREIGN, pointer: `${pointer}/domain` }]),
      ...(hasEnded ? [{ ...PAST, pointer: `${pointer}/expires_at` }] : []),
    ];
  });
}

/** A public suffix below the host is not accepted, because its cookies would be sent to every site under it. */
function isBelow(domain: string, host: string): boolean {
  return isIP(host) === 0 && domain.endsWith(`.${host}`) && registrableDomain(domain) !== null;
}

function headerErrors(headers: Readonly<Record<string, string>>): FieldError[] {
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  return Object.entries(headers).flatMap(([name, value], index) => {
    const pointer = `/headers/${pointerPart(name)}`;
    const lower = name.toLowerCase();
    if (!TOKEN.test(name)) return [{ pointer, code: 'invalid_value', message: 'This is not a valid header name.' }];
    if (OWN_HEADERS.has(lower)) return [{ pointer, code: 'invalid_value', message: 'The service sets this itself.' }];
    if (names.indexOf(lower) !== index) return [{ pointer, code: 'invalid_value', message: 'This is given twice.' }];
    if (value.length > HEADER_CHARACTERS_MAX) {
      return [{ pointer, code: 'too_long', message: `This must have at most ${HEADER_CHARACTERS_MAX} characters.` }];
    }
    const message = 'This must be visible ASCII; blanks are allowed only between other characters.';
    return HEADER_VALUE.test(value.trim()) ? [] : [{ pointer, code: 'invalid_value', message }];
  });
}

/** A session must contain something, but no more than can be sent. */
function sizeErrors({ cookies, headers }: SourceSession): FieldError[] {
  if (cookies.length === 0 && Object.keys(headers).length === 0) {
    return [{ pointer: '/cookies', code: 'required', message: 'Cookies or headers are required.' }];
  }
  const sizes = [
    ...cookies.map(({ name, value }) => name.length + value.length),
    ...Object.entries(headers).map(lengthOf),
  ];
  if (sizes.reduce((sum, size) => sum + size, 0) <= SESSION_CHARACTERS_MAX) return [];
  const message = `Cookies and headers must have at most ${SESSION_CHARACTERS_MAX} characters in total.`;
  return [{ pointer: '', code: 'too_large', message }];
}

function lengthOf([name, value]: readonly [string, string]): number {
  return name.length + value.length;
}
