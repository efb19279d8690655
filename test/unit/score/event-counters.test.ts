import { expect, test } from 'vitest';
import type { Facts } from '../../../src/risk/facts.ts';
import type { EventCounter, HistoryEvent } from '../../../src/risk/history.ts';
import { compileCounters } from '../../../src/risk/policy/compile-counters.ts';
import type { CounterDeclaration } from '../../../src/risk/policy/counter-declarations.ts';
import { DEFAULT_POLICY } from '../../../src/risk/policy/policy.ts';
import { eventCounters } from '../../../src/score/event-counters.ts';
import { facts } from '../../support/facts.ts';
import { event } from '../velocity/events.ts';

const EVENT: Partial<HistoryEvent> = {
  sessionId: 'session',
  networks: { host: '81.2.69.1', site: '81.2.69', region: '81.2' },
  device: 'fingerprint',
  entities: [
    { name: 'user_id', value: '17' },
    { name: 'email', value: 'anna@example.com' },
  ],
};
const SENT: Partial<Facts> = {
  eventType: 'payment',
  entities: [
    { name: 'tenant', value: 'north' },
    { name: 'email', value: 'Anna@Example.com' },
  ],
  attributes: new Map<string, string | number>([
    ['amount', 12.5],
    ['plan', 'gold'],
  ]),
};

/** Returns what one counter gets from the event. */
function counted(declared: Partial<CounterDeclaration>, of: Partial<HistoryEvent> = {}): EventCounter | undefined {
  const one: CounterDeclaration = { kind: 'count', of: null, by: 'account', window: '1h', when: null, ...declared };
  const compiled = compileCounters({ attributes: DEFAULT_POLICY.attributes, counters: { one } });
  return eventCounters(compiled, event({ ...EVENT, ...of }), facts(SENT), () => undefined)[0];
}

test.each([
  ['account', 'anna@example.com'],
  ['device', 'fingerprint'],
  ['session', 'session'],
  ['ip', '81.2.69.1'],
  ['network', '81.2.69'],
  ['customer', ''],
  ['entity.email', 'anna@example.com'],
  ['entity.tenant', 'north'],
  ['attributes.plan', 'gold'],
  ['attributes.amount', '12.5'],
])('A counter by %s is about %j', (by, subject) => {
  expect(counted({ by })).toMatchObject({ subject, counts: true });
});

test('An event without the subject is not for the counter; without what is counted, or if the condition does not hold, it only reads', () => {
  expect(counted({ by: 'entity.card' })).toBeUndefined();
  expect(counted({ by: 'device' }, { device: null })).toBeUndefined();
  expect(counted({ kind: 'distinct', of: 'entity.card' })).toMatchObject({ counts: false, member: '' });
  expect(counted({ kind: 'sum', of: 'attributes.item_count' })).toMatchObject({ counts: false, value: 0 });
  expect(counted({ when: 'event.type == "login"' })).toMatchObject({ counts: false });
  expect(counted({ when: 'event.type == "payment"' })).toMatchObject({ counts: true });
  expect(counted({ kind: 'sum', of: 'attributes.amount' })).toMatchObject({ counts: true, value: 12.5 });
  expect(counted({ kind: 'distinct', of: 'attributes.plan' })).toMatchObject({ counts: true, member: 'gold' });
  expect(counted({ by: 'device' }, { browser: 'browser' })).toMatchObject({ subject: 'browser' });
});
