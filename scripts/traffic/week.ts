import { AddressBook, type FindCountry } from './addresses.ts';
import { planAttacks } from './attacks/index.ts';
import { DeviceMaker } from './devices.ts';
import type { PlannedSession, TrafficEvent } from './events.ts';
import { settleEstablished } from './honest/established.ts';
import { settleEverydayPeople } from './honest/everyday.ts';
import { settleGroups } from './honest/groups.ts';
import { settleOccasions } from './honest/occasions.ts';
import { settleTravellers } from './honest/travel.ts';
import { World } from './world.ts';

export interface WeekOptions {
  readonly seed: number;
  /** 1 means about 30,000 people. */
  readonly scale: number;
  readonly days: number;
  readonly attacks: boolean;
}

/** Plans all sessions. The honest part is the same with and without attacks. */
export function planWeek(
  { seed, scale, days, attacks }: WeekOptions,
  findCountry: FindCountry,
): readonly PlannedSession[] {
  const book = new AddressBook(findCountry, seed, scale);
  const world = new World({ seed, scale, days, book, devices: new DeviceMaker(`seed ${seed}`) });
  settleEverydayPeople(world);
  settleTravellers(world);
  settleGroups(world);
  settleOccasions(world);
  settleEstablished(world);
  if (attacks) planAttacks(world);
  return world.sessions.sort((a, b) => a.startMs - b.startMs || a.label.id - b.label.id);
}

/** Yields all events of all sessions in time order. Holds only the events of active sessions in memory. */
export function* eventsOf(sessions: readonly PlannedSession[]): Generator<TrafficEvent> {
  const underWay = new EventHeap();
  for (const session of sessions) {
    for (let next = underWay.peek(); next !== null && next.atMs < session.startMs; next = underWay.peek())
      yield underWay.take();
    underWay.add(session.play());
  }
  while (underWay.peek() !== null) yield underWay.take();
}

interface Begun {
  readonly events: readonly TrafficEvent[];
  at: number;
  /** Time of its next event. */
  atMs: number;
  readonly id: number;
}

/** A binary heap of sessions by the time of their next event; equal times are ordered by session id. */
class EventHeap {
  readonly #heap: Begun[] = [];

  add(events: readonly TrafficEvent[]): void {
    const [first] = events;
    if (first === undefined) return;
    this.#heap.push({ events, at: 0, atMs: first.atMs, id: first.session.id });
    this.#rise(this.#heap.length - 1);
  }

  peek(): Begun | null {
    return this.#heap[0] ?? null;
  }

  take(): TrafficEvent {
    const [top] = this.#heap;
    const event = top?.events[top.at];
    if (top === undefined || event === undefined) throw new Error('the heap is empty');
    top.at++;
    const next = top.events[top.at];
    if (next !== undefined) top.atMs = next.atMs;
    else {
      const last = this.#heap.pop();
      if (last !== undefined && last !== top) this.#heap[0] = last;
    }
    this.#sink(0);
    return event;
  }

  #rise(from: number): void {
    for (let at = from; at > 0;) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #sink(from: number): void {
    for (let at = from; ;) {
      const left = 2 * at + 1;
      const least = this.#isBefore(left + 1, left) ? left + 1 : left;
      if (!this.#isBefore(least, at)) return;
      this.#swap(at, least);
      at = least;
    }
  }

  #isBefore(a: number, b: number): boolean {
    const one = this.#heap[a];
    const other = this.#heap[b];
    if (one === undefined || other === undefined) return one !== undefined;
    return one.atMs < other.atMs || (one.atMs === other.atMs && one.id < other.id);
  }

  #swap(a: number, b: number): void {
    const one = this.#heap[a];
    const other = this.#heap[b];
    if (one === undefined || other === undefined) return;
    this.#heap[a] = other;
    this.#heap[b] = one;
  }
}
