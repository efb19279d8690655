import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import { newId } from '../../../src/kernel/ids.ts';
import type { DeliveryId, Webhook, WebhookHealth } from '../../../src/work/webhook.ts';
import { encodeDue, newRow } from '../../../src/webhooks/due-delivery.ts';
import { WEBHOOK_TESTS_PER_CUSTOMER_MAX } from '../../../src/kernel/delivery-limits.ts';
import { tempStore, value } from '../state/support.ts';
import { CUSTOMER, DispatcherBench } from './dispatcher-support.ts';
import { writesOf } from '../../support/writes.ts';

const setUp = (): Promise<DispatcherBench> => new DispatcherBench(tempStore()).start();

describe('a webhook with an unreadable secret', () => {
  async function unreadable(bench: DispatcherBench): Promise<Webhook> {
    const webhook = await bench.webhook('BLOCK');
    const change = { secret: 'whsec_', previousUntilMs: null, nowMs: bench.nowMs };
    await value(writesOf(bench.store).webhooks.rotate(randomBytes(32), CUSTOMER, webhook.id, change));
    return webhook;
  }

  test('A webhook whose secret cannot be read loses nothing: its deliveries stay pending and are sent after a rotation', async () => {
    const bench = await setUp();
    const webhook = await unreadable(bench);
    const other = await bench.webhook('REVIEW');
    bench.decide('BLOCK', 3);
    await bench.dispatcher.settled();
    // The queue behind it is still served.
    bench.decide('REVIEW');
    expect((await bench.handedOut(1)).map(({ endpointId }) => endpointId)).toEqual([other.id]);
    await bench.dispatcher.settled();
    expect([bench.rows('pending').length, bench.rows('skipped').length]).toEqual([4, 0]);
    expect((await bench.control.rotate(CUSTOMER, webhook.id, 60, 'service')).kind).toBe('rotated');
    expect((await bench.handedOut(4)).slice(1).map(({ endpointId }) => endpointId)).toEqual(
      [1, 2, 3].map(() => webhook.id),
    );
  });

  test('Deliveries of a webhook whose secret cannot be read are skipped when it is deleted', async () => {
    const bench = await setUp();
    const webhook = await unreadable(bench);
    bench.decide('BLOCK', 3);
    await bench.dispatcher.settled();
    expect((await bench.control.remove(CUSTOMER, webhook.id, 'service')).kind).toBe('removed');
    await bench.until('skipped', 3);
  });

  test('A test of a webhook whose secret cannot be read ends at once', async () => {
    const bench = await setUp();
    const webhook = await unreadable(bench);
    bench.decide('BLOCK', 100);
    const tested = await bench.control.test(CUSTOMER, webhook.id);
    expect(tested).toMatchObject({ kind: 'done', delivery: { trigger: 'test', status: 'skipped', error: 'gone' } });
    expect(bench.rows('pending')).toHaveLength(100);
  });
});

describe('a probe in flight when the process was killed', () => {
  const NOW = 1_800_000_000_000;
  const SICK: WebhookHealth = {
    status: 'unhealthy',
    consecutiveFailures: 10,
    unhealthySinceMs: NOW - 15_000,
    cooldownMs: 15_000,
    nextProbeAtMs: null,
    lastSuccessAtMs: null,
    lastFailureAtMs: NOW - 15_000,
  };

  test.each(['the store', 'the journal alone', 'nowhere'])(
    'A probe in flight when the process was killed is handled if it is in %s',
    async (place) => {
      const store = tempStore();
      const before = new DispatcherBench(store);
      const webhook = await before.webhook('BLOCK');
      await value(writesOf(store).webhooks.healthChanged([{ ...webhook, health: SICK }]));
      const due = { customer: CUSTOMER, requestId: newId('req', NOW), event: 'BLOCK', createdAtMs: NOW } as const;
      const body = Buffer.from('{}');
      const deliveryId = newId('dlv', NOW) as DeliveryId;
      if (place === 'the store') {
        const manual = newRow({ ...due, body }, newId('dlv', NOW - 1) as DeliveryId, webhook, 'manual');
        await value(store.deliveries.insert([manual, newRow({ ...due, body }, deliveryId, webhook, 'probe')], 0));
      }
      const bytes = encodeDue({ ...due, body, targets: [{ webhookId: webhook.id, deliveryId, trigger: 'probe' }] });
      const bench = await new DispatcherBench(store).start(
        place === 'the journal alone' ? [{ sequence: 1, bytes }] : [],
      );
      if (place === 'the journal alone') await bench.until('pending', 1);
      bench.decide('BLOCK', 2);
      await bench.dispatcher.settled();
      if (place === 'nowhere') {
        // The next decision becomes the probe.
        expect((await bench.handedOut(1))[0]).toMatchObject({ trigger: 'probe' });
        expect(bench.rows('skipped')).toHaveLength(1);
        return;
      }
      expect(bench.rows('skipped')).toHaveLength(2);
      expect(bench.health(webhook).nextProbeAtMs).toBeNull();
      const probe = (await bench.handedOut(place === 'the store' ? 2 : 1)).find(
        (task) => task.deliveryId === deliveryId,
      );
      if (probe === undefined) throw new Error('the probe was not handed out');
      bench.fail(probe);
      await expect
        .poll(() => bench.health(webhook))
        .toMatchObject({ consecutiveFailures: 11, cooldownMs: 30_000, nextProbeAtMs: bench.nowMs + 30_000 });
    },
  );
});

test("Tests of one customer with hanging receivers leave slots for another customer's tests", async () => {
  const bench = await setUp();
  const own = await bench.webhook('BLOCK');
  const other = 8 as CustomerNumber;
  const given = { customer: other, url: 'https://other.test/hook', eventTypes: ['BLOCK'] as const, description: null };
  const made = await bench.control.create(given, 'service');
  if (made.kind !== 'created') throw new Error(made.kind);
  const hanging = Array.from({ length: WEBHOOK_TESTS_PER_CUSTOMER_MAX }, () => bench.control.test(CUSTOMER, own.id));
  expect(await bench.control.test(CUSTOMER, own.id)).toEqual({ kind: 'busy' });
  const others = bench.control.test(other, made.webhook.id);
  const tasks = await bench.handedOut(WEBHOOK_TESTS_PER_CUSTOMER_MAX + 1);
  for (const task of tasks) bench.tell(task, { kind: 'succeeded' });
  expect((await others).kind).toBe('done');
  for (const one of await Promise.all(hanging)) expect(one.kind).toBe('done');
  // The slots are free again.
  const again = bench.control.test(CUSTOMER, own.id);
  const task = (await bench.handedOut(tasks.length + 1)).at(-1);
  if (task !== undefined) bench.tell(task, { kind: 'succeeded' });
  expect((await again).kind).toBe('done');
});
