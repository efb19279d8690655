import * as z from 'zod';

/** Source: RFC 1035: maximum length of a host name. No IP address is longer. */
export const HOST_CHARACTERS_MAX = 253;
/** Choice: the number of cookies that browsers keep for a site, and the size of a cookie that they accept. */
const COOKIES_MAX = 180;
const COOKIE_CHARACTERS_MAX = 4_096;
/** Choice: sessions have one or two headers, for example for a token. */
const HEADERS_MAX = 32;
export const HEADER_CHARACTERS_MAX = 4_096;
/** The year 9999. */
const EXPIRY_SECONDS_MAX = 253_402_300_799;

/** Source: RFC 9110, 5.6.2. */
export const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/;
/** Source: RFC 6265, 4.1.1. Quotes, commas and backslashes are accepted too, because servers send them. */
const COOKIE_VALUE = /^[\x21-\x3a\x3c-\x7e]*$/;
const COOKIE_PATH = /^\/[\x21-\x3a\x3c-\x7e]*$/;

const expiry = z.int().min(1).max(EXPIRY_SECONDS_MAX).nullish();

export const SESSION_COOKIE = z
  .object({
    name: z.string().regex(TOKEN, 'This must be the name of a cookie.'),
    value: z.string().max(COOKIE_CHARACTERS_MAX).regex(COOKIE_VALUE, 'This must be the value of a cookie.'),
    domain: z.string().max(HOST_CHARACTERS_MAX).nullish().meta({
      description: 'The host or a subdomain of it; by default the host and all its subdomains',
    }),
    path: z
      .string()
      .max(1_024)
      .regex(COOKIE_PATH, 'This must be a path from the root.')
      .nullish()
      .meta({ default: '/' }),
    secure: z.boolean().nullish().meta({ default: false }),
    http_only: z.boolean().nullish().meta({ default: false }),
    expires_at: expiry,
  })
  .meta({ id: 'SessionCookie' });

/** The body of `POST /v1/sessions`, as far as a schema can validate it; `extract/request/session.ts` checks the rest. */
export const SESSION_REQUEST = z
  .object({
    host: z.string().meta({
      maxLength: HOST_CHARACTERS_MAX,
      description: 'A host name under a registrable domain, or an IP address',
    }),
    // Cookies are counted before any of them is validated.
    cookies: z
      .array(z.unknown())
      .max(COOKIES_MAX)
      .pipe(z.array(SESSION_COOKIE))
      .meta({ items: { $ref: '#/components/schemas/SessionCookie' } })
      .nullish()
      .meta({ writeOnly: true }),
    headers: z
      .record(z.string(), z.string().meta({ maxLength: HEADER_CHARACTERS_MAX }))
      .refine((headers) => Object.keys(headers).length <= HEADERS_MAX, {
        message: `This must have at most ${HEADERS_MAX} names.`,
      })
      .meta({ maxProperties: HEADERS_MAX })
      .nullish()
      .meta({ writeOnly: true }),
    expires_at: expiry,
  })
  .meta({ id: 'SessionRequest', description: 'At least one of cookies and headers is required' });
