import type { AddressBook } from './addresses.ts';
import { DAY_MS, WEEK_START_MS } from './calendar.ts';
import type { DeviceMaker } from './devices.ts';
import type { PlannedSession, SessionLabel } from './events.ts';
import type { Person } from './people.ts';
import { Random } from './random.ts';
import type { Visit, VisitStart } from './visit.ts';

export interface WorldParts {
  readonly seed: number;
  /** 1 means full size. */
  readonly scale: number;
  readonly days: number;
  readonly book: AddressBook;
  readonly devices: DeviceMaker;
}

type Begin = Pick<VisitStart, 'label' | 'random' | 'startMs'>;

/** The people of the simulated week and their planned sessions. */
export class World {
  readonly seed: number;
  readonly scale: number;
  readonly days: number;
  readonly book: AddressBook;
  readonly devices: DeviceMaker;
  readonly people: Person[] = [];
  readonly sessions: PlannedSession[] = [];
  #actors = 0;

  constructor({ seed, scale, days, book, devices }: WorldParts) {
    this.seed = seed;
    this.scale = scale;
    this.days = days;
    this.book = book;
    this.devices = devices;
  }

  get endMs(): number {
    return WEEK_START_MS + this.days * DAY_MS;
  }

  /** Creates a separate generator for each part of the world, so that changing one part does not affect the others. */
  random(...parts: readonly (string | number)[]): Random {
    return new Random(this.seed, ...parts);
  }

  newActor(): number {
    return ++this.#actors;
  }

  /** Returns the number of items at this scale, at least `least`. */
  count(atFullScale: number, least = 1): number {
    return Math.max(least, Math.round(atFullScale * this.scale));
  }

  /** Plans a session. Returns null when it would begin outside the week or before the customer uses the service. */
  plan(startMs: number, label: Omit<SessionLabel, 'id'>, play: (begin: Begin) => Visit): PlannedSession | null {
    if (startMs < WEEK_START_MS + label.customer.startsAfterMs || startMs >= this.endMs) return null;
    const id = this.sessions.length;
    const whole: SessionLabel = { ...label, id };
    const session = {
      startMs,
      label: whole,
      play: () => play({ label: whole, random: this.random('session', id), startMs }).events,
    };
    this.sessions.push(session);
    return session;
  }
}

/** Returns the number of whole days since the start of the week; earlier times belong to day 0. */
export function dayOf(atMs: number): number {
  return Math.max(0, Math.floor((atMs - WEEK_START_MS) / DAY_MS));
}
