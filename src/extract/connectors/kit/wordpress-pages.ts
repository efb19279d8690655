import type { JsonAnswer, Source } from '../../base/connector.ts';
import { address, withQuery, type AddressQuery } from './api-address.ts';
import { at } from './json.ts';

/** Choice: sites that lower the maximum of 100 records a page use round numbers. */
const SMALLER_SIZES = [50, 20, 10];

/** Where a site has its interface. `byRoute`: it has no URL rewriting. */
export interface WordpressPlace {
  readonly site: string;
  readonly byRoute: boolean;
}

/** Returns the URL of a route of the interface. */
export function wordpressUrl({ site, byRoute }: WordpressPlace, route: readonly string[], query: AddressQuery): string {
  return byRoute
    ? withQuery(`${site}/`, { rest_route: `/${route.join('/')}`, ...query })
    : address(site, ['wp-json', ...route], query);
}

/**
 * Requests a page of WordPress's interface. With `mayShrink`, requests smaller pages if the site refuses the size. Returns the size that
 * was accepted. A status of 400 is returned too.
 */
export async function wordpressPage(
  source: Source,
  urlOf: (size: number) => string,
  { size, mayShrink }: { readonly size: number; readonly mayShrink: boolean },
): Promise<{ readonly answer: JsonAnswer; readonly url: string; readonly size: number }> {
  const smaller = mayShrink ? SMALLER_SIZES.filter((one) => one < size) : [];
  for (let now = size; ;) {
    const url = urlOf(now);
    const answer = await source.json(url, { allowStatuses: [400] });
    const next = answer.status === 400 && refusesSize(answer) ? smaller.shift() : undefined;
    if (next === undefined) return { answer, url, size: now };
    now = next;
  }
}

/** Source: WP_REST_Request, `has_valid_params`. */
function refusesSize({ body }: JsonAnswer): boolean {
  return at(body, 'code') === 'rest_invalid_param' && at(body, 'data', 'params', 'per_page') !== undefined;
}
