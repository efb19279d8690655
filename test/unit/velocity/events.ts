import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import type { HistoryEvent, HistoryFacts, Networks, Place } from '../../../src/risk/history.ts';
import { LocalVelocity } from '../../../src/velocity/local-velocity.ts';
import { createVelocityMemory, type VelocityMemory } from '../../../src/velocity/memory.ts';

export const NOW_MS = Date.UTC(2026, 10, 21, 12);
export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const HASH_KEY = Buffer.from('0123456789abcdef');

export const BERLIN: Place = { latitude: 52.52, longitude: 13.4, accuracyKm: 20 };
export const POTSDAM: Place = { latitude: 52.4, longitude: 13.06, accuracyKm: 20 };
export const MUNICH: Place = { latitude: 48.14, longitude: 11.58, accuracyKm: 10 };
export const LISBON: Place = { latitude: 38.72, longitude: -9.14, accuracyKm: 50 };

/** An IPv4 address as the service parses it. */
export function networksOf(host: string): Networks {
  const site = host.slice(0, host.lastIndexOf('.'));
  return { host, site, region: site.slice(0, site.lastIndexOf('.')) };
}

export function event(fields: Partial<HistoryEvent> = {}): HistoryEvent {
  return {
    customer: 7 as CustomerNumber,
    publicKey: false,
    nowMs: NOW_MS,
    eventType: 'search',
    sessionId: 'session-1',
    networks: networksOf('81.2.69.160'),
    country: 'DE',
    place: BERLIN,
    agent: { browser: 'firefox', system: 'linux' },
    agentHash: 77,
    exactAgentHash: 77,
    agentLanguageHash: 7_777,
    mail: null,
    outcome: null,
    entities: [{ name: 'user_id', value: 'u1' }],
    device: 'device-1',
    browser: null,
    grant: null,
    amount: null,
    counters: [],
    ...fields,
  };
}

export function users(...values: readonly string[]): HistoryEvent['entities'] {
  return values.map((value) => ({ name: 'user_id', value }));
}

/** A table, and a clock that the test moves. */
export class World {
  nowMs = NOW_MS;
  readonly memory: VelocityMemory;
  readonly velocity: LocalVelocity;

  constructor(bytesMax = 4 * 2 ** 20, memory = createVelocityMemory(bytesMax, HASH_KEY)) {
    this.memory = memory;
    this.velocity = new LocalVelocity(this.memory);
  }

  event(fields: Partial<HistoryEvent> = {}): HistoryEvent {
    return event({ nowMs: this.nowMs, ...fields });
  }

  see(fields: Partial<HistoryEvent> = {}): HistoryFacts {
    const [facts] = this.velocity.observe([this.event(fields)]);
    if (facts === null || facts === undefined) throw new Error('the event was lost');
    return facts;
  }

  /** Observes `count` events, one after the other, and returns the history of the last one. */
  times(count: number, fields: (n: number) => Partial<HistoryEvent>): HistoryFacts {
    let facts = this.see(fields(0));
    for (let n = 1; n < count; n++) facts = this.see(fields(n));
    return facts;
  }

  wait(ms: number): this {
    this.nowMs += ms;
    return this;
  }
}
