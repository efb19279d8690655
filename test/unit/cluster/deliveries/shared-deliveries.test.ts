import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Link } from '../../../../src/cluster/store/link.ts';
import { SharedDeliveries } from '../../../../src/cluster/deliveries/shared-deliveries.ts';
import { takenOver } from '../../../../src/cluster/deliveries/taken-delivery.ts';
import { newId } from '../../../../src/kernel/ids.ts';
import type { Deliveries } from '../../../../src/state/tables/delivery-table.ts';
import type { Delivery, DeliveryAttempt } from '../../../../src/work/webhook.ts';
import { linkTo } from '../../../support/links.ts';
import { ask, withSend } from '../../../support/store-links.ts';
import { type RedisServer, startRedis } from '../../../support/redis.ts';
import { delivery as deliveryAt, NOW, success } from '../../state/deliveries-support.ts';
import { tempStore, value } from '../../state/support.ts';

const KEY = Buffer.alloc(32, 5);
const LIVE = { timeout: 10_000, interval: 5 };

/** A delivery of now: old ones are not taken over. */
const delivery = (customer: number, fields: Partial<Delivery> = {}, nowMs = Date.now()): Delivery =>
  deliveryAt(customer, fields, nowMs);

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());
beforeEach(() => redis.flush());

/** The delivery log of a node, and what its deliver worker would be given. */
interface Node {
  readonly deliveries: Deliveries;
  readonly shared: SharedDeliveries;
  readonly handedOut: Delivery[];
  readonly dropped: string[];
  /** Nodes that are gone, with the number of their deliveries that this one cannot read. */
  readonly unreadable: (readonly [string, number])[];
  leaseUntilMs: number;
  isJoined: boolean;
  add(rows: readonly Delivery[]): Promise<void>;
  /** Ends without a word, as by a kill. */
  die(): Promise<void>;
}

/** Nodes that are alive, for all. */
const live = new Set<string>();

async function open(
  name: string,
  { url = redis.url, sends = true, through = (link: Link): Link => link } = {},
): Promise<Node> {
  const { deliveries } = tempStore();
  const link = through(await linkTo(url));
  const shared = new SharedDeliveries({
    link,
    key: KEY,
    node: name,
    sends,
    isJoined: () => node.isJoined,
    senders: () => [...live],
    storeNowMs: () => Date.now(),
    nowMs: () => Date.now(),
    onTakenOver() {},
    onUnreadable: (gone, count) => void node.unreadable.push([gone, count]),
    tickMs: 20,
    scanMs: 60,
  });
  const node: Node = {
    deliveries,
    shared,
    handedOut: [],
    dropped: [],
    unreadable: [],
    leaseUntilMs: 0,
    isJoined: true,
    async add(rows) {
      await value(deliveries.insert(rows, 0));
      await shared.stored(rows);
      node.handedOut.push(...rows);
    },
    async die() {
      live.delete(name);
      await shared.close();
      await link.close();
    },
  };
  onTestFinished(() => node.die());
  if (sends) live.add(name);
  shared.start({
    *pending() {
      for (const endpoint of deliveries.endpointsWithPending()) yield deliveries.pendingOf(endpoint, null, 1_000);
    },
    find: ({ customer, id }) => deliveries.find(customer, id),
    adopt: (rows) => deliveries.insert(rows, 0),
    handOut: (rows) => void node.handedOut.push(...rows),
    async drop(rows) {
      node.dropped.push(...rows.map(({ id }) => id));
      await deliveries.removePending(rows);
    },
    retryOf: () => 'fast',
    lease(untilMs) {
      node.leaseUntilMs = untilMs;
    },
  });
  await expect.poll(() => node.leaseUntilMs, LIVE).toBeGreaterThan(Date.now());
  return node;
}

const idsOf = (rows: readonly Pick<Delivery, 'id'>[]): readonly string[] => rows.map(({ id }) => id).toSorted();

function attempt(number: number): DeliveryAttempt {
  return { attempt: number, startedAtMs: NOW, durationMs: 3, statusCode: 503, error: 'http_status' };
}

describe('deliveries of a node that is gone', () => {
  test('They are continued by the others, each by one of them, with their earlier attempts', async () => {
    const [a, b, c] = [await open('a'), await open('b'), await open('c')];
    const nowMs = Date.now();
    const rows = Array.from({ length: 450 }, (_none, n) =>
      delivery(1 + (n % 3), { endpointId: newId('wh', NOW) }, nowMs),
    );
    await a.add(rows);
    const retried = rows
      .slice(0, 100)
      .map((row): Delivery => ({ ...row, attempts: [attempt(1)], nextAttemptAtMs: nowMs }));
    a.shared.attempted(retried);
    await a.die();
    await expect.poll(() => b.handedOut.length + c.handedOut.length, LIVE).toBe(450);
    expect(idsOf([...b.handedOut, ...c.handedOut])).toEqual(idsOf(rows));
    for (const node of [b, c])
      for (const row of node.handedOut) {
        const stored = node.deliveries.find(row.customer, row.id);
        const isRetried = retried.some(({ id }) => id === row.id);
        // The attempt that the dead node may have been making counts.
        expect(stored?.attempts.length).toBe(isRetried ? 2 : 1);
        expect(stored).toMatchObject({ status: 'pending', url: row.url, body: row.body });
      }
  });

  test('When the answer to the end of the claims is lost, the one that took them over keeps and sends them', async () => {
    const a = await open('a');
    const rows = [delivery(1), delivery(2)];
    await a.add(rows);
    let lost = 0;
    /** The store ends the claims, but the answer does not arrive. */
    const losing = (link: Link): Link =>
      withSend(link, async (commands, ms) => {
        const replies = await link.send(commands, ms);
        if (lost > 0 || !commands.some(({ args }) => String(args[1]).includes('local settled'))) return replies;
        lost++;
        return replies.map(() => ({ kind: 'fault', what: 'unknown', detail: 'no answer' }));
      });
    const b = await open('b', { through: losing });
    await a.die();
    await expect.poll(() => idsOf(b.handedOut), LIVE).toEqual(idsOf(rows));
    expect([lost, b.dropped]).toEqual([1, []]);
    await expect.poll(() => b.leaseUntilMs, LIVE).toBeGreaterThan(Date.now());
    const c = await open('c');
    await b.die();
    await expect.poll(() => idsOf(c.handedOut), LIVE).toEqual(idsOf(rows));
  });

  test('If the one that took them over dies too, the next one has them, and the counts go on', async () => {
    const [a, b] = [await open('a'), await open('b')];
    const row = delivery(1, {}, Date.now());
    await a.add([row]);
    await a.die();
    await expect.poll(() => idsOf(b.handedOut), LIVE).toEqual([row.id]);
    const c = await open('c');
    await b.die();
    await expect.poll(() => idsOf(c.handedOut), LIVE).toEqual([row.id]);
    expect(c.handedOut[0]?.attempts.map(({ attempt: number }) => number)).toEqual([1]);
    expect(c.handedOut[0]?.nextAttemptAtMs).toBeGreaterThan(Date.now() - 10_000);
  });

  test('A copy of what was taken over is not sent again, nor one in the place of another, nor an old one', async () => {
    const [a, b] = [await open('a'), await open('b')];
    const nowMs = Date.now();
    const old = delivery(1, {}, nowMs - 8 * 86_400_000);
    const rows = [delivery(1, {}, nowMs), delivery(2, {}, nowMs)];
    await a.add(rows);
    const lane = '{gh:w-deliveries-ca978112ca1bbdcafac231b39a23dc4d}';
    const link = await linkTo(redis.url);
    const valueOf = async (id: string): Promise<Buffer> => (await ask(link, 'HGET', `${lane}:rows`, id)) as Buffer;
    const [first, second] = await Promise.all(rows.map(({ id }) => valueOf(id)));
    await a.add([old]);
    await a.die();
    await expect.poll(() => idsOf(b.handedOut), LIVE).toEqual(idsOf(rows));
    await value(b.deliveries.apply(rows.map((row) => success(row))));
    b.shared.ended(rows.map(({ id }) => id));
    const [one, other] = rows.map(({ id }) => id);
    for (let n = 1; n <= 3; n++) {
      await ask(link, 'DEL', `${lane}:ended`, `${lane}:claims`);
      for (const [id, text] of [
        [one, first],
        [other, n === 3 ? first : second],
      ] as const) {
        await ask(link, 'HSET', `${lane}:rows`, id ?? '', text ?? '');
        await ask(link, 'ZADD', `${lane}:order`, String(n), id ?? '');
      }
      // The old one is refused again each time, because it stays in the lane.
      await expect.poll(() => b.shared.refused, LIVE).toBeGreaterThanOrEqual(3 * n - (n === 3 ? 1 : 0));
    }
    await expect.poll(() => b.unreadable, LIVE).toEqual([['a', 1]]);
    expect(idsOf(b.handedOut)).toEqual(idsOf(rows));
    await link.close();
  });

  test('What was stored here, but never got into a lane nor to the sender, is sent, and taken over in turn', async () => {
    const [a, b] = [await open('a'), await open('b')];
    const row = delivery(1);
    await a.add([row]);
    // As after a fault of the store between storing the row here and writing it to this node's lane.
    await value(b.deliveries.insert([row], 0));
    await a.die();
    await expect.poll(() => idsOf(b.handedOut), LIVE).toEqual([row.id]);
    const c = await open('c');
    await b.die();
    await expect.poll(() => idsOf(c.handedOut), LIVE).toEqual([row.id]);
  });

  test('What had ended is not sent again', async () => {
    const [a, b] = [await open('a'), await open('b')];
    const rows = [delivery(1), delivery(1), delivery(1)];
    await a.add(rows);
    const [first, second] = rows;
    await value(a.deliveries.apply(rows.slice(0, 2).map((row) => success(row))));
    if (first === undefined || second === undefined) throw new Error('three rows were expected');
    a.shared.ended([first.id, second.id]);
    await a.die();
    await expect.poll(() => idsOf(b.handedOut), LIVE).toEqual(idsOf(rows.slice(2)));
  });

  test('Those of a node that sends none are sent by the others while it lives, and it forgets them', async () => {
    const a = await open('a', { sends: false });
    const b = await open('b');
    const row = delivery(1);
    await a.add([row]);
    await expect.poll(() => idsOf(b.handedOut), LIVE).toEqual([row.id]);
    await expect.poll(() => a.deliveries.pendingCount(), LIVE).toBe(0);
  });
});

describe('a node that was only taken for dead', () => {
  test('It begins no attempt without a lease, and drops what others have taken', async () => {
    const [a, b] = [await open('a'), await open('b')];
    const rows = [delivery(1), delivery(2)];
    await a.add(rows);
    a.isJoined = false;
    await expect.poll(() => a.leaseUntilMs, LIVE).toBe(0);
    live.delete('a');
    await expect.poll(() => idsOf(b.handedOut), LIVE).toEqual(idsOf(rows));
    const later = delivery(3);
    await a.add([later]);
    live.add('a');
    a.isJoined = true;
    await expect.poll(() => a.dropped.toSorted(), LIVE).toEqual(idsOf(rows));
    await expect.poll(() => a.leaseUntilMs, LIVE).toBeGreaterThan(Date.now());
    expect(a.deliveries.find(later.customer, later.id)?.status).toBe('pending');
    expect(rows.map(({ customer, id }) => a.deliveries.find(customer, id))).toEqual([null, null]);
    // Its own row is in its lane again.
    await a.die();
    await expect.poll(() => idsOf(b.handedOut), LIVE).toEqual(idsOf([...rows, later]));
  });

  test('While the store is down no attempt begins; later everything is there as it is then', async () => {
    const own = await startRedis();
    onTestFinished(() => own.stop());
    const a = await open('a', { url: own.url });
    const [before, during, ended] = [delivery(1), delivery(2), delivery(3)];
    await a.add([before, ended]);
    await own.kill();
    await a.add([during]);
    await expect.poll(() => a.leaseUntilMs, LIVE).toBe(0);
    await value(a.deliveries.apply([success(ended)]));
    a.shared.ended([ended.id]);
    await own.restart();
    await expect.poll(() => a.leaseUntilMs, LIVE).toBeGreaterThan(Date.now());
    const b = await open('b', { url: own.url });
    await a.die();
    await expect.poll(() => idsOf(b.handedOut), LIVE).toEqual(idsOf([before, during]));
  });
});

describe('takenOver', () => {
  const row = delivery(1, { createdAtMs: NOW });

  test('No delivery gets more attempts than its plan has, whichever attempt the node died in', () => {
    const left = [0, 1, 2, 3].map((made) => {
      const attempts = Array.from({ length: made }, (_none, n) => attempt(n + 1));
      const taken = takenOver({ ...row, attempts, nextAttemptAtMs: made === 0 ? null : NOW }, 'fast', NOW + 7_000);
      return taken.status === 'pending' ? 4 - taken.attempts.length : taken.status;
    });
    expect(left).toEqual([3, 2, 1, 'failed']);
  });

  test('An attempt that was not due yet does not count', () => {
    const waiting = { ...row, attempts: [attempt(1)], nextAttemptAtMs: NOW + 8_000 };
    expect(takenOver(waiting, 'fast', NOW)).toBe(waiting);
  });

  test('Attempts that a shutdown aborted do not count, as on their own node', () => {
    const aborted = { ...row, attempts: [{ ...attempt(1), error: 'shutdown' as const }] };
    expect(takenOver(aborted, 'fast', NOW + 7_000)).toMatchObject({
      status: 'pending',
      attempts: [{}, { attempt: 2 }],
    });
  });

  test('A trial is sent again, and a test fails', () => {
    const trial = { ...row, trigger: 'probe' as const };
    expect(takenOver(trial, 'fast', NOW + 7_000)).toBe(trial);
    expect(takenOver({ ...row, trigger: 'test' }, 'fast', NOW)).toMatchObject({ status: 'failed', error: 'shutdown' });
  });
});
