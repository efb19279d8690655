import type { FoundRecord, JsonObject, JsonValue, Source } from '../../base/connector.ts';
import { address } from './api-address.ts';
import type { ChainTurn, PageResult } from './chain.ts';
import { integerOf, listIn, readEach } from './json.ts';
import { nextQuery } from './link-header.ts';
import { restOfWindow } from './source-window.ts';

/** Arguments of a list whose pages are linked by the `Link` header. */
export interface LinkedArgs extends JsonObject {
  readonly site: string;
  readonly path: readonly string[];
  readonly query: { readonly [name: string]: string | boolean | null };
}

/** An interface of self-hosted software that pages in this way. */
export interface LinkedApi {
  /** Path of the interface below the site. */
  readonly root: readonly string[];
  /** Name of the parameter for the page size. */
  readonly sizeName: string;
  /** Names of the parameters that say where a page begins. */
  readonly cursorNames: readonly string[];
  /** Header with the number of all items; absent where the source does not count them. */
  readonly totalHeader: string;
  /** Returns the items of a response. Default: the response itself. */
  readonly itemsIn?: (body: JsonValue) => JsonValue | undefined;
}

/**
 * Reads one page. Uses only the parameters of the link to the next page that say where it begins, because a link may name another host, and
 * would repeat a long query.
 */
export async function readLinkedPage<Args extends LinkedArgs>(
  { root, sizeName, cursorNames, totalHeader, itemsIn = (body) => body }: LinkedApi,
  { args, at: cursor, size }: ChainTurn<Args>,
  source: Source,
  read: (item: JsonObject) => FoundRecord | null,
): Promise<PageResult<Args>> {
  const begin = cursor === null ? {} : Object.fromEntries(new URLSearchParams(String(cursor)).entries());
  const url = address(args.site, [...root, ...args.path], { ...args.query, [sizeName]: size, ...begin });
  const answer = await source.json(url);
  const items = listIn(itemsIn(answer.body), 'the list');
  const link = answer.headers['link'];
  const next = nextQuery(link);
  const place = new URLSearchParams([...(next ?? [])].filter(([name]) => cursorNames.includes(name)));
  return {
    kind: 'page',
    records: readEach(items, read),
    next: items.length === 0 || place.size === 0 ? null : place.toString(),
    total: integerOf(answer.headers[totalHeader]),
    ...restOfWindow(answer, 'ratelimit'),
    // Some proxies remove the header.
    ...(link === undefined &&
      items.length >= size && { mayGoOn: `${answer.url} is a full page without a Link header` }),
  };
}
