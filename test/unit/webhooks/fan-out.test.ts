import { beforeEach, expect, test } from 'vitest';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import { newId } from '../../../src/kernel/ids.ts';
import { SKIPPED_ROWS_PER_CUSTOMER_SECOND_MAX, SKIPPED_ROWS_PER_SECOND_MAX } from '../../../src/kernel/limits.ts';
import { HEALTHY } from '../../../src/work/webhook-health.ts';
import type { Delivery, DeliveryId, Webhook, WebhookHealth, WebhookId } from '../../../src/work/webhook.ts';
import { encodeDue, Subscribers } from '../../../src/webhooks/due-delivery.ts';
import { FanOut } from '../../../src/webhooks/fan-out.ts';

const NOW = 1_800_000_000_000;
const UNHEALTHY: WebhookHealth = {
  ...HEALTHY,
  status: 'unhealthy',
  consecutiveFailures: 10,
  cooldownMs: 15_000,
  nextProbeAtMs: NOW + 15_000,
};

let nowMs: number;
let room: boolean;
let skipped: number;
let probes: number;
let damaged: number;
let fanOut: FanOut;
let subscribers: Subscribers;
let rows: Delivery[];

beforeEach(() => {
  [nowMs, room, skipped, probes, damaged, rows] = [NOW, true, 0, 0, 0, []];
  subscribers = new Subscribers();
  fanOut = new FanOut({
    subscribers,
    nowMs: () => nowMs,
    hasRoom: () => room,
    onSkipped: () => skipped++,
    onProbe: () => probes++,
    onDamaged: () => damaged++,
  });
});

function subscribe(customer: number, health: WebhookHealth = HEALTHY): Webhook {
  const id = newId('wh', NOW) as WebhookId;
  const times = { createdAtMs: NOW, updatedAtMs: NOW };
  const rest = { url: 'https://receiver.test/', eventTypes: ['BLOCK'], description: null, disabled: false } as const;
  const webhook: Webhook = { id, customer: customer as CustomerNumber, ...rest, ...times, health };
  subscribers.add(webhook);
  return webhook;
}

/** Passes entries of decisions that were made now to the fan-out. */
function decide(webhooks: readonly Webhook[], times = 1, trigger: 'decision' | 'probe' = 'decision'): void {
  for (let i = 0; i < times; i++) {
    const targets = webhooks.map(({ id: webhookId }) => {
      return { webhookId, deliveryId: newId('dlv', nowMs) as DeliveryId, trigger };
    });
    const customer = webhooks[0]?.customer ?? (1 as CustomerNumber);
    const requestId = newId('req', nowMs);
    const body = Buffer.from('{}');
    rows.push(...fanOut.rowsOf(encodeDue({ customer, requestId, event: 'BLOCK', createdAtMs: nowMs, body, targets })));
  }
}

test("One customer's skipped decisions do not use up the rows of others", () => {
  const [one, two] = [subscribe(1, UNHEALTHY), subscribe(2, UNHEALTHY)];
  decide([one], SKIPPED_ROWS_PER_SECOND_MAX + 10);
  decide([two]);
  const rowsOf = (customer: number): number => rows.filter((row) => row.customer === customer).length;
  expect([rowsOf(1), rowsOf(2)]).toEqual([SKIPPED_ROWS_PER_CUSTOMER_SECOND_MAX, 1]);
  expect(fanOut.skippedUnrecorded).toBe(SKIPPED_ROWS_PER_SECOND_MAX + 10 - SKIPPED_ROWS_PER_CUSTOMER_SECOND_MAX);
  expect(skipped).toBe(SKIPPED_ROWS_PER_SECOND_MAX + 11);
  nowMs += 1_000;
  decide([one]);
  expect(rowsOf(1)).toBe(SKIPPED_ROWS_PER_CUSTOMER_SECOND_MAX + 1);
});

test('A delivery without room is skipped and counted separately', () => {
  const webhook = subscribe(1);
  room = false;
  decide([webhook]);
  expect(fanOut.overflowed).toBe(1);
  expect(rows).toMatchObject([{ status: 'skipped', error: 'unhealthy' }]);
});

test('A webhook that was removed since the decision gets no row', () => {
  const [kept, removed] = [subscribe(1), subscribe(1)];
  subscribers.remove(removed.id);
  decide([kept, removed]);
  expect(rows).toMatchObject([{ endpointId: kept.id, status: 'pending', trigger: 'decision' }]);
});

test('After the cool-down one decision becomes the probe, and the others are skipped', () => {
  const webhook = subscribe(1, { ...UNHEALTHY, nextProbeAtMs: NOW });
  decide([webhook], 3);
  expect(rows.map(({ status, trigger }) => [status, trigger])).toEqual([
    ['pending', 'probe'],
    ['skipped', 'decision'],
    ['skipped', 'decision'],
  ]);
  expect(probes).toBe(1);
});

test("A probe in an older build's journal is sent as a probe", () => {
  const webhook = subscribe(1, UNHEALTHY);
  decide([webhook], 1, 'probe');
  expect(rows).toMatchObject([{ status: 'pending', trigger: 'probe' }]);
  expect(subscribers.find(webhook.id)?.webhook.health.nextProbeAtMs).toBeNull();
});

test('An unreadable entry is reported and has no rows', () => {
  expect(fanOut.rowsOf(Buffer.from([1, 2, 3]))).toEqual([]);
  expect(damaged).toBe(1);
});
