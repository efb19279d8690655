import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Problem } from '../../contract/problem.ts';
import type { PAGE } from '../../contract/parameters.ts';
import type { Shape } from '../../contract/routes.ts';
import type { AnyRequest, EndpointResponse } from './endpoint-types.ts';
import { badQuery, type QueryValues, readQuery } from '../query.ts';

/** Choice: 64 bits cannot be guessed within the rate limits, and a cursor stays short. */
const TAG_BYTES = 8;

/**
 * Issues and reads cursors. They are opaque and authenticated: base64url of the position of the next page, then 8 bytes of HMAC-SHA256
 * over route, customer and position. A damaged cursor, and one of another customer or route, is invalid.
 */
export class Cursors {
  readonly #key: Buffer;

  /** `key` comes from `deriveKey` and is used for cursors only. */
  constructor(key: Buffer) {
    this.#key = key;
  }

  issue(route: string, customer: number, place: string): string {
    return Buffer.concat([Buffer.from(place), this.#tag(route, customer, place)]).toString('base64url');
  }

  /** Returns the position, or null if the cursor is not one of that route and customer. */
  read(route: string, customer: number, cursor: string): string | null {
    const bytes = Buffer.from(cursor, 'base64url');
    // The decoder skips characters outside base64url; only the canonical form of a cursor is accepted.
    if (bytes.length < TAG_BYTES || bytes.toString('base64url') !== cursor) return null;
    const place = bytes.toString('utf8', 0, bytes.length - TAG_BYTES);
    const tag = bytes.subarray(bytes.length - TAG_BYTES);
    return timingSafeEqual(tag, this.#tag(route, customer, place)) ? place : null;
  }

  #tag(route: string, customer: number, place: string): Buffer {
    return createHmac('sha256', this.#key).update(`${route}\n${customer}\n${place}`).digest().subarray(0, TAG_BYTES);
  }
}

export type PageShape = Shape & typeof PAGE;

export type PageQuery<Of extends PageShape> =
  /** `after` is the position from the cursor; null for the first page. `values` has the other parameters too. */
  | { readonly kind: 'page'; readonly limit: number; readonly after: string | null; readonly values: QueryValues<Of> }
  | { readonly kind: 'problem'; readonly problem: Problem };

/** Reads the parameters of a page, those in `shape`. Source: contract, 2.5. */
export function readPage<Of extends PageShape>(
  { query, caller }: AnyRequest,
  cursors: Cursors,
  route: string,
  shape: Of,
): PageQuery<Of> {
  const read = readQuery(query, shape);
  if (read.kind === 'problem') return read;
  const { limit, cursor }: QueryValues<PageShape> = read.value;
  const after = cursor === undefined ? null : cursors.read(route, caller.customer, cursor);
  if (cursor !== undefined && after === null) return FOREIGN_CURSOR;
  return { kind: 'page', limit, after, values: read.value };
}

/** The response to a cursor that no page of this list, customer and version gave. */
export const FOREIGN_CURSOR = {
  kind: 'problem',
  problem: badQuery('cursor', 'This is not a next_cursor of this list.'),
} as const satisfies EndpointResponse;
