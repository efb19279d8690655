import type { HistoryEvent } from '../../src/risk/history.ts';

/** A model that keeps every event and counts the events one by one. */
export class VelocityModel {
  readonly #seen: Remembered[] = [];

  /** Adds an event, and returns bounds for all counts that concern it. */
  observe(event: HistoryEvent): Bounds {
    const scope = this.#seen.filter(
      (one) => one.event.customer === event.customer && one.event.publicKey === event.publicKey,
    );
    const ofSession = scope.filter((one) => one.event.sessionId === event.sessionId);
    const last = ofSession.at(-1);
    // A session that was not seen for 30 days starts again.
    const isFirst = last === undefined || event.nowMs - last.event.nowMs > KEEP_MS;
    const isStranger = !scope.some(
      (one) =>
        one.event.networks?.site === event.networks?.site &&
        event.nowMs - one.event.nowMs < KEEP_MS &&
        one.event.entities.some((entity) => event.entities.some((other) => isSame(entity, other))),
    );
    const begun = isFirst ? [] : ofSession.slice(ofSession.findLastIndex((earlier) => earlier.isFirst));
    const opens =
      begun.length <= ANONYMOUS_MAX &&
      begun.every((earlier) => earlier.event.entities.length === 0) &&
      event.nowMs - (begun[0]?.event.nowMs ?? event.nowMs) <= ANONYMOUS_MS_MAX;
    const isCold = opens && isStranger && event.entities.length > 0 && event.networks !== null;
    const one: Remembered = { event, isCold, isFirst };
    this.#seen.push(one);
    return new Bounds([...scope, one], one);
  }
}

interface Remembered {
  readonly event: HistoryEvent;
  readonly isCold: boolean;
  readonly isFirst: boolean;
}

export interface Range {
  readonly least: number;
  readonly most: number;
}

/** Source: the default rules: number of pages before a login that still counts as a cold start, and their maximum duration. */
const ANONYMOUS_MAX = 3;
const ANONYMOUS_MS_MAX = 120_000;
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const KEEP_MS = 30 * DAY;
/** Up to this number of events in a window are counted exactly. */
const RING = 12;
/** Up to this number of members are counted exactly. */
const SET = 30;

/** Bounds of each count according to the documented errors. */
export class Bounds {
  readonly isCold: boolean;
  readonly isFirst: boolean;
  readonly #scope: readonly Remembered[];
  readonly #event: HistoryEvent;

  constructor(scope: readonly Remembered[], { event, isCold, isFirst }: Remembered) {
    this.#scope = scope;
    this.#event = event;
    this.isCold = isCold;
    this.isFirst = isFirst;
  }

  sessionDecisions(): Range {
    return this.#count(MINUTE, (one) => one.event.sessionId === this.#event.sessionId);
  }

  sessionPayments(): Range {
    return this.#count(HOUR, ({ event }) => event.sessionId === this.#event.sessionId && event.eventType === 'payment');
  }

  regions(): Range {
    return this.#distinct(HOUR, 1_000, (one) =>
      one.event.sessionId === this.#event.sessionId ? one.event.networks?.region : undefined,
    );
  }

  hostDecisions(): Range {
    return this.#count(MINUTE, (one) => this.#isHere(one));
  }

  signups(): Range {
    return this.#count(DAY, (one) => this.#isHere(one) && one.event.eventType === 'signup');
  }

  coldLogins(): Range {
    return this.#count(10 * MINUTE, (one) => this.#isHere(one) && one.isCold && one.event.eventType === 'login');
  }

  coldPayments(): Range {
    return this.#count(
      HOUR,
      (one) => this.#isHere(one) && one.isCold && ['payment', 'checkout'].includes(one.event.eventType),
    );
  }

  coldEntities(): Range {
    return this.#largest((name) =>
      this.#distinct(HOUR, 1_000, (one) =>
        this.#isHere(one) && one.isCold ? one.event.entities.find((entity) => entity.name === name)?.value : undefined,
      ),
    );
  }

  deviceEntities(): Range {
    return this.#largest((name) =>
      this.#distinct(DAY, 2_000, (one) =>
        one.event.device === this.#event.device
          ? one.event.entities.find((entity) => entity.name === name)?.value
          : undefined,
      ),
    );
  }

  entityDecisions(n: number): Range {
    return this.#count(MINUTE, (one) => this.#has(one, n));
  }

  entityPayments(n: number): Range {
    return this.#count(HOUR, (one) => this.#has(one, n) && one.event.eventType === 'payment');
  }

  entityDevices(n: number): Range {
    return this.#distinct(DAY, 45_000, (one) => (this.#has(one, n) ? (one.event.device ?? undefined) : undefined));
  }

  entityNetworks(n: number): Range {
    return this.#distinct(HOUR, 45_000, (one) => (this.#has(one, n) ? one.event.networks?.site : undefined));
  }

  entityCountries(n: number): Range {
    return this.#distinct(DAY, 2_000, (one) => (this.#has(one, n) ? (one.event.country ?? undefined) : undefined));
  }

  #isHere({ event }: Remembered): boolean {
    return event.networks?.host === this.#event.networks?.host;
  }

  #has({ event }: Remembered, n: number): boolean {
    const entity = this.#event.entities[n];
    return entity !== undefined && event.entities.some((other) => isSame(entity, other));
  }

  #within(ms: number, which: (one: Remembered) => boolean): Remembered[] {
    return this.#scope.filter((one) => this.#event.nowMs - one.event.nowMs < ms && which(one));
  }

  /** Exact up to one tick while the ring holds all events; beyond that, up to the events of the oldest ninth. */
  #count(windowMs: number, which: (one: Remembered) => boolean): Range {
    const ninth = windowMs / 9;
    const most = this.#within(windowMs + ninth, which).length;
    if (most > RING) return { least: this.#within(windowMs - ninth, which).length, most };
    const tick = windowMs / 24_000;
    return { least: this.#within(windowMs - tick, which).length, most: this.#within(windowMs, which).length };
  }

  #distinct(windowMs: number, tickMs: number, memberOf: (one: Remembered) => string | undefined): Range {
    const within = (ms: number): number => {
      const members = this.#within(ms, () => true).map((one) => memberOf(one));
      return new Set(members.filter((member) => member !== undefined)).size;
    };
    const range = { least: within(windowMs - tickMs), most: within(windowMs) };
    // A sketch is used until it is empty; its window ends up to one percent early.
    if (within(2 * windowMs) <= SET) return range;
    return { least: Math.floor(within(windowMs * 0.99) * 0.75) - 2, most: Math.ceil(range.most * 1.25) + 2 };
  }

  #largest(rangeOf: (name: string) => Range): Range {
    const ranges = this.#event.entities.map(({ name }) => rangeOf(name));
    return {
      least: Math.max(0, ...ranges.map(({ least }) => least)),
      most: Math.max(0, ...ranges.map(({ most }) => most)),
    };
  }
}

function isSame(a: HistoryEvent['entities'][number], b: typeof a): boolean {
  return a.name === b.name && a.value === b.value;
}
