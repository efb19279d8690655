import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Nodes, startNodes } from '../support/cluster.ts';
import { command } from '../support/command-line.ts';
import { decide, newcomer } from '../support/requests.ts';
import { HAS_REDIS, type RedisServer, startRedis } from '../support/redis.ts';

/** Changes on several real servers over one store. */

let redis: RedisServer;
let nodes: Nodes;
beforeAll(async () => {
  redis = await startRedis();
  const env = { GATEHOUSE_WORKERS: '1', GATEHOUSE_WARM_UP: '0' };
  nodes = await startNodes({ count: 2, storeUrl: redis.url, env });
}, 60_000);
afterAll(async () => {
  await nodes.stop();
  await redis.stop();
});

async function call(node: number, method: string, path: string, key: string, body?: object): Promise<Response> {
  return fetch(`${nodes.at(node).url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

function put(node: number, seed: number): Promise<Response> {
  const hash = seed.toString(16).padStart(64, '0');
  return call(node, 'POST', '/v1/lists', nodes.secretKey, { fingerprint_hash: hash, action: 'block' });
}

async function listed(node: number): Promise<number> {
  const answer = (await (await call(node, 'GET', '/v1/lists?limit=100', nodes.secretKey)).json()) as {
    data: unknown[];
  };
  return answer.data.length;
}

/** Polls until `isSo`; returns how long it took, ms. */
async function msUntil(isSo: () => Promise<boolean>, timeMs = 20_000): Promise<number> {
  const startedMs = performance.now();
  while (!(await isSo())) {
    if (performance.now() - startedMs > timeMs) throw new Error(`not so within ${timeMs} ms`);
    await new Promise((done) => setTimeout(done, 10));
  }
  return performance.now() - startedMs;
}

describe.runIf(HAS_REDIS)('changes on several servers', () => {
  test('The second server has the demo customer of the first; a block on one is seen there at once and on the other within a second', async () => {
    expect((await call(1, 'GET', '/v1/me', nodes.secretKey)).status).toBe(200);
    expect((await put(0, 1)).status).toBe(201);
    expect(await listed(0)).toBe(1);
    expect(await msUntil(async () => (await listed(1)) === 1)).toBeLessThan(1_000);
    expect((await put(1, 2)).status).toBe(201);
    expect(await listed(1)).toBe(2);
  });

  test('A key that a command revokes on one server is refused by all within a second', async () => {
    const env = nodes.env(0);
    const [first, second] = [nodes.at(0).dataDir, nodes.at(1).dataDir];
    const made = await command(['--json', '--data-dir', first, 'customers', 'create', 'shop'], { env });
    const { customer_id: customer } = JSON.parse(made.out) as { customer_id: string };
    const words = ['--json', '--data-dir', second, 'keys', 'create', '--customer', customer];
    const keys = JSON.parse((await command(words, { env: nodes.env(1) })).out) as { secret_key: string };
    const key = keys.secret_key;
    await msUntil(async () => (await call(0, 'GET', '/v1/me', key)).status === 200, 1_000);
    const revoked = await command(['--json', '--data-dir', second, 'keys', 'revoke', key.slice(0, 12)], { env });
    expect(revoked.code).toBe(0);
    expect((await call(1, 'GET', '/v1/me', key)).status).toBe(401);
    expect(await msUntil(async () => (await call(0, 'GET', '/v1/me', key)).status === 401, 1_000)).toBeLessThan(1_000);
  });

  test('A customer that a command suspends on one server is refused by all before the command returns, until it is lifted', async () => {
    const [first, second] = [nodes.at(0).dataDir, nodes.at(1).dataDir];
    const made = await command(['--json', '--data-dir', first, 'customers', 'create', 'held'], { env: nodes.env(0) });
    const { customer_id: customer } = JSON.parse(made.out) as { customer_id: string };
    const keysOf = async (): Promise<string> => {
      const words = ['--json', '--data-dir', first, 'keys', 'create', '--customer', customer];
      return (JSON.parse((await command(words, { env: nodes.env(0) })).out) as { secret_key: string }).secret_key;
    };
    const key = await keysOf();
    const statuses = async (one: string): Promise<readonly number[]> => [
      (await call(0, 'GET', '/v1/me', one)).status,
      (await call(1, 'GET', '/v1/me', one)).status,
      (await decide(nodes.at(0).url, one, newcomer())).status,
      (await decide(nodes.at(1).url, one, newcomer())).status,
    ];
    await msUntil(async () => (await statuses(key)).every((status) => status === 200), 1_000);
    const words = ['--json', '--data-dir', second, 'customers', 'suspend', customer];
    expect((await command(words, { env: nodes.env(1) })).code).toBe(0);
    expect(await statuses(key)).toEqual([401, 401, 401, 401]);
    const later = await keysOf();
    expect(await statuses(later)).toEqual([401, 401, 401, 401]);
    expect((await command([...words, '--lift'], { env: nodes.env(1) })).code).toBe(0);
    await msUntil(async () => (await statuses(key)).every((status) => status === 200), 1_000);
    expect(await statuses(later)).toEqual([200, 200, 200, 200]);
  });

  test('Items of a named list that are added on one server decide on the other before the call is answered', async () => {
    const domain = (node: number) => {
      const body = { ...newcomer(), event_type: 'payment', entity_keys: { email: 'p@partner.example' } };
      return decide(nodes.at(node).url, nodes.secretKey, body);
    };
    const list = '/v1/named-lists/partners';
    expect((await call(0, 'PUT', list, nodes.secretKey, { kind: 'email_domain' })).status).toBe(201);
    const rule = { when: 'email.domain in list.partners', decision: 'BLOCK', mode: 'enforce' };
    expect((await call(1, 'PUT', '/v1/rules/own_partners', nodes.secretKey, rule)).status).toBe(201);
    const items = { add: ['partner.example'] };
    expect((await call(0, 'POST', `${list}/items`, nodes.secretKey, items)).status).toBe(200);
    for (const node of [0, 1]) expect((await domain(node)).json['decision']).toBe('BLOCK');
    const gone = { remove: ['partner.example'] };
    expect((await call(1, 'POST', `${list}/items`, nodes.secretKey, gone)).status).toBe(200);
    for (const node of [0, 1]) expect((await domain(node)).json['reasons']).not.toContain('own_partners');
    const versions = await Promise.all(
      [0, 1].map(async (node) => (await call(node, 'GET', `${list}/versions`, nodes.secretKey)).json()),
    );
    expect(versions[1]).toEqual(versions[0]);
    expect(versions[0]).toMatchObject({
      data: [
        { version: 2, added: 0, removed: 1 },
        { version: 1, added: 1, removed: 0 },
      ],
    });
    expect((await call(0, 'POST', `${list}/restore`, nodes.secretKey, { version: 2 })).status).toBe(200);
    for (const node of [0, 1]) expect((await domain(node)).json['decision']).toBe('BLOCK');
    expect((await call(1, 'DELETE', '/v1/rules/own_partners', nodes.secretKey)).status).toBe(204);
    expect((await call(0, 'DELETE', list, nodes.secretKey)).status).toBe(204);
  });

  test('A rule that is written on one server decides on the other before its call is answered, and is deleted as soon', async () => {
    const decided = async (node: number): Promise<unknown> => {
      const body = { ...newcomer(), event_type: 'payment', attributes: { amount: 99_999 } };
      return (await decide(nodes.at(node).url, nodes.secretKey, body)).json['decision'];
    };
    const rule = { when: 'attributes.amount > 5000', decision: 'BLOCK', mode: 'enforce' };
    expect((await call(0, 'PUT', '/v1/rules/own_big', nodes.secretKey, rule)).status).toBe(201);
    expect([await decided(0), await decided(1)]).toEqual(['BLOCK', 'BLOCK']);
    expect((await call(1, 'DELETE', '/v1/rules/own_big', nodes.secretKey)).status).toBe(204);
    expect([await decided(0), await decided(1)]).not.toContain('BLOCK');
  });

  test('A killed server has everything when it serves again, and status shows both', async () => {
    await nodes.stopNode(1, 'SIGKILL');
    for (let n = 10; n < 40; n++) expect((await put(0, n)).status).toBe(201);
    await nodes.startNode(1);
    expect(await listed(1)).toBe(32);
    // A node reports its position twice a second.
    const shown = async (): Promise<unknown> => {
      const status = await command(['--json', 'cluster', 'status'], { env: nodes.env(0) });
      const all = (JSON.parse(status.out) as { nodes: { node: string; live: boolean; behind: number }[] }).nodes;
      return all.map(({ node, live, behind }) => [node, live, behind]);
    };
    await expect.poll(shown).toEqual([
      ['node-0', true, 0],
      ['node-1', true, 0],
    ]);
  }, 60_000);

  test('Without the store a change is 503 and is not made, reads go on, and readyz shows it; then all goes on', async () => {
    await redis.kill();
    const refused = await put(0, 100);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2']);
    expect(await refused.json()).toMatchObject({ code: 'cluster_unavailable' });
    expect(await listed(0)).toBe(32);
    const ready = (await (await fetch(`${nodes.at(0).url}/readyz`)).json()) as { layers: { feed: { state: string } } };
    expect(ready.layers.feed.state).toBe('broken');
    await redis.restart();
    await msUntil(async () => (await put(1, 101)).status === 201);
    await msUntil(async () => (await listed(0)) === 33);
    expect(await listed(1)).toBe(33);
  }, 60_000);
});
