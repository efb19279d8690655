import type { SettledEvent } from '../../ports/velocity.ts';
import type { HistoryEvent } from '../../risk/history.ts';
import { LocalVelocity } from '../../velocity/local-velocity.ts';
import type { VelocityMemory } from '../../velocity/memory.ts';
import { StreamMarks } from '../../velocity/stream-marks.ts';
import { Table } from '../../velocity/table.ts';
import type { SharedItem } from './event-codec.ts';

/** Choice: what the clocks of nodes may differ by. The structures of the table take events that are so late as they are. */
export const LATE_EXACT_MS = 5_000;
/** Choice: the shortest window of a count. */
export const LATE_SHIFTED_MS = 60_000;

/**
 * Applies what other nodes have counted to this node's table. An event may be older than what the table contains: the clocks differ, or it
 * waited while a node could not reach the store. Its time is compared with the newest of its stream in the table:
 * - up to 5 s older: counted at its time;
 * - up to 1 min older: counted at 5 s before the newest. Without that, counts of a minute would forget the events after it;
 * - older: counted at its time for subjects that this table has not seen since, and left out for all others. Failure direction: open.
 * A node that catches up after a start has only older events in its table, so it counts all of them at their times.
 */
export class ForeignEvents {
  readonly #marks: StreamMarks;
  readonly #velocity: LocalVelocity;
  readonly #late: LocalVelocity;

  constructor(memory: VelocityMemory) {
    this.#marks = new StreamMarks(memory.marks);
    this.#velocity = new LocalVelocity(memory);
    const table = new Table(memory);
    table.skipsNewer = true;
    this.#late = new LocalVelocity(memory, table);
  }

  apply(stream: number, items: readonly SharedItem[]): void {
    let events: HistoryEvent[] = [];
    for (const item of items) {
      if (!('trace' in item)) {
        events.push(item);
        continue;
      }
      this.#observe(stream, events);
      events = [];
      this.#settle(stream, item);
    }
    this.#observe(stream, events);
    this.#marks.add('applied', items.length);
  }

  #observe(stream: number, events: readonly HistoryEvent[]): void {
    if (events.length === 0) return;
    const newestMs = this.#marks.newestMs(stream);
    const [latest, earliest] = spanOf(events);
    if (newestMs - earliest <= LATE_EXACT_MS) this.#velocity.observe(events);
    else {
      for (const event of events) {
        const lateMs = newestMs - event.nowMs;
        if (lateMs > LATE_SHIFTED_MS) this.#late.observe([event]);
        else this.#velocity.observe([lateMs <= LATE_EXACT_MS ? event : { ...event, nowMs: newestMs - LATE_EXACT_MS }]);
      }
    }
    this.#marks.sawAt(stream, latest);
  }

  /** The time of the report is not counted, only that of the decision. */
  #settle(stream: number, settled: SettledEvent): void {
    const nowMs = Math.max(settled.nowMs, this.#marks.newestMs(stream) - LATE_EXACT_MS);
    this.#velocity.settle({ ...settled, nowMs });
  }
}

/** Returns the latest time and the earliest one. */
function spanOf(events: readonly HistoryEvent[]): readonly [number, number] {
  let latest = 0;
  let earliest = Number.POSITIVE_INFINITY;
  for (const { nowMs } of events) {
    latest = Math.max(latest, nowMs);
    earliest = Math.min(earliest, nowMs);
  }
  return [latest, earliest];
}
