import type { OutcomeMemory, SettledEvent, Velocity } from '../../ports/velocity.ts';
import type { HistoryEvent, HistoryFacts } from '../../risk/history.ts';
import type { LocalVelocity } from '../../velocity/local-velocity.ts';
import type { VelocityMemory } from '../../velocity/memory.ts';
import { StreamMarks } from '../../velocity/stream-marks.ts';
import { velocityShard } from '../store/store-keys.ts';
import type { VelocityExchange } from './velocity-exchange.ts';

type Facts = readonly (HistoryFacts | null)[];

/**
 * The velocity store of a cluster: every node has the whole table, and nodes exchange the events. A batch costs one round trip, in which
 * its events are appended to the streams of their customers and the events of other nodes before them are returned and applied. So counts
 * are those of a single table that got all events in the order of the streams, and all rules stay as they are.
 *
 * Measured (batches of 16, processor time): a round trip costs the worker 30 to 100 µs, most of it in the client and in the system; an
 * event of another node costs 1.13 times an own one of `LocalVelocity`, decoding included.
 *
 * While the store cannot be reached, or answers late, events are counted by this node alone and wait to be sent.
 */
export class ClusterVelocity implements Velocity, OutcomeMemory {
  readonly #local: LocalVelocity;
  readonly #exchange: VelocityExchange;
  readonly #marks: StreamMarks;
  #settled = new Map<number, SettledEvent[]>();
  #settling: Promise<void> | null = null;

  /** `local` belongs to this instance: traces of its last batch stay valid. `exchange` may be shared by the instances of a thread. */
  constructor(memory: VelocityMemory, local: LocalVelocity, exchange: VelocityExchange) {
    this.#local = local;
    this.#exchange = exchange;
    this.#marks = new StreamMarks(memory.marks);
  }

  observe(events: readonly HistoryEvent[], isAlone = false): Facts | Promise<Facts> {
    if (events.length === 0) return [];
    const streams = this.#put(events);
    if (isAlone || !this.#exchange.isUp) {
      if (this.#exchange.isUp) void this.#exchange.send(streams);
      else this.#exchange.retryLater();
      return this.#count(events, false);
    }
    return this.#exchange.run(streams).then((isComplete) => this.#count(events, isComplete));
  }

  /**
   * Counts at once, before events of other nodes that this one has not read yet: its background reader is up to 50 ms behind.
   *
   * Resolves when other nodes can read the outcome, or it waits for the store. Outcomes of one turn travel together.
   */
  settle(settled: SettledEvent): Promise<void> {
    this.#local.settle(settled);
    const stream = velocityShard(settled.customer);
    const waiting = this.#settled.get(stream);
    if (waiting === undefined) this.#settled.set(stream, [settled]);
    else waiting.push(settled);
    this.#settling ??= Promise.resolve().then(() => this.#sendSettled());
    return this.#settling;
  }

  async #sendSettled(): Promise<void> {
    this.#settling = null;
    this.#putSettled();
    if (this.#exchange.isUp) await this.#exchange.flush();
    else this.#exchange.retryLater();
  }

  #putSettled(): void {
    const settled = this.#settled;
    if (settled.size === 0) return;
    this.#settled = new Map();
    for (const [stream, items] of settled) this.#exchange.put(stream, items);
  }

  /** Queues the events by stream; usually a batch has few customers. Returns the streams. */
  #put(events: readonly HistoryEvent[]): ReadonlySet<number> {
    this.#putSettled();
    const streams = new Set<number>();
    for (const { customer } of events) streams.add(velocityShard(customer));
    for (const stream of streams) {
      const own = streams.size === 1 ? events : events.filter(({ customer }) => velocityShard(customer) === stream);
      this.#exchange.put(stream, own);
    }
    return streams;
  }

  #count(events: readonly HistoryEvent[], isComplete: boolean): Facts {
    if (!isComplete) {
      this.#marks.add('alone', events.length);
      this.#marks.happens('countedAlone');
    }
    for (const { customer, nowMs } of events) this.#marks.sawAt(velocityShard(customer), nowMs);
    return this.#local.observe(events);
  }
}
