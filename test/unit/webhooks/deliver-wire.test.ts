import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { DELIVERY_ERRORS, DELIVERY_TRIGGERS } from '../../../src/work/webhook.ts';
import type {
  DeliverOrder,
  DeliverResult,
  DeliverSignal,
  DeliverTask,
  TaskList,
} from '../../../src/webhooks/deliver-messages.ts';
import { packOrder, packSignal, unpackOrder, unpackSignal } from '../../../src/webhooks/deliver-wire.ts';

const timeMs = fc.nat({ max: 2 ** 47 });
const id = fc.stringMatching(/^[a-z]{2,3}_[0-9A-HJKMNP-TV-Z]{26}$/);
const error = fc.constantFrom(...DELIVERY_ERRORS);

const task: fc.Arbitrary<DeliverTask> = fc.record({
  deliveryId: id,
  endpointId: id,
  trigger: fc.constantFrom(...DELIVERY_TRIGGERS),
  body: fc.uint8Array({ maxLength: 300 }),
  attemptsMade: fc.nat({ max: 20 }),
  elapsedMs: timeMs,
  notBeforeMs: timeMs,
});

const outcome: fc.Arbitrary<DeliverResult['outcome']> = fc.oneof(
  fc.record({ kind: fc.constantFrom('waiting' as const, 'parked' as const), nextAttemptAtMs: timeMs }),
  fc.record({ kind: fc.constantFrom('succeeded' as const, 'kept' as const) }),
  fc.record({ kind: fc.constantFrom('failed' as const, 'skipped' as const), error }),
);

const attempt = fc.record({
  attempt: fc.integer({ min: 1, max: 255 }),
  startedAtMs: timeMs,
  durationMs: fc.nat({ max: 60_000 }),
  statusCode: fc.option(fc.integer({ min: 0, max: 999 })),
  error: fc.option(error),
});

const result: fc.Arbitrary<DeliverResult> = fc.record({
  deliveryId: id,
  endpointId: id,
  attempt: fc.option(attempt),
  outcome,
  elapsedMs: timeMs,
  completedAtMs: timeMs,
});

const STATS = { connectionsOpened: 1, connectionsReused: 2, blockedAddresses: 3, attemptsInFlight: 4, held: 5 };

test('Packed tasks are unpacked unchanged', () => {
  const sent = fc.array(task, { maxLength: 20 });
  fc.assert(
    fc.property(sent, (tasks) => {
      const order = unpackOrder(structuredClone(packOrder({ kind: 'deliver', tasks })));
      const list: TaskList = order.kind === 'deliver' ? order.tasks : [];
      expect(Array.from({ length: list.length }, (_none, i) => list.at(i))).toEqual(tasks);
      expect(list.at(list.length)).toBeUndefined();
    }),
  );
});

test('Packed results are unpacked unchanged', () => {
  const sent = fc.array(result, { maxLength: 20 });
  fc.assert(
    fc.property(sent, (results) => {
      const signal: DeliverSignal = { kind: 'results', results, stats: STATS };
      expect(unpackSignal(structuredClone(packSignal(signal)))).toEqual(signal);
    }),
  );
});

test('All other messages are not packed', () => {
  const order: DeliverOrder = { kind: 'forget', endpointId: 'wh_1' };
  const signal: DeliverSignal = { kind: 'stopped' };
  expect([packOrder(order), unpackOrder(order)]).toEqual([order, order]);
  expect([packSignal(signal), unpackSignal(signal)]).toEqual([signal, signal]);
});
