import { beforeEach, expect, test } from 'vitest';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import type { Delivery, DeliveryId, WebhookId } from '../../../src/work/webhook.ts';
import { newRow } from '../../../src/webhooks/due-delivery.ts';
import type { ArrivedAttempt } from '../../../src/webhooks/attempt-writer.ts';
import type { DeliverResult } from '../../../src/webhooks/deliver-messages.ts';
import { EarlyDeliveries } from '../../../src/webhooks/early-deliveries.ts';

const CUSTOMER = 7 as CustomerNumber;
const DUE = { customer: CUSTOMER, requestId: 'req_1', event: 'BLOCK', createdAtMs: 0, body: Buffer.alloc(2) } as const;
const WEBHOOK = { id: 'wh_1' as WebhookId, url: 'https://receiver.test/' };
const row = newRow(DUE, 'dlv_1' as DeliveryId, WEBHOOK, 'decision');
const WAITING = { kind: 'waiting', nextAttemptAtMs: 9 } as const;
const delivery = {
  customer: CUSTOMER,
  id: row.id,
  trigger: 'decision',
  requestId: 'req_1',
  createdAtMs: 0,
  attempts: 0,
};

let early: EarlyDeliveries;
let handedOut: ArrivedAttempt['delivery'];
beforeEach(() => {
  early = new EarlyDeliveries();
  handedOut = { ...delivery, trigger: 'decision' };
});

function arrived(outcome: DeliverResult['outcome']): ArrivedAttempt {
  const error = outcome.kind === 'succeeded' ? null : 'timeout';
  const attempt = { attempt: 1, startedAtMs: 1, durationMs: 2, statusCode: null, error } as const;
  const result = { deliveryId: row.id, endpointId: 'wh_1', attempt, outcome, elapsedMs: 3, completedAtMs: 4 };
  return { result, delivery: handedOut };
}

const statesOf = (rows: readonly Delivery[]) => rows.map(({ status, attempts }) => [status, attempts.length]);

test('Rows without early deliveries are written and offered unchanged', () => {
  const rows = [row];
  expect(early.begin(rows)).toBe(rows);
  expect(early.stored(rows)).toEqual({ open: rows, applied: [], late: [] });
  expect(early.keep(arrived({ kind: 'succeeded' }))).toBe('stored');
});

test('A row is written with all results that arrived before its write', () => {
  early.add(row.id);
  const [first, second] = [arrived(WAITING), arrived({ kind: 'succeeded' })];
  expect([early.keep(first), early.keep(second)]).toEqual(['unwritten', 'unwritten']);
  const written = early.begin([row]);
  expect(statesOf(written)).toEqual([['succeeded', 2]]);
  expect(early.stored(written)).toEqual({ open: [], applied: [first, second], late: [] });
});

test('A result that arrives during the write is stored after it, and its row is not offered again', () => {
  early.add(row.id);
  const written = early.begin([row]);
  const last = arrived({ kind: 'succeeded' });
  expect(early.keep(last)).toBe('writing');
  expect(statesOf(written)).toEqual([['pending', 0]]);
  const { open, applied, late } = early.stored(written);
  expect([open, applied]).toEqual([[], []]);
  expect(late).toMatchObject([{ arrived: last, update: { status: 'succeeded', attempt: { attempt: 1 } } }]);
});

test('A row that waits for a retry is offered once it is stored', () => {
  early.add(row.id);
  early.keep(arrived(WAITING));
  const written = early.begin([row]);
  expect(early.stored(written).open).toEqual(written);
});

test('After a refused write the next one contains the results that arrived meanwhile', () => {
  early.add(row.id);
  early.keep(arrived(WAITING));
  early.begin([row]);
  expect(early.keep(arrived({ kind: 'succeeded' }))).toBe('writing');
  early.refused([row]);
  const written = early.begin([row]);
  expect(statesOf(written)).toEqual([['succeeded', 2]]);
  expect(early.stored(written)).toMatchObject({ open: [], late: [] });
});
