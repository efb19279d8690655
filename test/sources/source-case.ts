import type { JsonObject, JsonValue } from '../../src/extract/connector.ts';
import type { FakeReply, FakeRequest } from '../support/fake-source.ts';

/** One operation and a source that is shaped as the real one, for the suite that all connectors go through. */
export interface SourceCase {
  readonly connector: string;
  readonly operation: string;
  readonly input: JsonObject;
  /** A source that holds so many records of this operation. */
  readonly world: (records: number) => World;
  /**
   * `cursor`: each page names the next one, so that a source could name pages for ever. `walk`: pages are read whose addresses
   * others name, as many as there are. `none`: all is read at once.
   */
  readonly paging: 'cursor' | 'walk' | 'none';
  /** How many records a page is asked for, null where an address does not say; null for sources that take no size. */
  readonly sizeAsked: ((url: URL) => number | null) | null;
  /** The input that names the host that is asked; null where the operator's base address or the connector's own is. */
  readonly hostIn: 'site' | 'company' | 'url' | null;
  /** How many records a large source holds, where three pages of the usual size are not enough or too many. */
  readonly largeCount?: number;
  /** Records that one run can find at most, whatever the source holds. */
  readonly recordsMax?: number;
  /** Whether a source that holds none says that there is no such thing. */
  readonly emptyIsMissing?: boolean;
  /** Whether the source says how many there are. */
  readonly announcesTotal: boolean;
  /** Whether what is asked for is searched in what the source answers, so that an answer of another kind is a source that lacks it. */
  readonly searches?: boolean;
}

/** For pages larger than 100 records: three pages of 500, or two of 1,000. */
export const LARGE_PAGES = 1_203;

export type World = (request: FakeRequest) => FakeReply;

/** Items that were made before, by what makes them: a source makes its whole list anew for each page that is asked for. */
const made = new WeakMap<object, JsonValue[]>();

/** `count` items, by their place from 0. Those of one `item` are the same objects each time: replies are sent as text. */
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
