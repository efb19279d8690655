import type { ApiCall } from './api-call.ts';
import type { Api } from './api-types.ts';

export interface NamedItemsOptions {
  /** Items per request; default: the service's. */
  readonly pageSize?: number;
}

export interface NamedWriteOptions {
  readonly import?: string;
}

/** Yields the items of a named list over all its pages. */
export async function* namedItems(
  call: ApiCall,
  path: string,
  { pageSize }: NamedItemsOptions = {},
): AsyncGenerator<Api.NamedItem, void, undefined> {
  let cursor: string | undefined;
  do {
    const page = await call('listNamedItems', 'GET', path, { query: { limit: pageSize, cursor } });
    yield* page.data;
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
}
