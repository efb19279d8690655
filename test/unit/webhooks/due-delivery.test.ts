import { expect, test } from 'vitest';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import { DECISIONS, type Decision } from '../../../src/risk/decision.ts';
import { HEALTHY } from '../../../src/work/webhook-health.ts';
import type { DeliveryId, Webhook, WebhookId } from '../../../src/work/webhook.ts';
import { decodeDue, encodeDue, Subscribers, type DueEntry } from '../../../src/webhooks/due-delivery.ts';

function webhook(id: string, customer: number, eventTypes: readonly Decision[]): Webhook {
  const times = { createdAtMs: 1, updatedAtMs: 1 };
  const url = 'https://receiver.test/';
  return {
    id: id as WebhookId,
    customer: customer as CustomerNumber,
    url,
    eventTypes,
    description: null,
    disabled: false,
    health: HEALTHY,
    ...times,
  };
}

const BLOCK = DECISIONS.indexOf('BLOCK');

test('An outbox entry is decoded as it was encoded', () => {
  const entry: DueEntry = {
    customer: 7 as CustomerNumber,
    requestId: 'req_1',
    event: 'BLOCK',
    createdAtMs: 1_800_000_000_123,
    body: Buffer.from('{"event":"BLOCK","ü":1}'),
    targets: [
      { webhookId: 'wh_1' as WebhookId, deliveryId: 'dlv_1' as DeliveryId, trigger: 'decision' },
      { webhookId: 'wh_2' as WebhookId, deliveryId: 'dlv_2' as DeliveryId, trigger: 'probe' },
    ],
  };
  expect(decodeDue(encodeDue(entry))).toEqual(entry);
  expect(() => decodeDue(Buffer.from([0x93, 1, 2, 3]))).toThrow();
});

test('Subscribers are found by customer and decision, never those of other customers', () => {
  const subscribers = new Subscribers();
  subscribers.load([webhook('a', 1, ['BLOCK']), webhook('b', 1, ['BLOCK', 'ALLOW']), webhook('c', 2, ['ALLOW'])]);
  const ids = (customer: number, decision: number): string[] | undefined =>
    subscribers.matching(customer as CustomerNumber, decision)?.map(({ webhook: { id } }) => id);
  expect(ids(1, BLOCK)).toEqual(['a', 'b']);
  expect(ids(1, DECISIONS.indexOf('ALLOW'))).toEqual(['b']);
  expect(ids(2, BLOCK)).toEqual([]);
  expect(ids(3, BLOCK)).toBeUndefined();
  subscribers.add(webhook('d', 3, ['BLOCK']));
  subscribers.remove('a');
  subscribers.remove('c');
  subscribers.remove('unknown');
  expect(ids(1, BLOCK)).toEqual(['b']);
  expect(ids(2, BLOCK)).toBeUndefined();
  expect(ids(3, BLOCK)).toEqual(['d']);
  expect(subscribers.size).toBe(2);
});
