import type { FailureReason } from '../../work/extraction-job.ts';

/**
 * Definition of a connector. Each connector is one file in `connectors/`, listed in `connectors/connector-table.ts`. How to add one:
 * `docs/connectors.md`.
 *
 * A connector never accesses the network, the store or a clock directly. It receives a `Source`, reads the page or pages of one step
 * through it, and returns what it found and what to read next. Steps are plain JSON in the store. A killed job continues with its open
 * steps. A step must therefore contain everything that its work needs, and must be small: under 4 KiB.
 */
export interface Connector {
  /** In lower case, for example `mediawiki`. */
  readonly id: string;
  readonly title: string;
  /** One or two sentences: which sites, through which interface. */
  readonly description: string;
  readonly docsUrl: string;
  /** Hosts of a source that is the same for all inputs, as passed to `Source.base`. Absent if the input names the hosts. */
  readonly hosts?: readonly string[];
  /** What the source requires of its users: limits, terms, attribution. */
  readonly terms: SourceTerms;
  readonly operations: readonly Operation[];
}

export interface SourceTerms {
  readonly termsUrl: string | null;
  readonly attribution: string | null;
  /** For people, for example "60 requests an hour without a key". */
  readonly ratePolicy: string;
}

/** `basic`: public API or feed; `standard`: pages. Source: contract, 12.5. */
export type Tier = 'basic' | 'standard';

export interface Operation {
  /** `<entity>.<kind>` */
  readonly name: string;
  readonly description: string;
  /** JSON Schema (2020-12) of `input`: an object with `additionalProperties: false`. Validated before any fetch. */
  readonly input: JsonSchema;
  /**
   * JSON Schema of a record without `_meta`. Every property is required; an unknown value is null. The property order is the column order
   * of CSV.
   */
  readonly record: JsonSchema;
  /**
   * Returns what depends on the input, for an operation whose records do: `record` is then the schema of these records, and `run` reads
   * them. Called once for each job. Pure. `input` has started.
   */
  forInput?(input: JsonObject): Pick<Operation, 'record' | 'run'>;
  readonly example: { readonly input: JsonObject; readonly record: JsonObject };
  readonly tier: Tier;
  /** For people: how the source pages. */
  readonly paging: string;
  /** Returns the first steps. Pure. `input` matches the schema. Violations that the schema cannot express are returned as a fault. */
  start(input: JsonObject): StartResult;
  /** Reads one step. Throws only `SourceFailure`; the reason `limit_reached` ends the job. */
  run(step: JsonObject, source: Source, want: Wanted): Promise<StepResult>;
  /**
   * Returns whether the step reads a list, or a page of one after the first. If such a step fails, an unknown remainder of the source's
   * data is lost, and the job cannot have everything. Absent if the operation reads a single page. Pure.
   */
  carriesRest?(step: JsonObject): boolean;
}

/** Returns the operation as it is for an input that has started. */
export function operationFor(operation: Operation, input: JsonObject): Operation {
  return operation.forInput === undefined ? operation : { ...operation, ...operation.forInput(input) };
}

/** Returns whether an unknown remainder of a list is lost when the step fails. */
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
  /** `pointer` into `input`. `code`: default `invalid_value`. */
  | { readonly kind: 'fault'; readonly pointer: string; readonly code?: 'required'; readonly message: string };

export interface Step {
  /** Steps of a job with the same key are duplicates. A crawl therefore uses the URL as the key, and a page chain its page. */
  readonly key: string;
  readonly state: JsonObject;
  /**
   * Set if the step reads a list of further pages or lists. Such a step runs when no page of the job waits, the last one found first, so
   * that lists are read as their pages are needed, and a list within a list before the rest of the outer one. A step that finds several
   * therefore returns them in reverse order.
   */
  readonly isList?: true;
}

/** How much the job still wants, so that a step requests no larger page than necessary. */
export interface Wanted {
  /**
   * Number of records. Infinity with `collect.mode: all`, and if the output schema may reject any number of records. A connector must not
   * truncate its result to this number.
   */
  readonly recordsLeft: number;
}

export interface StepResult {
  readonly records: readonly FoundRecord[];
  /** Further steps, in the order in which to run them; lists in reverse order (`Step.isList`). */
  readonly next: readonly Step[];
  /** The total that the source announces; null if it announces none. */
  readonly total: number | null;
  /** Seconds for which the source asks for a pause before `next`; absent if it asks for none. At most 3,600. */
  readonly pauseSeconds?: number;
  /** Why the step failed, if a record names the reason and the job goes on: it counts as an error. */
  readonly failed?: StepNote;
  /** Problems of a step that still succeeded, for the operator. */
  readonly notes?: readonly StepNote[];
  /**
   * What the source has but the step had no room for, described for the operator. A job that collects everything then ends as
   * `limit_reached`; what the step found is kept.
   */
  readonly leftOut?: string;
  /** Set if a list ends before its closing tag. Same effect as `leftOut`, but with the source's reason instead of `limit_reached`. */
  readonly brokenOff?: StepNote;
  /**
   * Lists that the source names and that cannot be read. The job gets the note `list_incomplete` and can still succeed, because the same
   * pages may be found in other ways.
   */
  readonly unreadable?: readonly UnreadableList[];
  /** Keys of the pages that are linked deeper than the default depth. Those that no step has give the note `depth_limit_reached`. */
  readonly tooDeep?: readonly string[];
}

export interface UnreadableList extends StepNote {
  /** False if the fetch failed, which is already counted as an error. */
  readonly isFetched: boolean;
}

export interface StepNote {
  readonly reason: FailureReason;
  readonly detail: string;
}

/** Choice: maximum number of characters of one text field of a record. A long novel's chapter has 50,000. */
export const TEXT_CHARACTERS_MAX = 500_000;

export interface FoundRecord {
  /** Stable between runs and unique within the source. Duplicates within a job are dropped and counted. */
  readonly id: string;
  readonly sourceUrl: string;
  /** Matches the operation's record schema. */
  readonly fields: JsonObject;
  /** Set if a text of the record is longer than a field may be, and was truncated. */
  readonly isTruncated?: true;
}

/** Choice: sites with more sitemaps name a sitemap index. */
export const ROBOTS_SITEMAPS_MAX = 1_000;

/** A connector's only access to the network: rate-limited, guarded, retried and counted. */
export interface Source {
  /** Fetches a page with decoded text; robots.txt applies. Tier `standard`. */
  page(url: string): Promise<Page>;
  /** Calls a JSON interface; robots.txt does not apply to published APIs. Tier `basic`. */
  json(url: string, options?: JsonRequest): Promise<JsonAnswer>;
  /**
   * Fetches a feed, a sitemap (gzip is decompressed) or any text of a published interface. Tier `basic`; `standard` if the response is an
   * HTML page.
   */
  text(url: string, options?: TextRequest): Promise<Page>;
  /**
   * Fetches a text of up to 50 MiB, such as a sitemap, as a stream that is never completely in memory. Otherwise like `text`. Calls `read`
   * again with a new text from its beginning if the previous one breaks off. Resolves to the result of `read`.
   */
  longText<T>(url: string, read: (text: LongText) => Promise<T>): Promise<T>;
  /**
   * Returns the values of the first `ROBOTS_SITEMAPS_MAX` `Sitemap` lines in the robots.txt of the URL's origin, as absolute URLs. Empty if
   * there are none. Never fails.
   */
  robotsSitemaps(url: string): Promise<readonly string[]>;
  /** Returns the operator's base address for the connector if one is set (`GATEHOUSE_CONNECTOR_BASE_<ID>`, or a test), else `fallback`. */
  base(fallback: string): string;
}

export interface JsonRequest {
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses that are treated as responses, not as failures. */
  readonly allowStatuses?: readonly number[];
}

export interface TextRequest {
  readonly accept?: string;
  readonly allowStatuses?: readonly number[];
  /** Whether robots.txt applies, as it does to sitemaps and feeds found on pages. Default true. */
  readonly robots?: boolean;
}

export interface Page {
  /** The URL after redirects. */
  readonly url: string;
  readonly status: number;
  /** In lower case, without parameters; '' if the response has none. */
  readonly contentType: string;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface LongText extends Omit<Page, 'text'> {
  /** The first characters. */
  readonly beginning: string;
  /**
   * The complete text, in order. Can be read once; a reader that needs no more may stop early. Its rejections must be passed on to the
   * source.
   */
  readonly pieces: AsyncIterable<string>;
}

export interface JsonAnswer {
  readonly url: string;
  readonly status: number;
  readonly body: JsonValue;
  readonly headers: Readonly<Record<string, string>>;
}

/** Why a source could not be read. The fields tell a caller what it may do. `detail` is for the operator only. */
export class SourceFailure extends Error {
  readonly reason: FailureReason;
  /** Whether the same job may succeed later. */
  readonly retryable: boolean;
  /** How long (ms) the source asks to be left alone, if that is longer than a fetch waits; else null. */
  readonly waitMs: number | null;

  constructor(reason: FailureReason, detail: string, retryable: boolean, waitMs: number | null = null) {
    super(detail);
    this.name = 'SourceFailure';
    this.reason = reason;
    this.retryable = retryable;
    this.waitMs = waitMs;
  }
}
