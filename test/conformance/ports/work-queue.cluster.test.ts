import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import type { Link } from '../../../src/cluster/link.ts';
import { RedisWorkQueue } from '../../../src/cluster/redis-work-queue.ts';
import { DELIVERY_CODEC } from '../../../src/cluster/delivery-codec.ts';
import { newId } from '../../../src/kernel/ids.ts';
import type { DeliveryReason, DeliveryReport, DeliveryWork } from '../../../src/state/delivery-work.ts';
import type { Delivery } from '../../../src/work/webhook.ts';
import { linkTo } from '../../support/links.ts';
import { type RedisServer, startRedis } from '../../support/redis.ts';
import { delivery } from '../../unit/state/deliveries-support.ts';
import { describeWorkQueue, type WorkQueueSubject } from './work-queue.ts';

const NOW = Date.UTC(2026, 10, 23);
const KEY = Buffer.alloc(32, 5);

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const endpoints = [0, 1, 2, 3].map(() => newId('wh', NOW));
const laneOf = (lane: number): string => endpoints[lane] ?? '';
let serial = 0;

describeWorkQueue('deliveries in a shared store', async () => {
  const name = randomUUID();
  const links: Link[] = [];
  onTestFinished(async () => void (await Promise.all(links.map((link) => link.close()))));
  const connect = async (): Promise<WorkQueueSubject<Delivery, DeliveryWork, DeliveryReport, DeliveryReason>> => {
    const link = await linkTo(redis.url);
    links.push(link);
    return {
      queue: new RedisWorkQueue({ link, key: KEY, name, codec: DELIVERY_CODEC }),
      make: (lane) => delivery(lane, { endpointId: laneOf(lane) }, NOW + serial++),
      idOf: ({ id }) => id,
      laneOf,
      perform: () => Promise.resolve(),
      report: () => ({ attempt: null, elapsedMs: 3 }),
      reason: { status: 'failed', error: 'timeout' },
      restart: connect,
    };
  };
  return connect();
});
