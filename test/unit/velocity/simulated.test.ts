import { describe, expect, test } from 'vitest';
import type { HistoryEvent } from '../../../src/risk/history.ts';
import { SIMULATION_VELOCITY_BYTES } from '../../../src/kernel/limits.ts';
import { LocalVelocity } from '../../../src/velocity/local-velocity.ts';
import { createVelocityMemory } from '../../../src/velocity/memory.ts';
import { SimulatedVelocity } from '../../../src/velocity/simulated-velocity.ts';
import { event, HASH_KEY, MINUTE, networksOf, NOW_MS, users } from './events.ts';

const TYPES = ['login', 'search', 'payment', 'signup', 'checkout'];
const OUTCOMES = [null, 'succeeded', 'failed'] as const;

/** Deterministic events of a few sessions, accounts, addresses and devices, so that their histories overlap. */
function* events(count: number): Generator<HistoryEvent> {
  let state = 7;
  const pick = <T>(list: readonly T[]): T => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return list[(state >>> 8) % list.length] as T;
  };
  const many = Array.from({ length: 40 }, (_none, n) => n);
  for (let n = 0; n < count; n++) {
    yield event({
      nowMs: NOW_MS + n * pick([200, 3_000, MINUTE]),
      eventType: pick(TYPES),
      sessionId: `session-${pick(many)}`,
      networks: pick([null, networksOf(`81.2.${pick(many)}.${pick(many)}`), networksOf('81.2.69.160')]),
      outcome: pick(OUTCOMES),
      entities: users(`u${pick(many)}`, ...(pick([true, false]) ? [`v${pick(many)}`] : [])),
      device: pick([null, `device-${pick(many)}`]),
      publicKey: pick([false, false, true]),
    });
  }
}

describe('the velocity store of simulations', () => {
  test('A simulation returns the history that the event then has, and changes no byte of the table', () => {
    const memory = createVelocityMemory(4 * 2 ** 20, HASH_KEY);
    const real = new LocalVelocity(memory);
    const simulated = new SimulatedVelocity(memory, SIMULATION_VELOCITY_BYTES);
    let compared = 0;
    for (const one of events(3_000)) {
      const before = compared % 50 === 0 ? Buffer.from(new Uint8Array(memory.words)) : null;
      // A trace is written in place, so it is compared as text.
      const expected = JSON.stringify(simulated.observe([one]));
      expect(JSON.stringify(simulated.observe([one]))).toBe(expected);
      if (before !== null) expect(before.equals(new Uint8Array(memory.words))).toBe(true);
      expect(JSON.stringify(real.observe([one]))).toBe(expected);
      compared++;
    }
    expect(compared).toBe(3_000);
  });

  test('A simulation of somebody unknown leaves nobody behind', () => {
    const memory = createVelocityMemory(2 ** 20, HASH_KEY);
    const simulated = new SimulatedVelocity(memory, SIMULATION_VELOCITY_BYTES);
    for (let n = 0; n < 20; n++) simulated.observe([event({ eventType: 'login', sessionId: `s${n}` })]);
    const [first] = new LocalVelocity(memory).observe([event({ eventType: 'login' })]);
    expect([first?.session.isFirstEvent, first?.session.decisions1m, first?.ip?.decisions1m]).toEqual([true, 1, 1]);
  });
});
