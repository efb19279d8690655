import { expect, test } from 'vitest';
import { HAS_REDIS, type RedisServer, startRedisCluster } from '../support/redis.ts';
import { FAILOVER, type Fault, keep, systemOver, withinTime } from '../support/store-faults.ts';

/** A primary of a Redis Cluster is killed under load: see `store-faults.ts`. */

test.skipIf(!HAS_REDIS)(
  'A killed primary fails no decision, and they report it until its replica has replaced it',
  async () => {
    const store = keep(await startRedisCluster());
    const system = await systemOver(() => store.url);
    let killed: RedisServer | undefined;
    const fault: Fault = {
      async begin() {
        // The shard with the ids and rates of the only key.
        killed = await store.primaryOf('{gh:k1}');
        await killed.kill();
      },
      async end() {
        await killed?.restart();
        await store.settled();
      },
      noticedBy: 'cluster',
    };
    const during = await withinTime(system, fault, FAILOVER);
    expect(during.degraded).toBeGreaterThan(0);
  },
);
