import { isIP } from 'node:net';
import * as z from 'zod';
import { type FieldError, pointerPart, problem } from '../../base/problem.ts';
import { registrableDomain } from '../../core/registrable-domain.ts';
import { invalid, validate, type Validated } from '../../manage/validate.ts';
import type { SessionCookie, SourceSession } from '../fetch/session.ts';
import type { NewSession } from '../jobs-port.ts';
import { type CheckTarget, readTarget } from './target.ts';

/** Source: RFC 1035: a host name's characters; and no address is longer. */
const HOST_CHARACTERS_MAX = 253;
/** Choice: what browsers keep of one site, and the bytes of one that they take. */
const COOKIES_MAX = 180;
const COOKIE_CHARACTERS_MAX = 4_096;
/** Choice: sessions have one or two, such as a token's. */
const HEADERS_MAX = 32;
const HEADER_CHARACTERS_MAX = 4_096;
/** Choice: 16 KiB, more than servers take of one request's header. */
const SESSION_CHARACTERS_MAX = 16_384;
/** The year 9999. */
const EXPIRY_SECONDS_MAX = 253_402_300_799;

/** Source: RFC 9110, 5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/;
/** Source: RFC 6265, 4.1.1; quotes, commas and backslashes are taken too, because servers send them. */
const COOKIE_VALUE = /^[\x21-\x3a\x3c-\x7e]*$/;
const COOKIE_PATH = /^\/[\x21-\x3a\x3c-\x7e]*$/;
const HEADER_VALUE = /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/;

/** Fields that say how a request is sent or where to; they are the service's own. Cookies have a place of their own. */
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

const expiry = z.int().min(1).max(EXPIRY_SECONDS_MAX).nullish();

const COOKIE = z.object({
  name: z.string().regex(TOKEN, 'This must be the name of a cookie.'),
  value: z.string().max(COOKIE_CHARACTERS_MAX).regex(COOKIE_VALUE, 'This must be the value of a cookie.'),
  domain: z.string().max(HOST_CHARACTERS_MAX).nullish(),
  path: z.string().max(1_024).regex(COOKIE_PATH, 'This must be a path from the root.').nullish(),
  secure: z.boolean().nullish(),
  http_only: z.boolean().nullish(),
  expires_at: expiry,
});

const BODY = z.object({
  host: z.string(),
  // Counted before each is looked at.
  cookies: z.array(z.unknown()).max(COOKIES_MAX).pipe(z.array(COOKIE)).nullish(),
  headers: z
    .record(z.string(), z.string())
    .refine((headers) => Object.keys(headers).length <= HEADERS_MAX, {
      message: `This must have at most ${HEADERS_MAX} names.`,
    })
    .nullish(),
  expires_at: expiry,
});

/** The body of `POST /v1/sessions`. No message repeats a value of it. */
export function readSession(
  body: unknown,
  nowMs: number,
  checkTarget: CheckTarget,
): Validated<Pick<NewSession, 'session' | 'expiresAtMs'>> {
  const read = validate(BODY, body);
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
  const { blocked } = readTarget(`https://${host.includes(':') ? `[${host}]` : host}/`, '/host', checkTarget);
  if (blocked.length > 0) {
    return {
      kind: 'problem',
      problem: problem('blocked_url', 'The service may not reach this host.', { errors: blocked }),
    };
  }
  return { kind: 'ok', value: { session, expiresAtMs } };
}

/** Choice: as many as other refusals name. */
const FIELD_ERRORS_MAX = 32;
const HOST_FORM = 'This must be a host name under a registrable domain or an IP address, without port and path.';
const FOREIGN: FieldError = {
  pointer: '/cookies',
  code: 'invalid_value',
  message: 'This must be the host of the session or lie below it.',
};
const PAST: FieldError = { pointer: '/expires_at', code: 'invalid_value', message: 'This must lie in the future.' };

/** As URLs spell it; null for what is none. A bare public suffix is none: its cookies would go to everyone under it. */
function readHost(text: string): string | null {
  if (text.length > HOST_CHARACTERS_MAX || /[\s/\\?#@%]/.test(text)) return null;
  const isV6 = isIP(text) === 6;
  if (!isV6 && text.includes(':')) return null;
  const url = `http://${isV6 ? `[${text}]` : text}/`;
  if (!URL.canParse(url)) return null;
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  return isIP(host) !== 0 || registrableDomain(host) !== null ? host : null;
}

function sessionCookie(given: z.infer<typeof COOKIE>, host: string): SessionCookie {
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

/** A public suffix below the host is none of its own: cookies for it would go to everyone there. */
function isBelow(domain: string, host: string): boolean {
  return isIP(host) === 0 && domain.endsWith(`.${host}`) && registrableDomain(domain) !== null;
}

function headerErrors(headers: Readonly<Record<string, string>>): FieldError[] {
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  return Object.entries(headers).flatMap(([name, value], index) => {
    const pointer = `/headers/${pointerPart(name)}`;
    const lower = name.toLowerCase();
    if (!TOKEN.test(name)) return [{ pointer, code: 'invalid_value', message: 'This is no name of a header.' }];
    if (OWN_HEADERS.has(lower)) return [{ pointer, code: 'invalid_value', message: 'The service sets this itself.' }];
    if (names.indexOf(lower) !== index) return [{ pointer, code: 'invalid_value', message: 'This is given twice.' }];
    if (value.length > HEADER_CHARACTERS_MAX) {
      return [{ pointer, code: 'too_long', message: `This must have at most ${HEADER_CHARACTERS_MAX} characters.` }];
    }
    const message = 'This must be visible ASCII, with blanks between at most.';
    return HEADER_VALUE.test(value.trim()) ? [] : [{ pointer, code: 'invalid_value', message }];
  });
}

/** A session must hold something, and not more than can be sent. */
function sizeErrors({ cookies, headers }: SourceSession): FieldError[] {
  if (cookies.length === 0 && Object.keys(headers).length === 0) {
    return [{ pointer: '/cookies', code: 'required', message: 'Cookies or headers are required.' }];
  }
  const sizes = [
    ...cookies.map(({ name, value }) => name.length + value.length),
    ...Object.entries(headers).map(lengthOf),
  ];
  if (sizes.reduce((sum, size) => sum + size, 0) <= SESSION_CHARACTERS_MAX) return [];
  const message = `Cookies and headers must have at most ${SESSION_CHARACTERS_MAX} characters in all.`;
  return [{ pointer: '', code: 'too_large', message }];
}

function lengthOf([name, value]: readonly [string, string]): number {
  return name.length + value.length;
}
