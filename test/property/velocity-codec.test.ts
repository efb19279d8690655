import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  BROWSERS,
  decodeItems,
  EventEncoder,
  type SharedItem,
  SYSTEMS,
} from '../../src/cluster/velocity/event-codec.ts';
import type { CustomerNumber } from '../../src/kernel/brand.ts';
import type { SettledEvent } from '../../src/ports/velocity.ts';
import { OUTCOMES } from '../../src/risk/event-outcome.ts';
import {
  COUNTER_KINDS,
  COUNTER_WINDOWS,
  type EventCounter,
  type HistoryEvent,
  type Networks,
} from '../../src/risk/history.ts';
import { event, networksOf, NOW_MS } from '../unit/velocity/events.ts';

const HEX = Array.from('0123456789abcdef');

/** Any code units, also halves of pairs, and texts that look like what the codec abbreviates. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 8 }).map((units) => String.fromCharCode(...units)),
  fc.constantFrom('', '@', 'anna@example.org', 'Anna@Example.org', 'a@b@example.org', 'example.org', '0', '-1'),
  fc.string({ unit: fc.constantFrom(...HEX), minLength: 64, maxLength: 64 }),
  fc.string({ unit: fc.constantFrom(...HEX, 'A', 'F', 'é'), minLength: 63, maxLength: 65 }),
  fc.string({ minLength: 200, maxLength: 300 }),
);
const orNull = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(of, { nil: null });
const networks: fc.Arbitrary<Networks> = fc.oneof(
  fc.ipV4().map(networksOf),
  fc.record({ host: text, site: text, region: text }),
);
const degrees = fc.oneof(
  fc.integer({ min: -1_800_000, max: 1_800_000 }).map((parts) => parts / 10_000),
  fc.double({ min: -180, max: 180, noNaN: true }),
);
const nowMs = fc.oneof(fc.integer({ min: 0, max: 2 ** 42 }), fc.integer({ min: NOW_MS - 5_000, max: NOW_MS + 5_000 }));
const customer = fc.integer({ min: 0, max: 2 ** 31 - 1 }).map((number) => number as CustomerNumber);
const word = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const outcome = fc.constantFrom(...OUTCOMES);

const counter: fc.Arbitrary<EventCounter> = fc
  .record({
    id: word,
    kind: fc.constantFrom(...COUNTER_KINDS),
    window: fc.constantFrom(...COUNTER_WINDOWS),
    subject: text,
    counts: fc.constant(true),
    member: text,
    value: fc.double({ noNaN: true }),
  })
  .map((one) => ({ ...one, ...(one.kind === 'sum' ? { member: '' } : { value: 0 }) }));

const anyEvent: fc.Arbitrary<HistoryEvent> = fc.record({
  customer,
  publicKey: fc.boolean(),
  nowMs,
  eventType: text,
  sessionId: text,
  networks: orNull(networks),
  country: orNull(text),
  place: orNull(fc.record({ latitude: degrees, longitude: degrees, accuracyKm: fc.oneof(fc.nat(2_000), degrees) })),
  agent: orNull(fc.record({ browser: fc.constantFrom(...BROWSERS), system: fc.constantFrom(...SYSTEMS) })),
  agentHash: fc.nat(255),
  exactAgentHash: fc.nat(32_767),
  agentLanguageHash: word,
  mail: orNull(fc.record({ spelling: text, canonical: text, registrable: text })),
  outcome: orNull(outcome),
  entities: fc.array(fc.record({ name: text, value: text }), { maxLength: 32 }),
  device: orNull(text),
  browser: orNull(text),
  grant: orNull(fc.record({ nonceLow: word, nonceHigh: word, seq: fc.nat(2 ** 31) })),
  amount: orNull(fc.record({ value: fc.double({ noNaN: true }), currency: text })),
  counters: fc.array(counter, { maxLength: 16 }),
});

const anySettled: fc.Arbitrary<SettledEvent> = fc.record({
  customer,
  publicKey: fc.boolean(),
  trace: fc.uint8Array({ maxLength: 700 }),
  occurredAtMs: nowMs,
  nowMs,
  before: orNull(outcome),
  outcome,
});

describe('the format of exchanged events', () => {
  test('Decoding returns exactly what was encoded, for any events and outcomes in any order', () => {
    const encoder = new EventEncoder();
    const items = fc.array(fc.oneof<fc.Arbitrary<SharedItem>[]>(anyEvent, anySettled), { maxLength: 40 });
    fc.assert(
      fc.property(items, (all) => {
        expect(decodeItems(encoder.encode(all))).toEqual(all);
      }),
      { numRuns: 500 },
    );
  });

  test('Encoded bytes stay the same when the encoder is used again', () => {
    const encoder = new EventEncoder();
    const first = encoder.encode([event({ sessionId: 'one' })]);
    encoder.encode([event({ sessionId: 'two' })]);
    expect(decodeItems(first)).toEqual([event({ sessionId: 'one' })]);
  });

  test('Bytes that were cut, changed or extended are refused or decode to some items, and never throw', () => {
    const whole = new EventEncoder().encode([event(), event({ mail: null, place: null, networks: null })]);
    fc.assert(
      fc.property(fc.nat(whole.length), fc.nat(whole.length - 1), fc.nat(255), (length, at, byte) => {
        const bytes = Buffer.from(whole.subarray(0, length));
        if (at < bytes.length) bytes[at] = byte;
        decodeItems(bytes);
        expect(decodeItems(whole.subarray(0, Math.min(length, whole.length - 1)))).toBeNull();
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([0, 4, 255])('Bytes of version %i are refused', (version) => {
    const bytes = new EventEncoder().encode([event()]);
    bytes[0] = version;
    expect(decodeItems(bytes)).toBeNull();
  });

  test('The tables of the format have not changed: a change needs another version', () => {
    expect(BROWSERS).toEqual(['chromium', 'firefox', 'safari', 'other']);
    expect(SYSTEMS).toEqual(['windows', 'macos', 'linux', 'android', 'ios', 'chromeos', 'other']);
    expect(OUTCOMES).toEqual(['succeeded', 'failed', 'declined', 'challenge_passed', 'challenge_failed']);
  });
});
