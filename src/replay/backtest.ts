import { BoundedCache } from '../kernel/bounded-cache.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import { DECISIONS, type Decision } from '../risk/decision.ts';
import type { DecisionRecord } from '../risk/decision-record.ts';
import type { OwnRule, TouchedShare } from '../risk/policy/own-rule.ts';
import type { ActivePolicy, CompiledPolicy, PolicySet } from '../risk/policy/policy-set.ts';
import type { DamagedRequests, RequestPiece } from '../history/request-log/read-requests.ts';
import { Replay } from './replay.ts';
import type { ReplayEngine } from './replay-engine.ts';

/** Decision before → decision after → events. */
export type DecisionMatrix = Readonly<Record<Decision, Readonly<Record<Decision, number>>>>;

export interface ChangedDecision {
  readonly request_id: string;
  readonly before: Decision;
  readonly after: Decision;
  /** Those of the decision after. */
  readonly reasons: readonly string[];
}

export interface BacktestResult {
  /** `requests`: the requests were decided again. `features`: an approximation from what the decision log keeps. */
  readonly source: 'requests' | 'features';
  /** Facts that the new policy reads and the source does not have. */
  readonly facts_missing: readonly string[];
  readonly events: number;
  readonly matrix: DecisionMatrix;
  readonly by_label: Readonly<Record<'fraud' | 'legitimate', DecisionMatrix>>;
  /** Different people with a decision that changes. */
  readonly people_touched: number;
  /** What the own rules after the change fired on, in `observe` too, as the circuit breaker counts; empty of an approximation. */
  readonly rules: readonly ({ readonly code: string } & TouchedShare)[];
  readonly examples: readonly ChangedDecision[];
  /**
   * Decisions under the present policy, compared with those that were made: history before the log began, lists, the registry, a model and
   * earlier policies make them differ. Null of an approximation.
   */
  readonly recorded: { readonly same: number; readonly different: number } | null;
  /** First event of the source, which warms the history up, ISO 8601; null without one. */
  readonly log_from: string | null;
  readonly damaged: readonly DamagedRequests[];
}

type Counts = Record<Decision, Record<Decision, number>>;

/** Choice: as many as a person looks at. */
const EXAMPLES_MAX = 20;
/** Choice: so that a frequent change does not hide the rare ones. */
const EXAMPLES_PER_CHANGE = 5;

/** Adds up decisions before and after. */
export class BacktestCounts {
  readonly #matrix = emptyMatrix();
  readonly #byLabel = { fraud: emptyMatrix(), legitimate: emptyMatrix() };
  readonly #people = new Set<string>();
  readonly #examples = new Map<string, ChangedDecision[]>();
  #events = 0;

  /** `person` is null if the request names nobody. */
  add(decided: ChangedDecision, label: 'fraud' | 'legitimate' | null, person: () => string | null): void {
    const { before, after } = decided;
    this.#events++;
    this.#matrix[before][after]++;
    if (label !== null) this.#byLabel[label][before][after]++;
    if (before === after) return;
    const touched = person();
    if (touched !== null) this.#people.add(touched);
    const kind = `${before} ${after}`;
    const examples = this.#examples.get(kind) ?? [];
    this.#examples.set(kind, examples);
    if (examples.length < EXAMPLES_MAX) examples.push(decided);
  }

  result(): Pick<BacktestResult, 'events' | 'matrix' | 'by_label' | 'people_touched' | 'examples'> {
    const kinds = [...this.#examples.values()];
    const some = kinds.flatMap((examples) => examples.slice(0, EXAMPLES_PER_CHANGE));
    const more = kinds.flatMap((examples) => examples.slice(EXAMPLES_PER_CHANGE));
    return {
      events: this.#events,
      matrix: this.#matrix,
      by_label: this.#byLabel,
      people_touched: this.#people.size,
      examples: [...some, ...more].slice(0, EXAMPLES_MAX),
    };
  }
}

/** Counts what own rules fire on, among the decisions that were requested with a secret key. */
class TouchCounts {
  readonly #rules: readonly {
    readonly code: string;
    readonly types: readonly string[] | null;
    readonly counts: Touches;
  }[];

  constructor(rules: readonly OwnRule[]) {
    this.#rules = rules.map(({ code, eventTypes: types }) => ({ code, types, counts: { touched: 0, decisions: 0 } }));
  }

  add({ publicKey, eventType, contributions, observed }: DecisionRecord): void {
    if (publicKey) return;
    for (const { code, types, counts } of this.#rules) {
      if (types?.includes(eventType) === false) continue;
      counts.decisions++;
      if ([...contributions, ...observed].some((one) => one.code === code)) counts.touched++;
    }
  }

  result(): BacktestResult['rules'] {
    return this.#rules.map(({ code, counts }) => ({ code, ...counts }));
  }
}

type Touches = { -readonly [Name in keyof TouchedShare]: TouchedShare[Name] };

export interface BacktestOptions {
  readonly customer: CustomerNumber;
  readonly pieces: Iterable<RequestPiece>;
  /** Decisions of this time and later count; earlier ones only warm the history up. */
  readonly sinceMs: number;
  /** With `comparedPolicies`. */
  readonly engine: ReplayEngine;
  readonly labelOf: (requestId: string) => 'fraud' | 'legitimate' | null;
  readonly factsMissing: readonly string[];
  /** Own rules after the change. */
  readonly rules: readonly OwnRule[];
  readonly onProgress: (share: number, events: number) => void;
  /** Ends early; what was decided until then is the result. */
  readonly stop: AbortSignal;
}

const PROGRESS_EVENTS = 2_000;

/** Decides logged requests again, each under both policies on the same history. */
export async function backtestRequests(options: BacktestOptions): Promise<BacktestResult> {
  const { customer, sinceMs, labelOf, onProgress } = options;
  const counts = new BacktestCounts();
  const touches = new TouchCounts(options.rules);
  const damaged: DamagedRequests[] = [];
  const recorded = { same: 0, different: 0 };
  let fromMs: number | null = null;
  const replay = new Replay<Decision>(options.engine, (replayed, { body, atMs }, made) => {
    if (replayed.kind === 'refused' || atMs < sinceMs) return;
    const { requestId, wouldBe, decision, challenger, contributions } = replayed.record;
    const after = wouldBe ?? decision;
    const before = challenger ?? after;
    if (before === made) recorded.same++;
    else recorded.different++;
    const reasons = contributions.map(({ code }) => code);
    touches.add(replayed.record);
    counts.add({ request_id: requestId, before, after, reasons }, labelOf(requestId), () => personOf(body));
  });
  let events = 0;
  let share = 0;
  for (const piece of options.pieces) {
    if (options.stop.aborted) break;
    if (piece.kind === 'damaged') {
      const { file, fromByte, toByte } = piece;
      damaged.push({ file, fromByte, toByte });
    } else if (piece.kind === 'progress') ({ share } = piece);
    else if (piece.entry.kind === 'outcome') await replay.outcome({ customer, ...piece.entry });
    else {
      const { atMs, decision, ...request } = piece.entry;
      fromMs ??= atMs;
      await replay.request({ customer, atMs, ...request }, decision, true);
      if (++events % PROGRESS_EVENTS === 0) {
        onProgress(share, events);
        // Lets a request to cancel in.
        await new Promise((done) => setImmediate(done));
      }
    }
  }
  await replay.flush();
  onProgress(1, events);
  return {
    source: 'requests',
    facts_missing: options.factsMissing,
    ...counts.result(),
    rules: touches.result(),
    recorded,
    log_from: fromMs === null ? null : new Date(fromMs).toISOString(),
    damaged,
  };
}

/** Choice: event types are the customer's own text. */
const TYPES_KEPT = 256;

/** Returns the policies of `after`, each with that of `before` as its challenger: a record then has the decisions of both. */
export function comparedPolicies(before: PolicySet, after: PolicySet): PolicySet {
  const known = new BoundedCache<string, ActivePolicy>(TYPES_KEPT);
  return {
    version: after.version,
    of(customer, eventType) {
      let active = known.get(eventType);
      if (active === undefined) {
        const [now, next] = [before.of(customer, eventType), after.of(customer, eventType)];
        active = { ...next, counters: countersOfBoth(next, now), challenger: now };
        known.set(eventType, active);
      }
      return active;
    },
    setRules() {
      throw new Error('the policies of a backtest do not change');
    },
  };
}

/** Counters that both declare alike count once. */
function countersOfBoth(one: CompiledPolicy, other: CompiledPolicy): CompiledPolicy['counters'] {
  const both = [...(one.counters ?? []), ...(other.counters ?? [])].map((counter) => [counter.id, counter] as const);
  return both.length === 0 ? null : [...new Map(both).values()];
}

/** Returns the first entity of a body, else its session or address. */
function personOf(body: Uint8Array): string | null {
  const fields = JSON.parse(Buffer.from(body).toString()) as Readonly<Record<string, unknown>>;
  const entities = fields['entity_keys'];
  const [first] = typeof entities === 'object' && entities !== null ? Object.entries(entities) : [];
  if (first !== undefined) return `${first[0]}=${String(first[1])}`;
  for (const name of ['session_token', 'ip']) if (typeof fields[name] === 'string') return `${name}=${fields[name]}`;
  return null;
}

function emptyMatrix(): Counts {
  return Object.fromEntries(DECISIONS.map((decision) => [decision, emptyRow()])) as Counts;
}

function emptyRow(): Record<Decision, number> {
  return { ALLOW: 0, ALLOW_WATCH: 0, SOFT_CHALLENGE: 0, REVIEW: 0, BLOCK: 0 };
}
