import type { FailureReason } from '../core/extraction.ts';

/**
 * What a connector is. One file a connector in `connectors/`, registered in the ordered table of `connectors/index.ts`; how to add
 * one: `docs/connectors.md`.
 *
 * A connector never touches the network, the store or a clock by itself: it is given a `Source`, reads one step's page or pages
 * through it and says what it found and what is to be read next. Steps are plain JSON, kept in the store; a job that was killed goes
 * on with the steps that were not done. So a step must hold all that its work needs, and be small: under 4 KiB.
 */
export interface Connector {
  /** Lower case, for example `mediawiki`. */
  readonly id: string;
  readonly title: string;
  /** One or two sentences: which sites, by which interface. */
  readonly description: string;
  readonly docsUrl: string;
  /** Hosts of a source that is the same for all inputs, as `Source.base` is told of it; absent where the input names them. */
  readonly hosts?: readonly string[];
  /** What the source asks of those who use it: limits, terms, attribution. */
  readonly terms: SourceTerms;
  readonly operations: readonly Operation[];
}

export interface SourceTerms {
  readonly termsUrl: string | null;
  readonly attribution: string | null;
  /** For people, for example "60 requests an hour without a key". */
  readonly ratePolicy: string;
}

/** `basic`: public API or feed; `standard`: pages. Source: open points, section 5. */
export type Tier = 'basic' | 'standard';

export interface Operation {
  /** `<entity>.<kind>` */
  readonly name: string;
  readonly description: string;
  /** JSON Schema (2020-12) of `input`; an object with `additionalProperties: false`. Held before any fetch. */
  readonly input: JsonSchema;
  /** JSON Schema of a record without `_meta`; every property is required, an unknown value is null. Its order is that of CSV. */
  readonly record: JsonSchema;
  readonly example: { readonly input: JsonObject; readonly record: JsonObject };
  readonly tier: Tier;
  /** For people: how the source pages. */
  readonly paging: string;
  /** The first steps. Pure. `input` holds to the schema; what the schema cannot say is answered as a fault. */
  start(input: JsonObject): StartResult;
  /** Reads one step. Throws `SourceFailure` alone. */
  run(step: JsonObject, source: Source, want: Wanted): Promise<StepResult>;
  /**
   * Whether the step reads a list: when it fails, an unknown rest of what the source has is lost, and the job cannot have all. Absent
   * where only chains of one step at a time have lists, whose failure ends the job in any case. Pure.
   */
  carriesRest?(step: JsonObject): boolean;
}

/** Whether an unknown rest of a list is lost when the step fails. */
export function carriesRest(operation: Operation | undefined, stateJson: string): boolean {
  return operation?.carriesRest?.(JSON.parse(stateJson) as JsonObject) ?? false;
}

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: JsonValue;
}
export type JsonSchema = JsonObject;

export type StartResult =
  | { readonly kind: 'steps'; readonly steps: readonly Step[] }
  /** `pointer` into `input`. */
  | { readonly kind: 'fault'; readonly pointer: string; readonly message: string };

export interface Step {
  /** Two steps of a job with the same key are one; so a crawl names the URL here, and a page chain its page. */
  readonly key: string;
  readonly state: JsonObject;
}

/** How much the job still wants, so that a step asks for no larger page than that. */
export interface Wanted {
  /** Records; Infinity with `collect.mode: all`, and where the output's schema may refuse any number of them. Cut nothing by it. */
  readonly recordsLeft: number;
}

export interface StepResult {
  readonly records: readonly FoundRecord[];
  /** Further steps, in the order in which they are to be taken. */
  readonly next: readonly Step[];
  /** What the source announces in all, where it does; null else. */
  readonly total: number | null;
  /** Seconds for which the source asks to be left alone before `next`; absent where it asks for nothing. At most 3,600. */
  readonly pauseSeconds?: number;
  /** What went wrong although the step did its work, for the operator. */
  readonly notes?: readonly StepNote[];
  /**
   * What the source has and the step had no room for, in words for the operator. A job that wants all ends as `limit_reached` then;
   * what the step found is kept.
   */
  readonly leftOut?: string;
  /** Set if a list ends before its closing tag. Same effect as `leftOut`, with the source's reason in place of `limit_reached`. */
  readonly brokenOff?: StepNote;
  /**
   * Lists that the source names and that cannot be read. The job gets the note `list_incomplete` and can still succeed, because other
   * ways may find the same pages.
   */
  readonly unreadable?: readonly UnreadableList[];
}

export interface UnreadableList extends StepNote {
  /** False if the fetch failed: that is already counted as an error. */
  readonly isFetched: boolean;
}

export interface StepNote {
  readonly reason: FailureReason;
  readonly detail: string;
}

export interface FoundRecord {
  /** Stable over runs and unique in the source: a duplicate in a job is dropped and counted. */
  readonly id: string;
  readonly sourceUrl: string;
  /** Holds to the operation's record schema. */
  readonly fields: JsonObject;
}

/** Choice: sites that have more sitemaps name an index of them. */
export const ROBOTS_SITEMAPS_MAX = 1_000;

/** The one way to the outside: polite, guarded, retried, counted. */
export interface Source {
  /** A page, its text decoded; robots.txt holds. Tier `standard`. */
  page(url: string): Promise<Page>;
  /** A JSON interface; robots.txt does not hold for published APIs. Tier `basic`. */
  json(url: string, options?: JsonRequest): Promise<JsonAnswer>;
  /** A feed, a sitemap (gz is opened), any text of a published interface. Tier `basic`; `standard` where an HTML page comes. */
  text(url: string, options?: TextRequest): Promise<Page>;
  /**
   * A text of up to 50 MiB that is read while it comes and never stands in memory whole: a sitemap. Otherwise as `text`. `read` begins
   * anew, with a text from its beginning, when the one before breaks off on the way; what it resolves to is the result.
   */
  longText<T>(url: string, read: (text: LongText) => Promise<T>): Promise<T>;
  /**
   * What the first `ROBOTS_SITEMAPS_MAX` `Sitemap` lines of the robots.txt of the URL's origin say, absolute; empty where there are
   * none. Never fails.
   */
  robotsSitemaps(url: string): Promise<readonly string[]>;
  /** Tells a connector's base address where an operator has set another one: `GATEHOUSE_CONNECTOR_BASE_<ID>` or a test. */
  base(fallback: string): string;
}

export interface JsonRequest {
  readonly headers?: Readonly<Record<string, string>>;
  /** These statuses are answers and no failures. */
  readonly allowStatuses?: readonly number[];
}

export interface TextRequest {
  readonly accept?: string;
  readonly allowStatuses?: readonly number[];
  /** robots.txt holds for it, as for sitemaps and feeds found on pages. Default true. */
  readonly robots?: boolean;
}

export interface Page {
  /** After redirects. */
  readonly url: string;
  readonly status: number;
  /** Lower case, without parameters; '' when none was given. */
  readonly contentType: string;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface LongText extends Omit<Page, 'text'> {
  /** Its first characters. */
  readonly beginning: string;
  /** All of it, in order; to be read once, and not to its end by who needs no more. What it rejects with is left to the source. */
  readonly pieces: AsyncIterable<string>;
}

export interface JsonAnswer {
  readonly url: string;
  readonly status: number;
  readonly body: JsonValue;
  readonly headers: Readonly<Record<string, string>>;
}

/** Why a source could not be read; the class says what a caller may do. `detail` is for the operator alone. */
export class SourceFailure extends Error {
  readonly reason: FailureReason;
  /** Whether the same job may succeed later. */
  readonly retryable: boolean;
  /** For how long the source asks to be left alone, where no fetch waits so long; null else. */
  readonly waitMs: number | null;

  constructor(reason: FailureReason, detail: string, retryable: boolean, waitMs: number | null = null) {
    super(detail);
    this.name = 'SourceFailure';
    this.reason = reason;
    this.retryable = retryable;
    this.waitMs = waitMs;
  }
}
