import { createHmac, timingSafeEqual } from 'node:crypto';
import { problem, type Problem } from '../base/problem.ts';
import { PAGE_ROWS_MAX } from '../limits.ts';
import type { AnyRequest } from './managed.ts';

/** Choice: 64 bits cannot be guessed within the rate limits, and a cursor stays short. */
const TAG_BYTES = 8;
const LIMIT = /^[1-9]\d{0,3}$/;

/**
 * Cursors are opaque and authenticated: base64url of where the next page begins, then 8 bytes of HMAC-SHA256 over route,
 * customer and that place. A broken one, another customer's or another route's is none.
 */
export class Cursors {
  readonly #key: Buffer;

  /** `key` is one of `deriveKey`, for cursors alone. */
  constructor(key: Buffer) {
    this.#key = key;
  }

  issue(route: string, customer: number, place: string): string {
    return Buffer.concat([Buffer.from(place), this.#tag(route, customer, place)]).toString('base64url');
  }

  /** The place, null where this cursor is not one of that route and customer. */
  read(route: string, customer: number, cursor: string): string | null {
    const bytes = Buffer.from(cursor, 'base64url');
    // The decoder passes over what is no base64url; a cursor has one form only.
    if (bytes.length < TAG_BYTES || bytes.toString('base64url') !== cursor) return null;
    const place = bytes.toString('utf8', 0, bytes.length - TAG_BYTES);
    const tag = bytes.subarray(bytes.length - TAG_BYTES);
    return timingSafeEqual(tag, this.#tag(route, customer, place)) ? place : null;
  }

  #tag(route: string, customer: number, place: string): Buffer {
    return createHmac('sha256', this.#key).update(`${route}\n${customer}\n${place}`).digest().subarray(0, TAG_BYTES);
  }
}

export type PageQuery =
  /** `after` is the place in the cursor, null for the first page. */
  | { readonly kind: 'page'; readonly limit: number; readonly after: string | null }
  | { readonly kind: 'problem'; readonly problem: Problem };

/** `?limit=&cursor=`, both optional. Source: open points, section 1, "Paging". */
export function readPage(request: AnyRequest, cursors: Cursors, route: string, limitDefault: number): PageQuery {
  const { query, caller } = request;
  const limitText = query.get('limit') ?? String(limitDefault);
  const limit = Number(limitText);
  if (!LIMIT.test(limitText) || limit > PAGE_ROWS_MAX) {
    return { kind: 'problem', problem: badQuery('limit', `This must be a number from 1 to ${PAGE_ROWS_MAX}.`) };
  }
  const cursor = query.get('cursor');
  const after = cursor === null ? null : cursors.read(route, caller.customer, cursor);
  if (cursor !== null && after === null) {
    return { kind: 'problem', problem: badQuery('cursor', 'This is not a next_cursor of this list.') };
  }
  return { kind: 'page', limit, after };
}

/** 400 for a parameter of the query. */
export function badQuery(name: string, message: string): Problem {
  const errors = [{ pointer: `?${name}`, code: 'invalid_value', message }];
  return problem('invalid_request', `The parameter ${name} of the query is not valid.`, { errors });
}
