import { unreachable } from '../base/brand.ts';
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
  #waiting: Arrived[] = [];
  #running: Promise<void> | null = null;
  #closing = false;

  constructor(parts: ResultWriterParts) {
    this.#parts = parts;
  }

  add(arrived: readonly Arrived[]): void {
    this.#waiting.push(...arrived);
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
      const arrived = this.#waiting;
      this.#waiting = [];
      const done = await this.#parts.deliveries.apply(arrived.map(updateOf));
      if (done.kind === 'ok') {
        this.#parts.onApplied(arrived);
        continue;
      }
      this.#parts.onFault(done);
      this.#waiting = [...arrived, ...this.#waiting];
      if (this.#closing) break;
      await new Promise((resume) => setTimeout(resume, RETRY_MS));
    }
    this.#running = null;
  }
}

function updateOf({ result, delivery }: Arrived): DeliveryUpdate {
  const { outcome, elapsedMs, completedAtMs } = result;
  const { customer, id, trigger } = delivery;
  const attempt = result.attempt === null ? null : { ...result.attempt, attempt: ++delivery.attempts };
  const change = { customer, id, attempt, elapsedMs, nextAttemptAtMs: null };
  switch (outcome.kind) {
    case 'waiting':
    case 'parked':
      return {
        ...change,
        status: 'pending',
        error: null,
        completedAtMs: null,
        nextAttemptAtMs: outcome.nextAttemptAtMs,
      };
    case 'succeeded':
      return { ...change, status: 'succeeded', error: null, completedAtMs };
    case 'failed':
    case 'skipped':
      return { ...change, status: outcome.kind, error: outcome.error, completedAtMs };
    case 'kept':
      // Nobody waits for a test any more after the next start.
      if (trigger === 'test') return { ...change, status: 'failed', error: 'shutdown', completedAtMs };
      return { ...change, status: 'pending', error: null, completedAtMs: null };
    default:
      return unreachable(outcome);
  }
}
