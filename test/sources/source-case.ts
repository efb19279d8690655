import type { JsonObject, JsonValue } from '../../src/extract/base/connector.ts';
import type { FakeReply, FakeRequest } from '../support/fake-source.ts';

/** One operation with a fake source whose responses have the format of the real one, for the conformance tests of all connectors. */
export interface SourceCase {
  readonly connector: string;
  readonly operation: string;
  readonly input: JsonObject;
  /** Returns a source that has `records` records of this operation. */
  readonly world: (records: number) => World;
  /**
   * `cursor`: each page names the next one, so a faulty source could name pages endlessly. `walk`: pages are found through links on other
   * pages or in lists, so their number is limited. `none`: everything is read at once.
   */
  readonly paging: 'cursor' | 'walk' | 'none';
  /** Returns the page size that a request asks for, null if its URL names none. Null for sources without a page size. */
  readonly sizeAsked: ((url: URL) => number | null) | null;
  /** Name of the input that contains the requested host; null if that is the operator's base address or the connector's own. */
  readonly hostIn: 'site' | 'company' | 'url' | null;
  /** Number of records of a large source, if the records of three pages of the usual size are too few or too many. */
  readonly largeCount?: number;
  /** Records that one run can find at most, whatever the source holds. */
  readonly recordsMax?: number;
  /** Whether a source without records fails with `source_not_found`. */
  readonly emptyIsMissing?: boolean;
  /** Whether the source announces the total number of records. */
  readonly announcesTotal: boolean;
  /** Whether the operation searches the response for what it wants: an unexpected response then fails with `source_not_found`. */
  readonly searches?: boolean;
}

/** For pages larger than 100 records: three pages of 500, or two of 1,000. */
export const LARGE_PAGES = 1_203;

export type World = (request: FakeRequest) => FakeReply;

/** Cache of items by the function that makes them: without it, a source would make its whole list again for each requested page. */
const made = new WeakMap<object, JsonValue[]>();

/**
 * Returns `count` items, each created from its index, from 0. The same `item` function gives the same objects each time, which is safe
 * because replies are sent as text.
 */
export function many<T extends JsonValue>(count: number, item: (place: number) => T): readonly T[] {
  const items = (made.get(item) ?? []) as T[];
  made.set(item, items);
  for (let place = items.length; place < count; place++) items.push(item(place));
  return items.slice(0, count);
}

export function json(body: JsonValue, headers: Readonly<Record<string, string>> = {}, status = 200): FakeReply {
  return {
    status,
    body: typeof body === 'string' ? JSON.stringify(body) : body,
    headers: { 'content-type': 'application/json', ...headers },
  };
}

/** A number of the query; `byDefault` where it is not given. */
export function numberIn(url: URL, name: string, byDefault: number): number {
  return Number(url.searchParams.get(name) ?? byDefault);
}

export function sizeIn(name: string): (url: URL) => number | null {
  return (url) => (url.searchParams.has(name) ? Number(url.searchParams.get(name)) : null);
}
