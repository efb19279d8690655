import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { newId } from '../../../src/kernel/ids.ts';
import type { DeliveryId } from '../../../src/work/webhook.ts';
import type { DeliveryMirror } from '../../../src/webhooks/delivery-mirror.ts';
import { decodeDue } from '../../../src/webhooks/due-delivery.ts';
import {
  DELIVERIES_HELD_PER_ENDPOINT_MAX,
  DELIVERIES_PENDING_MAX,
  DELIVERIES_PENDING_PER_CUSTOMER_MAX,
  DELIVERIES_PENDING_PER_ENDPOINT_MAX,
  DELIVERIES_WAITING_MAX,
} from '../../../src/kernel/delivery-limits.ts';
import { open, tempFolder, tempStore } from '../state/support.ts';
import { HAND_OVER_GAP_MS } from '../../../src/webhooks/dispatcher.ts';
import { CUSTOMER, DispatcherBench } from './dispatcher-support.ts';
import { writesOf } from '../../support/writes.ts';

const setUp = (): Promise<DispatcherBench> => new DispatcherBench(tempStore()).start();

describe('deliveries of a decision', () => {
  test("A decision's delivery is staged into the journal, then handed out with its endpoint, then stored", async () => {
    const bench = await setUp();
    const webhook = await bench.webhook('BLOCK');
    const [requestId] = bench.decide('BLOCK');
    expect(bench.staged).toHaveLength(1);
    expect(bench.tasks()).toEqual([]);
    const [task] = await bench.handedOut(1);
    expect(bench.orders.map(({ kind }) => kind)).toEqual(['listening', 'endpoint', 'deliver']);
    expect(task).toMatchObject({ endpointId: webhook.id, trigger: 'decision', attemptsMade: 0, notBeforeMs: 0 });
    expect(JSON.parse(String(task?.body))).toEqual({
      event: 'BLOCK',
      request_id: requestId,
      decision: 'BLOCK',
      score: 91.5,
      reasons: ['list_block'],
      timestamp: Math.floor(bench.nowMs / 1000),
    });
    expect([bench.storedUpTo, bench.rows('pending')]).toEqual([0, []]);
    await bench.dispatcher.settled();
    expect(bench.storedUpTo).toBe(bench.staged[0]?.sequence);
    expect(decodeDue(bench.staged[0]?.bytes ?? Buffer.alloc(0)).requestId).toBe(requestId);
    expect(bench.rows('pending')).toMatchObject([{ id: task?.deliveryId, status: 'pending', requestId }]);
  });

  test('A decision without a subscribed webhook leaves no trace', async () => {
    const bench = await setUp();
    await bench.webhook('BLOCK');
    bench.decide('ALLOW', 3);
    await bench.dispatcher.settled();
    expect([bench.staged, bench.rows('pending')]).toEqual([[], []]);
  });

  test('Deliveries can be read as soon as `settled` resolves', async () => {
    const bench = await setUp();
    await bench.webhook('BLOCK');
    await bench.webhook('BLOCK', 'REVIEW');
    bench.decide('BLOCK', 50);
    await bench.dispatcher.settled();
    expect(bench.rows('pending')).toHaveLength(100);
  });
});

describe('the limits of pending deliveries', () => {
  test.each([
    ['its endpoint', 'pendingCountOf', DELIVERIES_PENDING_PER_ENDPOINT_MAX],
    ['its customer', 'pendingCountOfCustomer', DELIVERIES_PENDING_PER_CUSTOMER_MAX],
    ['all customers', 'pendingCount', DELIVERIES_PENDING_MAX],
  ] as const)("A decision's delivery is skipped while too many are pending for %s", async (_of, count, most) => {
    const bench = await setUp();
    await bench.webhook('BLOCK');
    const pending = vi.spyOn(bench.store.deliveries, count).mockReturnValue(most - 1);
    bench.decide('BLOCK');
    await bench.handedOut(1);
    pending.mockReturnValue(most);
    bench.decide('BLOCK', 2);
    await bench.dispatcher.settled();
    pending.mockRestore();
    expect([bench.rows('pending').length, bench.rows('skipped').length]).toEqual([1, 2]);
    expect(bench.dispatcher.fanOut.overflowed).toBe(2);
  });

  test('A customer may have no more deliveries pending than there is room for in total', async () => {
    const bench = await setUp();
    await bench.webhook('BLOCK');
    vi.spyOn(bench.store.deliveries, 'pendingCount').mockReturnValue(DELIVERIES_PENDING_MAX - 100);
    const own = vi.spyOn(bench.store.deliveries, 'pendingCountOfCustomer').mockReturnValue(100);
    bench.decide('BLOCK');
    own.mockReturnValue(0);
    bench.decide('BLOCK');
    await bench.handedOut(1);
    expect(bench.dispatcher.fanOut.overflowed).toBe(1);
  });
});

describe('deliveries that end before they are stored', () => {
  test('A delivery that succeeds before its row is stored is written once, with its attempt', async () => {
    const bench = await setUp();
    const apply = vi.spyOn(bench.store.deliveries, 'apply');
    const webhook = await bench.webhook('BLOCK');
    bench.decide('BLOCK', 3);
    for (const task of await bench.handedOut(3)) bench.tell(task, { kind: 'succeeded' });
    // The worker's slots are free although no row is stored.
    expect([bench.rows('succeeded'), bench.dispatcher.windows.held]).toEqual([[], 0]);
    await bench.until('succeeded', 3);
    expect(apply).not.toHaveBeenCalled();
    const attempt = { attempt: 1, startedAtMs: bench.nowMs, durationMs: 5, statusCode: 200, error: null };
    for (const row of bench.rows('succeeded'))
      expect(row).toMatchObject({ attempts: [attempt], completedAtMs: bench.nowMs, elapsedMs: 5 });
    await expect.poll(() => bench.health(webhook).lastSuccessAtMs).toBe(bench.nowMs);
    expect([bench.dispatcher.pendingOf(webhook.id), bench.storedUpTo, bench.tasks().length]).toEqual([0, 3, 3]);
  });

  test('A delivery that failed once before its row is stored keeps the attempt, and its next one follows in the same row', async () => {
    const bench = await setUp();
    await bench.webhook('BLOCK');
    bench.decide('BLOCK');
    const [task] = await bench.handedOut(1);
    if (task === undefined) throw new Error('none');
    bench.tell(task, { kind: 'waiting', nextAttemptAtMs: bench.nowMs + 2_000 }, 'timeout');
    await bench.dispatcher.settled();
    expect(bench.rows('pending')).toMatchObject([{ attempts: [{ attempt: 1 }], nextAttemptAtMs: bench.nowMs + 2_000 }]);
    bench.tell(task, { kind: 'succeeded' });
    await bench.until('succeeded', 1);
    expect(bench.rows('succeeded')).toMatchObject([{ attempts: [{ attempt: 1 }, { attempt: 2 }] }]);
    await expect.poll(() => bench.dispatcher.windows.held).toBe(0);
    expect(bench.tasks()).toHaveLength(1);
  });

  test('A delivery that is stored, sent and ended before its turn to be handed out early is not handed out again', async () => {
    const bench = await setUp();
    await bench.webhook('BLOCK');
    const { setTimeout: real } = globalThis;
    let turn = (): void => {};
    const timers = vi.spyOn(globalThis, 'setTimeout').mockImplementation((then: () => void, ms = 0) => {
      if (ms === 0 || ms > HAND_OVER_GAP_MS) return real(then, ms);
      turn = then;
      return real(() => {}, 0);
    });
    onTestFinished(() => {
      timers.mockRestore();
      clock.mockRestore();
    });
    const clock = vi.spyOn(performance, 'now').mockReturnValue(1);
    bench.decide('BLOCK');
    await bench.handedOut(1);
    // Waits, because a message has just gone.
    bench.decide('BLOCK');
    await bench.dispatcher.settled();
    const [, second] = await bench.handedOut(2);
    if (second === undefined) throw new Error('none');
    bench.tell(second, { kind: 'succeeded' });
    await expect.poll(() => bench.dispatcher.windows.held).toBe(1);
    turn();
    expect(bench.tasks()).toHaveLength(2);
  });

  test('After a restart, a delivery that was sent but not stored is sent again under the same id', async () => {
    const bench = await setUp();
    const webhook = await bench.webhook('BLOCK');
    bench.decide('BLOCK');
    const [task] = await bench.handedOut(1);
    const next = await new DispatcherBench(tempStore()).webhookOf(webhook);
    await next.start(bench.staged);
    expect(await next.handedOut(1)).toMatchObject([{ deliveryId: task?.deliveryId, body: task?.body }]);
  });

  test('In a cluster nothing is handed out before it is stored and another node could continue it', async () => {
    const shown: string[] = [];
    const stored = vi.fn<DeliveryMirror['stored']>((rows) => {
      shown.push(...rows.map(({ id }) => id));
      return Promise.resolve();
    });
    const bench = await new DispatcherBench(tempStore(), { stored, attempted: () => {}, ended: () => {} }).start();
    await bench.webhook('BLOCK');
    bench.decide('BLOCK');
    await vi.waitFor(() => expect(stored).toHaveBeenCalled());
    expect(bench.rows('pending')).toHaveLength(1);
    expect((await bench.handedOut(1)).map(({ deliveryId }) => deliveryId)).toEqual(shown);
  });
});

describe('more deliveries than the store accepts', () => {
  test('Deliveries beyond the memory limit are all delivered without a restart and not kept in memory', async () => {
    const bench = await setUp();
    const webhooks = await Promise.all(Array.from({ length: 20 }, () => bench.webhook('BLOCK')));
    const decisions = DELIVERIES_WAITING_MAX / 20 + 500;
    bench.decide('BLOCK', decisions);
    const { rows } = bench.dispatcher;
    expect([rows.isBehind, rows.waiting, rows.deferred]).toEqual([true, DELIVERIES_WAITING_MAX, 500 * 20]);
    await vi.waitFor(() => expect(rows.isBehind).toBe(false), 90_000);
    expect(bench.store.deliveries.pendingCount()).toBe(decisions * 20);
    expect(bench.storedUpTo).toBe(decisions);
    for (const { id } of webhooks) expect(bench.dispatcher.pendingOf(id)).toBe(decisions);
    bench.decide('BLOCK');
    expect(rows.isBehind).toBe(false);
  });
});

describe('the prefetch', () => {
  test('An endpoint gets as many deliveries as its window allows, and the others follow from the store, oldest first', async () => {
    const bench = await setUp();
    await bench.webhook('BLOCK');
    const requestIds = bench.decide('BLOCK', 300);
    let told = 0;
    while (told < 300) {
      const tasks = await bench.handedOut(told + 1);
      expect(tasks.length - told).toBeLessThanOrEqual(DELIVERIES_HELD_PER_ENDPOINT_MAX);
      for (const task of tasks.slice(told)) bench.tell(task, { kind: 'succeeded' });
      told = tasks.length;
    }
    await bench.until('succeeded', 300);
    const sent = bench.tasks().map(({ body }) => (JSON.parse(String(body)) as { request_id: string }).request_id);
    expect(new Set(sent)).toEqual(new Set(requestIds));
    expect(sent).toHaveLength(300);
    // A row may be readable as ended a moment before its slot is released.
    await expect.poll(() => bench.dispatcher.windows.held).toBe(0);
  });

  test('A row stored after rows with higher ids is handed out before long', async () => {
    const bench = await setUp();
    const webhook = await bench.webhook('BLOCK');
    bench.decide('BLOCK', 2_000);
    const [first] = await bench.handedOut(DELIVERIES_HELD_PER_ENDPOINT_MAX);
    await bench.until('pending', 1_000);
    const row = bench.store.deliveries.find(CUSTOMER, first?.deliveryId as DeliveryId);
    if (row === null) throw new Error('it was handed out before it was stored');
    const early = newId('dlv', 1_000) as DeliveryId;
    expect(bench.dispatcher.add({ ...row, id: early, endpointId: webhook.id })).toBe(true);
    let told = 0;
    while (!bench.tasks().some(({ deliveryId }) => deliveryId === early)) {
      expect(told).toBeLessThan(1_500);
      const tasks = await bench.handedOut(told + 1);
      for (const task of tasks.slice(told)) bench.tell(task, { kind: 'succeeded' });
      told = tasks.length;
    }
  });

  test('An endpoint with a full window does not prevent others from getting theirs', async () => {
    const bench = await setUp();
    await bench.webhook('BLOCK');
    bench.decide('BLOCK', 200);
    await bench.handedOut(DELIVERIES_HELD_PER_ENDPOINT_MAX);
    const other = await bench.webhook('REVIEW');
    bench.decide('REVIEW');
    const tasks = await bench.handedOut(DELIVERIES_HELD_PER_ENDPOINT_MAX + 1);
    expect(tasks.at(-1)?.endpointId).toBe(other.id);
  });

  test('After the worker died, recorded attempts count and a finished delivery is not handed out again', async () => {
    const bench = await setUp();
    await bench.webhook('BLOCK');
    bench.decide('BLOCK', 3);
    const [first, second] = await bench.handedOut(3);
    if (first === undefined || second === undefined) throw new Error('none');
    bench.tell(first, { kind: 'waiting', nextAttemptAtMs: bench.nowMs + 2_000 }, 'timeout');
    bench.tell(second, { kind: 'succeeded' });
    bench.kill();
    expect(bench.dispatcher.status.state).toBe('broken');
    bench.decide('BLOCK');
    await bench.dispatcher.settled();
    bench.revive();
    const tasks = await bench.handedOut(3);
    expect(bench.dispatcher.status.state).toBe('ok');
    expect(tasks).toHaveLength(3);
    expect(tasks.find(({ deliveryId }) => deliveryId === first.deliveryId)).toMatchObject({
      attemptsMade: 1,
      elapsedMs: 5,
      notBeforeMs: bench.nowMs + 2_000,
    });
    expect(tasks.map(({ deliveryId }) => deliveryId)).not.toContain(second.deliveryId);
  });
});

describe('control', () => {
  test('A removed webhook has its deliveries skipped and gets no further ones', async () => {
    const bench = await setUp();
    const webhook = await bench.webhook('BLOCK');
    bench.decide('BLOCK', 100);
    const tasks = await bench.handedOut(DELIVERIES_HELD_PER_ENDPOINT_MAX);
    expect(await bench.control.remove(CUSTOMER, webhook.id, 'service')).toEqual({ kind: 'removed' });
    expect(await bench.control.remove(CUSTOMER, webhook.id, 'service')).toEqual({ kind: 'not_found' });
    expect(bench.orders.slice(-2)).toEqual([
      { kind: 'skip', endpointId: webhook.id, error: 'gone', all: true },
      { kind: 'forget', endpointId: webhook.id },
    ]);
    for (const task of tasks) bench.tell(task, { kind: 'skipped', error: 'gone' }, 'timeout');
    bench.decide('BLOCK');
    await bench.until('skipped', 100);
    expect(bench.tasks()).toHaveLength(DELIVERIES_HELD_PER_ENDPOINT_MAX);
  });

  test('A test bypasses a full window and returns its result', async () => {
    const bench = await setUp();
    const webhook = await bench.webhook('BLOCK');
    bench.decide('BLOCK', 100);
    await bench.handedOut(DELIVERIES_HELD_PER_ENDPOINT_MAX);
    const testing = bench.control.test(CUSTOMER, webhook.id);
    const task = (await bench.handedOut(DELIVERIES_HELD_PER_ENDPOINT_MAX + 1)).at(-1);
    if (task === undefined) throw new Error('none');
    expect(task.trigger).toBe('test');
    bench.fail(task);
    expect(await testing).toMatchObject({
      kind: 'done',
      delivery: {
        status: 'failed',
        trigger: 'test',
        attempts: [{ attempt: 1, statusCode: 500, error: 'http_status' }],
      },
    });
    expect(bench.health(webhook).consecutiveFailures).toBe(0);
  });

  test('A retry is a new delivery of the same bytes and is sent even if the webhook is unhealthy', async () => {
    const bench = await setUp();
    const webhook = await bench.webhook('BLOCK');
    bench.decide('BLOCK', 10);
    const tasks = await bench.handedOut(10);
    await bench.dispatcher.settled();
    const [first] = tasks;
    const id = bench.rows('pending').find((row) => row.id === first?.deliveryId)?.id;
    if (first === undefined || id === undefined) throw new Error('none');
    expect(await bench.control.retry(CUSTOMER, id)).toEqual({ kind: 'pending' });
    for (const task of tasks) bench.fail(task);
    await bench.until('failed', 10);
    const retried = await bench.control.retry(CUSTOMER, id);
    expect(retried).toMatchObject({ kind: 'queued', delivery: { trigger: 'manual', status: 'pending' } });
    const task = (await bench.handedOut(11)).at(-1);
    expect(task).toMatchObject({ trigger: 'manual', attemptsMade: 0 });
    expect(Buffer.from(task?.body ?? []).equals(Buffer.from(first.body))).toBe(true);
    await bench.control.remove(CUSTOMER, webhook.id, 'service');
    expect(await bench.control.retry(CUSTOMER, id)).toEqual({ kind: 'endpoint_gone' });
  });

  test('A disabled webhook gets no deliveries, is not unhealthy, and resumes when it is enabled', async () => {
    const bench = await setUp();
    const webhook = await bench.webhook('BLOCK');
    bench.decide('BLOCK', 100);
    const tasks = await bench.handedOut(DELIVERIES_HELD_PER_ENDPOINT_MAX);
    for (const task of tasks.slice(0, 10)) bench.fail(task);
    await expect.poll(() => bench.health(webhook).status).toBe('unhealthy');
    const disabled = await bench.control.change(CUSTOMER, webhook.id, { disabled: true }, 'service');
    expect(disabled).toMatchObject({ kind: 'changed', webhook: { disabled: true, health: { status: 'healthy' } } });
    expect(bench.orders.slice(-2)).toEqual([
      { kind: 'skip', endpointId: webhook.id, error: 'disabled', all: true },
      { kind: 'forget', endpointId: webhook.id },
    ]);
    for (const task of tasks.slice(10, 20)) bench.tell(task, { kind: 'failed', error: 'timeout' }, 'timeout');
    for (const task of tasks.slice(20)) bench.tell(task, { kind: 'skipped', error: 'disabled' }, 'timeout');
    await bench.until('pending', 0);
    const handedOut = bench.tasks().length;
    // Nothing is enqueued for it, so no row is written.
    bench.decide('BLOCK', 5);
    await bench.dispatcher.settled();
    expect(bench.rows('skipped').length + bench.rows('failed').length).toBe(100);
    expect(bench.tasks()).toHaveLength(handedOut);
    expect(bench.health(webhook)).toMatchObject({ status: 'healthy', consecutiveFailures: 0 });
    expect(await bench.control.test(CUSTOMER, webhook.id)).toEqual({ kind: 'disabled' });
    const [row] = bench.rows('failed');
    if (row === undefined) throw new Error('none');
    expect(await bench.control.retry(CUSTOMER, row.id)).toEqual({ kind: 'disabled' });

    expect((await bench.control.change(CUSTOMER, webhook.id, { disabled: false }, 'service')).kind).toBe('changed');
    bench.decide('BLOCK');
    expect((await bench.handedOut(handedOut + 1)).at(-1)).toMatchObject({
      endpointId: webhook.id,
      trigger: 'decision',
    });
  });

  test('Pending deliveries of a webhook disabled while the service was down are skipped after the restart', async () => {
    const folder = tempFolder();
    const store = open(folder);
    const bench = await new DispatcherBench(store).start();
    const webhook = await bench.webhook('BLOCK');
    bench.decide('BLOCK', 3);
    await bench.handedOut(3);
    await bench.dispatcher.stop();
    const change = { disabled: true, nowMs: bench.nowMs };
    expect((await writesOf(store).webhooks.change(CUSTOMER, webhook.id, change)).kind).toBe('ok');
    const next = await new DispatcherBench(store).start();
    await next.until('skipped', 3);
    expect(next.rows('skipped').map(({ error }) => error)).toEqual(Array(3).fill('disabled'));
    expect(next.tasks()).toEqual([]);
    await next.dispatcher.stop();
    await store.close();
  });

  test('A change of URL is sent to the worker and resets the health, and changed event types take effect at once', async () => {
    const bench = await setUp();
    const webhook = await bench.webhook('BLOCK');
    bench.decide('BLOCK', 3);
    const [first, second] = await bench.handedOut(3);
    if (first === undefined || second === undefined) throw new Error('none');
    bench.fail(first);
    await expect.poll(() => bench.health(webhook).consecutiveFailures).toBe(1);
    const url = 'https://new.test/hook';
    const changed = await bench.control.change(CUSTOMER, webhook.id, { url, eventTypes: ['REVIEW'] }, 'service');
    expect(changed).toMatchObject({ webhook: { url, eventTypes: ['REVIEW'], health: { consecutiveFailures: 0 } } });
    expect(bench.orders.at(-1)).toMatchObject({ kind: 'endpoint', endpoint: { endpointId: webhook.id, url } });
    bench.decide('BLOCK');
    bench.decide('REVIEW');
    expect((await bench.handedOut(4)).at(-1)?.endpointId).toBe(webhook.id);
    await bench.dispatcher.settled();
    expect(
      bench
        .rows('pending')
        .map(({ event }) => event)
        .sort(),
    ).toEqual(['BLOCK', 'BLOCK', 'REVIEW']);
    expect(await bench.control.change(CUSTOMER, 'wh_x' as typeof webhook.id, {}, 'service')).toEqual({
      kind: 'not_found',
    });
  });

  test('A rotation is sent to the worker', async () => {
    const bench = await setUp();
    const webhook = await bench.webhook('BLOCK');
    bench.decide('BLOCK');
    await bench.handedOut(1);
    const rotated = await bench.control.rotate(CUSTOMER, webhook.id, 60, 'service');
    if (rotated.kind !== 'rotated') throw new Error(rotated.kind);
    expect(bench.orders.at(-1)).toMatchObject({
      kind: 'endpoint',
      endpoint: { secrets: { current: rotated.secret, previous: [{ untilMs: bench.nowMs + 60_000 }] } },
    });
  });
});

describe('stop and restart of the dispatcher', () => {
  test('An attempt aborted by a stop is recorded but does not count as one of the four', async () => {
    const folder = tempFolder();
    const bench = await new DispatcherBench(open(folder)).start();
    await bench.webhook('BLOCK');
    bench.decide('BLOCK', 2);
    const [first] = await bench.handedOut(2);
    if (first === undefined) throw new Error('none');
    bench.onClose = () => bench.tell(first, { kind: 'kept' }, 'shutdown');
    await bench.dispatcher.stop();
    await bench.store.close();

    const store = open(folder);
    const next = await new DispatcherBench(store).start();
    const tasks = await next.handedOut(2);
    const again = tasks.find(({ deliveryId }) => deliveryId === first.deliveryId);
    expect(again).toMatchObject({ attemptsMade: 0 });
    if (again !== undefined) next.tell(again, { kind: 'succeeded' });
    await next.until('succeeded', 1);
    expect(next.rows('succeeded')[0]?.attempts).toMatchObject([
      { attempt: 1, error: 'shutdown' },
      { attempt: 2, error: null },
    ]);
    await next.dispatcher.stop();
    await store.close();
  });

  test('Deliveries that are only in the journal are sent once after the next start', async () => {
    const folder = tempFolder();
    const store = open(folder);
    const bench = await new DispatcherBench(store).start();
    const webhook = await bench.webhook('BLOCK');
    bench.decide('BLOCK', 3);
    await bench.handedOut(3);
    // The second entry is in the store already, but the mark does not cover it.
    const due = bench.staged.map(({ sequence, bytes }) => ({ sequence: sequence + 3, bytes }));
    const fresh = bench.staged.slice(0, 1).map(({ bytes }) => {
      const entry = Buffer.from(bytes);
      const [target] = decodeDue(entry).targets;
      // Another delivery: the last character of its id changes.
      const at = entry.indexOf(target?.deliveryId ?? '') + (target?.deliveryId.length ?? 0) - 1;
      entry[at] = entry[at] === 0x5a ? 0x59 : 0x5a;
      return { sequence: 9, bytes: entry };
    });
    await bench.dispatcher.stop();

    const next = await new DispatcherBench(store).start([...due, ...fresh]);
    const tasks = await next.handedOut(4);
    expect(new Set(tasks.map(({ deliveryId }) => deliveryId)).size).toBe(4);
    expect(tasks).toHaveLength(4);
    expect(store.deliveries.storedUpToSequence()).toBe(9);
    next.decide('BLOCK');
    expect(next.staged.at(-1)?.sequence).toBe(10);
    expect(webhook.id).toBe(tasks[0]?.endpointId);
    await next.dispatcher.stop();
    await store.close();
  });
});
