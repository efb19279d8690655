import { hash } from 'node:crypto';
import {
  SourceFailure,
  type FoundRecord,
  type JsonObject,
  type Operation,
  type Source,
  type StartResult,
  type Step,
  type StepResult,
  type Wanted,
} from '../../base/connector.ts';
import { unreadable } from './json.ts';
import { onward, TRAIL_START, type Trail } from './trail.ts';

/** Choice: a step is under 4 KiB. The longest cursors of these interfaces have some hundred characters. */
const CURSOR_CHARACTERS_MAX = 1_000;
/** Choice: maximum number of attempts at a page that the source postpones. */
const WAITS_MAX = 5;
/** Choice: GitHub's window lasts an hour. A source that asks for more is called again then. */
const WAIT_SECONDS_MAX = 3_600;

/** Start of the next page: a page number, an offset or a cursor; null for the first. */
export type Cursor = string | number | null;

/** Parameters of the request for a page. */
export interface ChainTurn<Args extends JsonObject> {
  readonly args: Args;
  readonly at: Cursor;
  /** Number of records to request, from 1 to `pageSizeMax`. */
  readonly size: number;
}

export type PageResult<Args extends JsonObject> =
  | {
      readonly kind: 'page';
      readonly records: readonly FoundRecord[];
      /** Null after the last page. */
      readonly next: Cursor;
      readonly total: number | null;
      /** Arguments for the following pages if more is known now, such as which interface responded. */
      readonly args?: Args;
      /** Pause that the source asks for before the next page. */
      readonly pauseSeconds?: number;
      /** Why the list may go on although nothing says where, for the operator. The job then has the note `list_incomplete`. */
      readonly mayGoOn?: string;
    }
  /** The source postpones this page. It is requested again, up to a maximum number of times. */
  | { readonly kind: 'later'; readonly pauseSeconds: number; readonly detail: string };

export type ChainStart<Args extends JsonObject> =
  | { readonly kind: 'args'; readonly args: Args }
  | Extract<StartResult, { readonly kind: 'fault' }>;

/** An operation that reads one page after another, where each names the start of the next. */
export interface Chain<Args extends JsonObject> extends Omit<Operation, 'start' | 'run' | 'carriesRest'> {
  readonly pageSizeMax: number;
  /**
   * `fixed`: all pages have the size of the first one, because a different size would shift the numbered pages. `free`: each page may have
   * its own size, as with cursors and offsets.
   */
  readonly sizing: 'fixed' | 'free';
  /** Pure. Returns the part of the input that every page needs. */
  readonly begin: (input: JsonObject) => ChainStart<Args>;
  /** Throws only `SourceFailure`. */
  readonly read: (turn: ChainTurn<Args>, source: Source) => Promise<PageResult<Args>>;
}

/** State of a chain's step. */
interface ChainState<Args extends JsonObject> {
  readonly args: Args;
  readonly at: Cursor;
  readonly size: number | null;
  readonly trail: Trail;
  readonly waits: number;
  readonly total: number | null;
}

export function chained<Args extends JsonObject>(chain: Chain<Args>): Operation {
  const { pageSizeMax, sizing, begin, read, ...operation } = chain;
  return {
    ...operation,
    start(input: JsonObject): StartResult {
      const begun = begin(input);
      if (begun.kind === 'fault') return begun;
      const state = { args: begun.args, at: null, size: null, trail: TRAIL_START, waits: 0, total: null };
      return { kind: 'steps', steps: [stepOf(state)] };
    },
    async run(step: JsonObject, source: Source, want: Wanted): Promise<StepResult> {
      const state = step as unknown as ChainState<Args>;
      const size = state.size ?? Math.max(1, Math.min(pageSizeMax, Math.trunc(want.recordsLeft)));
      const page = await read({ args: state.args, at: state.at, size }, source);
      const found = advance({ ...state, size: sizing === 'fixed' ? size : null }, page);
      return { ...found, ...unreadableRest(page, found, want) };
    },
    // A job that reads the first page has nothing that could be incomplete.
    carriesRest: (step) => (step as unknown as ChainState<Args>).at !== null,
  };
}

/** Returns the remainder of a list that ends without saying so; nothing if the job wants no more. */
function unreadableRest<Args extends JsonObject>(
  page: PageResult<Args>,
  { next, records }: StepResult,
  { recordsLeft }: Wanted,
): Pick<StepResult, 'unreadable'> {
  if (page.kind === 'later' || page.mayGoOn === undefined || next.length > 0 || records.length >= recordsLeft)
    return {};
  return { unreadable: [{ reason: 'parse_failed', detail: page.mayGoOn, isFetched: true }] };
}

/** Returns what the step found and the next step. */
function advance<Args extends JsonObject>(state: ChainState<Args>, page: PageResult<Args>): StepResult {
  if (page.kind === 'later') return putOff(state, page.pauseSeconds, page.detail);
  const { records } = page;
  const total = page.total ?? state.total;
  const found = { records, total, next: [] };
  const trail = onward(
    state.trail,
    records.map(({ id }) => id),
  );
  if (page.next === null || page.next === state.at || trail === null) return found;
  const next = {
    ...state,
    args: page.args ?? state.args,
    at: page.next,
    trail,
    waits: 0,
    total,
  };
  return { ...found, next: [stepOf(next)], ...pause(page.pauseSeconds) };
}

function putOff<Args extends JsonObject>(state: ChainState<Args>, seconds: number, detail: string): StepResult {
  if (state.waits >= WAITS_MAX) throw new SourceFailure('source_unavailable', detail, true);
  return { records: [], total: state.total, next: [stepOf({ ...state, waits: state.waits + 1 })], ...pause(seconds) };
}

function pause(seconds: number | undefined): { readonly pauseSeconds?: number } {
  return seconds !== undefined && seconds > 0 ? { pauseSeconds: Math.min(Math.ceil(seconds), WAIT_SECONDS_MAX) } : {};
}

/** The key is derived from the cursor, so a cursor that occurred before leads nowhere: two steps with the same key are duplicates. */
function stepOf<Args extends JsonObject>(state: ChainState<Args>): Step {
  const cursor = String(state.at ?? '');
  if (cursor.length > CURSOR_CHARACTERS_MAX) throw unreadable(`a cursor of ${cursor.length} characters`);
  const name = cursor.length <= 100 ? cursor : hash('sha256', cursor, 'hex');
  const key = `${state.at === null ? 'first' : `at:${name}`}${state.waits === 0 ? '' : `#${state.waits}`}`;
  return { key, state: { ...state } };
}
