import { describe, expect, test } from 'vitest';
import type { HistoryEvent, HistoryFacts } from '../../../src/risk/history.ts';
import type { Outcome } from '../../../src/risk/event-outcome.ts';
import { createVelocityMemory } from '../../../src/velocity/memory.ts';
import { readVelocityStats } from '../../../src/velocity/stats.ts';
import { DAY, HASH_KEY, HOUR, MINUTE, networksOf, SECOND, users, World } from './events.ts';

/** What a flood through a customer's own secret key evicts. */

const FLOOD = 20_000;
const STUFFER = { eventType: 'login', networks: networksOf('5.6.7.8'), device: null };
const OWNER = { eventType: 'login', networks: networksOf('81.2.69.160'), device: 'phone', entities: users('owner') };

let serial = 0;

/** Sees an event and reports its outcome half a second later. */
function settled(world: World, fields: Partial<HistoryEvent>, outcome: Outcome): HistoryFacts {
  const facts = world.see(fields);
  const { trace } = facts;
  if (trace === null) throw new Error('the event has no trace');
  const copy = Uint8Array.from(trace.bytes.subarray(0, trace.length));
  const { customer, publicKey, nowMs: occurredAtMs } = world.event();
  world.wait(SECOND / 2);
  const { nowMs } = world;
  world.velocity.settle({ customer, publicKey, trace: copy, occurredAtMs, nowMs, before: null, outcome });
  return facts;
}

const guess = (world: World): HistoryFacts =>
  settled(world, { ...STUFFER, sessionId: `guess-${serial}`, entities: users(`victim-${serial++}`) }, 'failed');

/** A request with a token, an address and entities that are never seen again. */
function stranger(): Partial<HistoryEvent> {
  const n = serial++;
  const host = `${11 + (n >> 20)}.${(n >> 12) & 255}.${(n >> 4) & 255}.${n & 15}`;
  const entities = [...users(`user-${n}`), { name: 'email', value: `user-${n}@mail.example` }];
  return { eventType: 'login', sessionId: `session-${n}`, networks: networksOf(host), device: null, entities };
}

const floods: readonly [string, number, (world: World) => void][] = [
  ['without outcomes', FLOOD, (world) => void world.wait(1).see(stranger())],
  ['with failures in the requests', 8_000, (world) => void world.wait(1).see({ ...stranger(), outcome: 'failed' })],
  ['with failures reported later', 8_000, (world) => void settled(world, stranger(), 'failed')],
];

interface Remembered {
  readonly attempts: readonly unknown[];
  readonly owner: unknown;
  readonly evicted: number;
}

/** An owner of some days, a stuffer in progress, a flood or nothing for as long, and the stuffer's next attempts. */
function afterwards(megabytes: number, requests: number, flood: ((world: World) => void) | null): Remembered {
  serial = 0;
  const world = new World(0, createVelocityMemory(megabytes * 2 ** 20, HASH_KEY));
  for (let n = 0; n < 3; n++) settled(world.wait(DAY), { ...OWNER, sessionId: `home-${n}` }, 'succeeded');
  world.wait(HOUR);
  for (let n = 0; n < 30; n++) guess(world.wait(3 * SECOND));
  const startMs = world.nowMs;
  for (let n = 0; n < requests; n++) {
    if (flood === null) serial++;
    else flood(world);
  }
  const { evicted } = readVelocityStats(world.memory);
  world.nowMs = Math.max(world.nowMs, startMs + MINUTE);
  const attempts = Array.from({ length: 9 }, () => {
    const { ip } = guess(world.wait(3 * SECOND));
    return (ip?.loginsFailed24h ?? 0) >= 30;
  });
  const [owner] = world.see({ ...OWNER, sessionId: 'home again' }).entities;
  return { attempts, owner: { ...owner, knownForSeconds: 0, decisions1m: 0 }, evicted };
}

describe('a flood of requests through a customer’s own secret key', () => {
  test.each(floods)(
    'A stuffer in progress and known people are remembered in a small table, %s',
    (_name, requests, flood) => {
      const without = afterwards(4, requests, null);
      const flooded = afterwards(4, requests, flood);
      expect(flooded.evicted).toBeGreaterThan(requests);
      expect(without.attempts).toEqual(Array.from({ length: 9 }, () => true));
      expect(flooded.attempts).toEqual(without.attempts);
      expect(flooded.owner).toEqual(without.owner);
    },
  );

  test('The same holds in a table of the default size', () => {
    const [, , flood = null] = floods[0] ?? [];
    const flooded = afterwards(256, FLOOD, flood);
    expect(flooded.attempts).toEqual(Array.from({ length: 9 }, () => true));
  });
});
