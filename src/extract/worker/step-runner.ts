import { unreachable } from '../../kernel/brand.ts';
import { SlotMap } from '../../kernel/slot-map.ts';
import type {
  ExtractEvent,
  ExtractFailure,
  ExtractJobMessage,
  ExtractOrder,
  ExtractStepMessage,
} from '../base/extract-messages.ts';
import type { Connector, JsonObject, Operation } from '../base/connector.ts';
import { carriesRest, operationFor, SourceFailure } from '../base/connector.ts';
import type { FetchParts, DomainTokens } from '../fetch/fetch-parts.ts';
import type { JobSession } from '../fetch/fetch-session.ts';
import type { SourceSession } from '../base/source-session.ts';
import { KeyRoom, KnownSteps } from './step-deduplication.ts';
import { failedResult, runStep, type RunnableJob, type StepDone } from './run-step.ts';
import { createShaper } from '../shape/shaper.ts';

export interface StepRunnerParts {
  readonly connectors: readonly Connector[];
  readonly fetch: Omit<FetchParts, 'polite'>;
  /** Connector → base address that replaces its own. */
  readonly bases: Readonly<Record<string, string>>;
  /** Calls `then` once, later. The returned function cancels it. */
  after(ms: number, then: () => void): () => void;
  /** For durations. */
  monotonicMs(): number;
  emit(event: ExtractEvent): void;
}

/**
 * Choice: limit for a step's own work, without the time that it waits for a domain's rate limiter. Each of its requests is limited to 20 s.
 */
const STEP_MS_MAX = 300_000;

interface Running {
  readonly job: number;
  giveUp(): void;
}

interface DomainToken {
  readonly grant: () => void;
}

/** The worker's side of the scheduler: runs the steps that it receives, all of them concurrently. */
export class StepRunner {
  readonly #parts: StepRunnerParts;
  readonly #jobs = new Map<number, KnownJob | ExtractFailure>();
  readonly #running = new SlotMap<Running>();
  readonly #permits = new SlotMap<DomainToken>();
  readonly #room = new KeyRoom();
  #nextPermit = 1;

  constructor(parts: StepRunnerParts) {
    this.#parts = parts;
  }

  /** `listening` and `stop` are handled by the worker itself, and uploads by another class. */
  order(order: Extract<ExtractOrder, { readonly kind: 'job' | 'forget' | 'steps' | 'permitted' }>): void {
    switch (order.kind) {
      case 'job':
        this.#forgetSteps(order.job.job);
        this.#jobs.set(order.job.job, prepare(order.job, this.#parts, new KnownSteps(this.#room)));
        break;
      case 'forget':
        this.#forget(order.job);
        break;
      case 'steps':
        for (const step of order.steps) this.#begin(step);
        break;
      case 'permitted':
        for (const permit of order.permits) this.#permits.get(permit)?.grant();
        break;
      default:
        unreachable(order);
    }
  }

  #forget(job: number): void {
    this.#forgetSteps(job);
    this.#jobs.delete(job);
    for (const running of this.#running.values()) if (running.job === job) running.giveUp();
  }

  #forgetSteps(number: number): void {
    const job = this.#jobs.get(number);
    if (job !== undefined && 'known' in job) job.known.forget();
  }

  #begin({ lease, job: number, stateJson, recordsLeft, written }: ExtractStepMessage): void {
    const job = this.#jobs.get(number) ?? internal('the job is unknown to its worker');
    if (!('operation' in job)) {
      this.#parts.emit({ kind: 'result', lease, ...failedResult(job) });
      return;
    }
    const { known } = job;
    known.written(written);
    const turn = new StepTurn(this.#parts, lease, this.#permits, () => this.#nextPermit++);
    this.#running.set(lease, { job: number, giveUp: () => turn.giveUp(GIVEN_UP) });
    const fetch = { ...this.#parts.fetch, polite: turn };
    void Promise.race([runStep(job, fetch, { stateJson, recordsLeft }), turn.givenUp.then(asDone)]).then(
      ({ result, keys }) => {
        turn.end();
        this.#running.delete(lease);
        known.sent(lease, keys);
        this.#parts.emit({ kind: 'result', lease, ...withLoss(job.operation, stateJson, result) });
      },
    );
  }
}

/** A job for which this worker has run steps. */
interface KnownJob extends RunnableJob {
  readonly known: KnownSteps;
}

/** Adds to a failure whether it loses the remainder of a list. `limit_reached` has that mark already, or ends the job. */
function withLoss(operation: Operation, stateJson: string, result: StepDone['result']): StepDone['result'] {
  const { failure } = result;
  if (failure === null || failure.reason === 'limit_reached' || !carriesRest(operation, stateJson)) return result;
  return { ...result, failure: { ...failure, losesRest: true } };
}

function asDone(failure: ExtractFailure): StepDone {
  return { result: failedResult(failure), keys: [] };
}

const GIVEN_UP: ExtractFailure = { reason: 'cancelled', retryable: false, detail: 'the job has ended' };
const TOO_LONG: ExtractFailure = { reason: 'timeout', retryable: true, detail: 'the step took too long' };

/** A running step with its rate limiter tokens and its time limit. */
class StepTurn implements DomainTokens {
  readonly givenUp: Promise<ExtractFailure>;
  readonly #parts: StepRunnerParts;
  readonly #lease: number;
  readonly #waiting: SlotMap<DomainToken>;
  readonly #number: () => number;
  /** Domain → the tokens that this step holds there. */
  readonly #held = new Map<string, number[]>();
  readonly #refusals = new Map<number, (error: unknown) => void>();
  #failure: ExtractFailure | null = null;
  #giveUp: (failure: ExtractFailure) => void = () => {};
  #startedAtMs: number;
  #waitedMs = 0;
  #callOff: () => void;

  constructor(parts: StepRunnerParts, lease: number, waiting: SlotMap<DomainToken>, number: () => number) {
    this.#parts = parts;
    this.#lease = lease;
    this.#waiting = waiting;
    this.#number = number;
    this.#startedAtMs = parts.monotonicMs();
    this.givenUp = new Promise((resolve) => {
      this.#giveUp = resolve;
    });
    this.#callOff = parts.after(STEP_MS_MAX, () => this.#look());
  }

  permit(domain: string): Promise<void> {
    if (this.#failure !== null) return Promise.reject(asError(this.#failure));
    const permit = this.#number();
    const askedAtMs = this.#parts.monotonicMs();
    this.#held.set(domain, [...(this.#held.get(domain) ?? []), permit]);
    return new Promise<void>((resolve, reject) => {
      this.#refusals.set(permit, reject);
      this.#waiting.set(permit, {
        grant: () => {
          this.#waiting.delete(permit);
          this.#refusals.delete(permit);
          this.#waitedMs += this.#parts.monotonicMs() - askedAtMs;
          resolve();
        },
      });
      this.#parts.emit({ kind: 'permit', permit, lease: this.#lease, domain });
    });
  }

  release(domain: string): void {
    const held = this.#held.get(domain) ?? [];
    // Any granted token of the domain will do, but a waiting one must not be released.
    const at = held.findIndex((permit) => !this.#refusals.has(permit));
    const permit = held[at];
    if (permit === undefined) return;
    held.splice(at, 1);
    this.#parts.emit({ kind: 'release', permit });
  }

  report(domain: string, wish: { readonly retryAfterMs?: number; readonly crawlDelayMs?: number }): void {
    this.#parts.emit({ kind: 'report', domain, wish });
  }

  giveUp(failure: ExtractFailure): void {
    this.#failure ??= failure;
    for (const refuse of this.#refusals.values()) refuse(asError(failure));
    this.#giveUp(failure);
  }

  /** Releases all tokens that the step still holds. */
  end(): void {
    this.#callOff();
    this.#failure ??= GIVEN_UP;
    for (const permit of this.#refusals.keys()) this.#waiting.delete(permit);
    this.#refusals.clear();
    for (const held of this.#held.values()) {
      for (const permit of held) this.#parts.emit({ kind: 'release', permit });
    }
    this.#held.clear();
  }

  /** Checks the step's own time, without the time that it waited for tokens. If it is waiting now, checks again later. */
  #look(): void {
    const workedMs = this.#parts.monotonicMs() - this.#startedAtMs - this.#waitedMs;
    if (this.#refusals.size === 0 && workedMs >= STEP_MS_MAX) this.giveUp(TOO_LONG);
    else this.#callOff = this.#parts.after(Math.max(1_000, STEP_MS_MAX - workedMs), () => this.#look());
  }
}

function asError({ reason, retryable, detail }: ExtractFailure): SourceFailure {
  return new SourceFailure(reason, detail, retryable);
}

/** Returns what all steps of a job share, or a failure if the job cannot be run. */
function prepare(
  { connector: id, operation: name, inputJson, output, sessionJson, sessionOrigins }: ExtractJobMessage,
  { connectors, bases }: StepRunnerParts,
  known: KnownSteps,
): KnownJob | ExtractFailure {
  const connector = connectors.find((known) => known.id === id);
  const named = connector?.operations.find((known) => known.name === name);
  if (connector === undefined || named === undefined) return internal(`${id} ${name} no longer exists`);
  const operation = operationFor(named, JSON.parse(inputJson) as JsonObject);
  const shaper = createShaper(output, operation.record);
  if (shaper.kind === 'faults') return internal(`the output cannot be shaped: ${JSON.stringify(shaper.errors)}`);
  const base = bases[id] ?? null;
  // If the source is always the same, an input names no origins. The operator's base address for it is used like one.
  const origins = connector.hosts === undefined ? sessionOrigins : base === null ? [] : [new URL(base).origin];
  const session: JobSession | null =
    sessionJson === null ? null : { ...(JSON.parse(sessionJson) as SourceSession), origins };
  return { operation, shaper: shaper.shaper, session, base, known };
}

function internal(detail: string): ExtractFailure {
  return { reason: 'internal_error', retryable: false, detail };
}
