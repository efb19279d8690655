import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CustomerNumber } from '../../src/kernel/brand.ts';
import type { HistoryEvent, HistoryFacts } from '../../src/risk/history.ts';
import { LocalVelocity } from '../../src/velocity/local-velocity.ts';
import { createVelocityMemory } from '../../src/velocity/memory.ts';
import { type Bounds, type Range, VelocityModel } from './velocity-model.ts';
import { timesInFull } from '../support/long.ts';

const NOW_MS = Date.UTC(2026, 10, 21, 12);
const HASH_KEY = Buffer.from('0123456789abcdef');

/** Bursts, waits around the window lengths, and days. */
const step = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: 0, max: 3_000 }) },
  { weight: 4, arbitrary: fc.integer({ min: 3_000, max: 90_000 }) },
  { weight: 3, arbitrary: fc.integer({ min: 60_000, max: 5_000_000 }) },
  { weight: 2, arbitrary: fc.integer({ min: 400_000, max: 700_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 3_000_000, max: 2 * 86_400_000 }) },
);

const command = fc.record({
  step,
  /** Number of repetitions. */
  repeat: fc.oneof({ weight: 9, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.integer({ min: 2, max: 30 }) }),
  customer: fc.constantFrom(7, 7, 7, 8),
  publicKey: fc.constantFrom(false, false, false, true),
  eventType: fc.constantFrom('search', 'login', 'signup', 'payment', 'checkout'),
  session: fc.nat(12),
  host: fc.oneof({ weight: 1, arbitrary: fc.constant(-1) }, { weight: 9, arbitrary: fc.nat(9) }),
  user: fc.nat(14),
  /** A session and a user that never occurred before. */
  isStranger: fc.boolean(),
  email: fc.nat(5),
  entities: fc.nat(2),
  device: fc.integer({ min: -1, max: 7 }),
  country: fc.constantFrom(null, 'DE', 'FR', 'PT', 'ES', 'IT', 'US'),
});

type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;

/** `serial` differs for each event. */
function eventOf(one: Command, nowMs: number, serial: number): HistoryEvent {
  const { host } = one;
  return {
    customer: one.customer as CustomerNumber,
    publicKey: one.publicKey,
    nowMs,
    eventType: one.eventType,
    sessionId: one.isStranger ? `stranger-${serial}` : `session-${one.session}`,
    networks:
      host < 0
        ? null
        : {
            host: `81.${host % 3}.${host >> 1}.${host}`,
            site: `81.${host % 3}.${host >> 1}`,
            region: `81.${host % 3}`,
          },
    country: one.country,
    place: null,
    agent: null,
    agentHash: 0,
    exactAgentHash: 0,
    agentLanguageHash: 0,
    mail: null,
    outcome: null,
    entities: [
      { name: 'user_id', value: one.isStranger ? `stranger-${serial}` : `user-${one.user}` },
      { name: 'email', value: `email-${one.email}` },
    ].slice(0, one.entities),
    device: one.device < 0 ? null : `device-${one.device}`,
    browser: null,
    grant: null,
    amount: null,
    counters: [],
  };
}

/** Returns the values outside their bounds, by name. */
function outside(facts: HistoryFacts, bounds: Bounds, event: HistoryEvent): string[] {
  const found: string[] = [];
  const check = (name: string, value: number, { least, most }: Range): void => {
    if (value < least || value > most) found.push(`${name}: ${value}, not ${least} to ${most}`);
  };
  const { session, ip, device } = facts;
  if (session.isFirstEvent !== bounds.isFirst) found.push('isFirstEvent');
  check('session.decisions1m', session.decisions1m, bounds.sessionDecisions());
  check('session.payments1h', session.payments1h, bounds.sessionPayments());
  check('session.regions1h', session.regions1h, bounds.regions());
  if (ip !== null) {
    check('ip.decisions1m', ip.decisions1m, bounds.hostDecisions());
    check('ip.coldLogins10m', ip.coldLogins10m, bounds.coldLogins());
    check('ip.coldPayments1h', ip.coldPayments1h, bounds.coldPayments());
    if (event.eventType !== 'search') check('ip.signups24h', ip.signups24h, bounds.signups());
    if (event.eventType !== 'search')
      check('ip.coldEntities1h', ip.coldEntities1h, atLeastThree(bounds.coldEntities()));
    if (!(ip.coldShare10m >= 0 && ip.coldShare10m <= 1)) found.push('ip.coldShare10m');
  }
  facts.entities.forEach((entity, n) => {
    check('entity.decisions1m', entity.decisions1m, bounds.entityDecisions(n));
    check('entity.payments1h', entity.payments1h, bounds.entityPayments(n));
    check('entity.devices24h', entity.devices24h, bounds.entityDevices(n));
    check('entity.networks1h', entity.networks1h, bounds.entityNetworks(n));
    check('entity.countries24h', entity.countries24h, bounds.entityCountries(n));
  });
  if (device !== null) check('device.entities24h', device.entities24h, bounds.deviceEntities());
  return found;
}

/** Up to three cold starts within the last hour and a fifth count as that many entities, regardless of their names. */
const atLeastThree = ({ least, most }: Range): Range => ({ least, most: Math.max(most, 3) });

describe('the velocity table', () => {
  test('The velocity store counts within its documented bounds, compared with a model that keeps every event', () => {
    fc.assert(
      fc.property(fc.array(command, { minLength: 20, maxLength: 120 }), (commands) => {
        const velocity = new LocalVelocity(createVelocityMemory(2 ** 20, HASH_KEY));
        const model = new VelocityModel();
        let nowMs = NOW_MS;
        let serial = 0;
        for (const one of commands) {
          for (let n = 0; n < one.repeat; n++) {
            nowMs += one.repeat > 1 ? one.step % 3_000 : one.step;
            const event = eventOf(one, nowMs, serial++);
            const bounds = model.observe(event);
            const [facts] = velocity.observe([event]);
            expect(facts === null || facts === undefined ? ['lost'] : outside(facts, bounds, event)).toEqual([]);
          }
        }
      }),
      { numRuns: timesInFull(150), seed: 20_261_121 },
    );
  });
});
