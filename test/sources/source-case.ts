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
  /** What a large source holds; less than others where each record is a page that takes its time. */
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

export type World = (request: FakeRequest) => FakeReply;

/** `count` items, by their place from 0. */
export function many<T extends JsonValue>(count: number, item: (place: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, place) => item(place));
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
