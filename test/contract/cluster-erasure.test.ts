import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Nodes, startNodes } from '../support/cluster.ts';
import { bearer } from '../support/manage.ts';
import { HAS_REDIS, type RedisServer, startRedis } from '../support/redis.ts';
import { type Answer, CALM, decide } from '../support/requests.ts';
import { eventually } from '../support/webhooks.ts';

const ANNA = 'anna.ericson@example.com';
const BERT = 'bert.berntsen@example.com';
const NODES = [0, 1, 2];

let redis: RedisServer;
let nodes: Nodes;
beforeAll(async () => {
  redis = await startRedis();
  nodes = await startNodes({ count: NODES.length, storeUrl: redis.url, env: { GATEHOUSE_WORKERS: '1' } });
}, 90_000);
afterAll(async () => {
  await nodes.stop();
  await redis.stop();
});

const call = (node: number, method: string, path: string, body?: unknown): Promise<Answer> =>
  bearer(nodes.at(node).url, nodes.secretKey, method, path, body);

async function decisionsOf(node: number, email: string): Promise<readonly unknown[]> {
  const { json } = await call(node, 'GET', `/v1/decisions?link=entity.email:${email}`);
  return json['data'] as readonly unknown[];
}

describe.runIf(HAS_REDIS)('the erasure of a person on three nodes', () => {
  test('What every node decided about the person is erased, and what others did stays', async () => {
    for (const node of NODES) {
      for (const email of [ANNA, BERT]) {
        const body = { ...CALM, event_type: 'login', entity_keys: { email }, session_token: `session of ${email}` };
        await decide(nodes.at(node).url, nodes.secretKey, body);
      }
    }
    await call(1, 'POST', '/v1/lists', { kind: 'email', value: ANNA, action: 'watch' });
    await eventually('the decisions of all nodes', async () =>
      (await decisionsOf(2, ANNA)).length === NODES.length ? true : null,
    );
    const bert = await decisionsOf(2, BERT);
    expect(bert).toHaveLength(NODES.length);
    const asked = await call(0, 'POST', '/v1/privacy/erase', { 'entity.email': ANNA });
    expect(asked.status).toBe(202);
    for (const node of NODES) {
      await eventually(`the end of the erasure, seen by node ${node}`, async () => {
        const { json } = await call(node, 'GET', `/v1/privacy/${String(asked.json['id'])}`);
        return json['status'] === 'succeeded' ? json : null;
      });
      await eventually('no decision about the person', async () =>
        (await decisionsOf(node, ANNA)).length === 0 ? true : null,
      );
      expect((await call(node, 'GET', '/v1/lists')).json['data']).toEqual([]);
      expect(await decisionsOf(node, BERT)).toEqual(bert);
      // Each node repeats the erasure if it is restored from its backup.
      const filed = readFileSync(join(nodes.at(node).dataDir, 'erasures.log'), 'utf8');
      expect(filed).toContain(String(asked.json['id']));
      expect(filed).not.toContain('anna');
    }
  });
});
