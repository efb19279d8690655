import { expect, test } from 'vitest';
import { CHANGES_KEY, VELOCITY_SHARDS, velocityKey } from '../../src/cluster/store/store-keys.ts';
import { bearer, fingerprintOf } from '../support/manage.ts';
import { HAS_REDIS, startRedis } from '../support/redis.ts';
import { type Fault, keep, RATE, systemOver, untilState, withinTime } from '../support/store-faults.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { stranger, visit } from '../support/visits.ts';
import { eventually } from '../support/webhooks.ts';

/** Streams of the shared store are trimmed under load: see `store-faults.ts`. */

const STREAMS = [CHANGES_KEY, ...Array.from({ length: VELOCITY_SHARDS }, (_none, shard) => velocityKey(shard))];
const SIGNUPS = 'velocity_ip_signups_24h';
/** The load lasts on after the trim. Measured: the loss is reported from 4.7 s on. */
const TRIMMED = { perSecond: RATE, seconds: 10 };

test.skipIf(!HAS_REDIS)(
  'Nobody waits and the loss is reported; a node that was behind gets what it lacks from the other, and counts add up again',
  async () => {
    const redis = keep(await startRedis());
    const proxy = await startTcpProxy(redis.port);
    keep({ stop: () => proxy.close() });
    const system = await systemOver((node) => `redis://127.0.0.1:${node === 0 ? redis.port : proxy.port}`, 2);
    const { nodes } = system;
    const [one, key] = [nodes.at(0), nodes.secretKey];
    let entries = 0;
    const listed = async (node: number): Promise<number> =>
      ((await bearer(nodes.at(node).url, key, 'GET', '/v1/lists?limit=100')).json['data'] as unknown[]).length;
    const fault: Fault = {
      async begin() {
        const behind = nodes.at(1);
        proxy.set('hole');
        await untilState(behind, 'broken', 'feed');
        for (let n = 0; n < 10; n++) {
          const entry = { fingerprint_hash: fingerprintOf(`entry-${entries++}`), action: 'watch' };
          expect((await bearer(one.url, key, 'POST', '/v1/lists', entry)).status).toBe(201);
        }
        for (const stream of STREAMS) await redis.command('XTRIM', stream, 'MAXLEN', '0');
        proxy.set('open');
      },
      async end() {
        for (const layer of ['cluster', 'feed'] as const) await untilState(nodes.at(1), 'ok', layer);
      },
      noticedBy: 'velocity',
    };
    const during = await withinTime(system, fault, TRIMMED);
    expect(during.degraded).toBeGreaterThan(RATE);
    expect([await listed(0), await listed(1)]).toEqual([entries, entries]);
    await eventually('sign-ups at two nodes that add up', async () => {
      const ip = `81.${2 + (Date.now() % 200)}.69.160`;
      const fired: boolean[] = [];
      for (let n = 0; n < 4; n++) {
        const { reasons } = await visit(nodes.at(n % 2).url, key, stranger(ip, 'signup'));
        fired.push(reasons.includes(SIGNUPS));
      }
      return JSON.stringify(fired) === JSON.stringify([false, false, false, true]) ? true : null;
    });
  },
);
