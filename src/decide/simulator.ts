import type { CustomerNumber } from '../kernel/brand.ts';
import { SIMULATIONS_PER_CUSTOMER_MAX, SIMULATIONS_WAITING_MAX } from '../kernel/limits.ts';
import { problem, type Problem } from '../contract/problem.ts';
import { AnswerReader, BatchWriter, REQUEST_SIMULATION } from '../frames/batch-buffer.ts';
import type { ScorePool } from '../frames/score-pool.ts';
import { type DecisionRecord, decodeRecord } from '../risk/decision-record.ts';
import { overloaded, readFault } from './respond.ts';

export type Simulated =
  | {
      readonly kind: 'decided';
      readonly record: DecisionRecord;
      /** The body of the response, up to the number of its latency. */
      readonly text: string;
      readonly latencyMs: number;
    }
  | { readonly kind: 'refused'; readonly problem: Problem };

interface Slot {
  readonly frame: number;
  readonly writer: BatchWriter;
  readonly answers: AnswerReader;
}

/**
 * Scores requests that are no decisions: a worker makes the decision as it would for decide, and nothing is admitted, journalled, counted,
 * stored or sent.
 *
 * Simulations cannot starve decisions: each is a batch of one request in a batch buffer of its own, of which there are
 * `SIMULATION_FRAMES`, and the calls are management calls, which give way to decisions. Further ones wait, up to
 * `SIMULATIONS_WAITING_MAX` and `SIMULATIONS_PER_CUSTOMER_MAX` of a customer; beyond that the response is 429.
 */
export class Simulator {
  readonly #pool: Pick<ScorePool, 'run'>;
  readonly #free: Slot[];
  readonly #waiting: ((slot: Slot) => void)[] = [];
  /** Running and waiting ones by customer. */
  readonly #active = new Map<CustomerNumber, number>();

  constructor(pool: Pick<ScorePool, 'run' | 'frames' | 'simulationBatches' | 'warmUpBatches'>) {
    this.#pool = pool;
    const end = pool.frames.length - (pool.warmUpBatches ?? 0);
    const first = end - (pool.simulationBatches ?? 0);
    this.#free = pool.frames.slice(first, end).map((buffer, n) => ({
      frame: first + n,
      writer: new BatchWriter(buffer),
      answers: new AnswerReader(buffer),
    }));
  }

  /** `body` is that of a decide request, at most `DECIDE_BODY_BYTES_MAX` bytes. Never rejects. */
  async run(customer: CustomerNumber, body: Uint8Array, nowMs: number): Promise<Simulated> {
    const own = this.#active.get(customer) ?? 0;
    const isFull = this.#free.length === 0 && this.#waiting.length >= SIMULATIONS_WAITING_MAX;
    if (isFull || own >= SIMULATIONS_PER_CUSTOMER_MAX) {
      return { kind: 'refused', problem: overloaded('simulations', 'Too many simulations are running.') };
    }
    this.#active.set(customer, own + 1);
    try {
      const slot = await this.#obtain();
      try {
        return await this.#score(slot, customer, body, nowMs);
      } finally {
        this.#release(slot);
      }
    } finally {
      const left = (this.#active.get(customer) ?? 1) - 1;
      if (left === 0) this.#active.delete(customer);
      else this.#active.set(customer, left);
    }
  }

  async #score(slot: Slot, customer: CustomerNumber, body: Uint8Array, nowMs: number): Promise<Simulated> {
    const { frame, writer, answers } = slot;
    writer.reset();
    writer.add(body, customer, REQUEST_SIMULATION, nowMs);
    const startedAtMs = performance.now();
    try {
      await this.#pool.run({ frame, from: 0, count: 1 });
      const latencyMs = Math.round(performance.now() - startedAtMs);
      if (answers.status(0) !== 200) return { kind: 'refused', problem: readFault(answers, 0) };
      return { kind: 'decided', record: decodeRecord(answers.record(0)), text: answers.text(0), latencyMs };
    } catch {
      // The worker died, or its record is malformed.
      return { kind: 'refused', problem: problem('internal_error', 'The simulation failed.') };
    }
  }

  async #obtain(): Promise<Slot> {
    return this.#free.pop() ?? (await new Promise<Slot>((resolve) => this.#waiting.push(resolve)));
  }

  #release(slot: Slot): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free.push(slot);
    else next(slot);
  }
}
