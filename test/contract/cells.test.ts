import { Agent } from 'node:http';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DECISIONS } from '../../src/contract/vocabulary.ts';
import type { Answer } from '../support/answer.ts';
import { bearer, call, fingerprintOf } from '../support/manage.ts';
import { CALM, decide, gatehouse, get, newcomer, newCustomer, raw, send } from '../support/requests.ts';
import { startNode, type RunningServer } from '../support/server.ts';
import { startReceiver, webhookClient } from '../support/webhooks.ts';

/**
 * Several cells on one port keep the promises of one thread. Each request of these tests has a separate connection unless it says
 * otherwise, and the system spreads connections over the cells.
 */

const times = <T>(count: number, make: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_none, n) => make(n)));

/** Returns how many decisions each cell has made. */
async function decisionsOf(url: string): Promise<readonly number[]> {
  const { text } = await get(url, '/metrics');
  return [...text.matchAll(/^gatehouse_cell_decisions_total\{cell="\d+"\} (\d+)/gm)].map(([, count]) => Number(count));
}

/** Returns what was recorded of the last half hour. */
async function recordedOf(url: string, key: string): Promise<number> {
  const now = Math.floor(Date.now() / 1000);
  const { json } = await send(url, key, {
    method: 'GET',
    path: `/v1/stats?from=${now - 1_800}&to=${now + 60}&step=3600`,
  });
  const points = json['points'] as readonly { decisions: Record<string, number> }[];
  return points.flatMap(({ decisions }) => Object.values(decisions)).reduce((sum, count) => sum + count, 0);
}

describe.each([2, 4])('%i cells', (cells) => {
  let server: RunningServer;
  beforeAll(async () => {
    server = await startNode({
      env: { GATEHOUSE_CELLS: String(cells), GATEHOUSE_WORKERS: '1', GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8' },
    });
  });
  afterAll(() => server.stop());

  test('Each decides', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    await times(60, () => decide(server.url, secretKey));
    const counts = await decisionsOf(server.url);
    expect(counts).toHaveLength(cells);
    for (const count of counts) expect(count).toBeGreaterThan(0);
  });

  test('Of several copies of a request exactly one is accepted, whichever cells get them', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    for (let n = 0; n < 60; n++) {
      const requestId = `copies-${cells}-${n}`;
      const answers = await times(8, () => decide(server.url, secretKey, CALM, { requestId }));
      const codes = answers.map(({ status, json }) => (status === 200 ? 'accepted' : json['code']));
      expect(codes.filter((code) => code === 'accepted')).toHaveLength(1);
      expect(codes.filter((code) => code === 'replayed_request')).toHaveLength(7);
    }
  });

  test('Together they keep to the rate limit of a key', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir, 50);
    // A window that ends meanwhile would allow more.
    const answers = await withinWindow(() => times(150, () => decide(server.url, secretKey)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(50);
    expect(answers.filter(({ json }) => json['code'] === 'rate_limited')).toHaveLength(100);
  });

  test('Each refuses a key from the moment in which its revocation is answered', async () => {
    const { secretKey, customerId } = await newCustomer(server.url, server.dataDir);
    for (let n = 0; n < 5; n++) {
      const made = await gatehouse(server.dataDir, 'keys', 'create', '--customer', customerId);
      const key = String(made['secret_key']);
      expect((await times(8, () => decide(server.url, key))).map(({ status }) => status)).toEqual(Array(8).fill(200));
      const isOverApi = n % 2 === 0;
      if (isOverApi) {
        expect((await call(server.url, secretKey, 'DELETE', `/v1/keys/${key.slice(0, 12)}`)).status).toBeLessThan(300);
      } else await gatehouse(server.dataDir, 'keys', 'revoke', key);
      const answers = await times(16, () => decide(server.url, key));
      expect(answers.map(({ json }) => json['code'])).toEqual(Array(16).fill('unknown_key'));
    }
  });

  test('Who has a response finds its record, over whichever connection', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir, 1_000_000);
    const missing: unknown[] = [];
    const client = async (): Promise<void> => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      for (let n = 0; n < 300; n++) {
        const { json } = await decide(server.url, secretKey, newcomer(), { agent });
        const path = `/v1/decisions/${String(json['request_id'])}`;
        const found = await send(server.url, secretKey, { method: 'GET', path });
        if (found.status !== 200) missing.push(found.json);
      }
      agent.destroy();
    };
    await times(6, client);
    expect(missing).toEqual([]);
    expect((await decisionsOf(server.url)).reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(1_800);
  });

  test('A new webhook gets the next decision of every cell', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    await times(20, () => decide(server.url, secretKey));
    const receiver = await startReceiver();
    await webhookClient(server.url, secretKey).create(receiver.url, ...DECISIONS);
    const answers = await times(20, () => decide(server.url, secretKey));
    await receiver.arrived(20);
    const delivered = receiver.arrivals.map(
      ({ body }) => (JSON.parse(body.toString()) as { request_id: string }).request_id,
    );
    expect(delivered.toSorted()).toEqual(answers.map(({ json }) => String(json['request_id'])).toSorted());
    await receiver.close();
  });

  test('A list entry counts for the next decision of every cell', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const body = newcomer();
    await times(12, () => decide(server.url, secretKey, body));
    const entry = { fingerprint_hash: fingerprintOf(body.session_token), action: 'block' };
    expect((await call(server.url, secretKey, 'POST', '/v1/lists', entry)).status).toBe(201);
    const answers = await times(24, () => decide(server.url, secretKey, body));
    expect(new Set(answers.map(({ json }) => json['decision']))).toEqual(new Set(['BLOCK']));
  });

  test('A rule counts for the next decision of every cell, and so does its removal', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const body = { ...newcomer(), event_type: 'of_the_rule' };
    const decisions = async (): Promise<readonly unknown[]> => {
      const answers = await times(24, () => decide(server.url, secretKey, body));
      return [...new Set(answers.map(({ json }) => json['decision']))];
    };
    const rule = { when: 'event.type == "of_the_rule"', decision: 'REVIEW', mode: 'enforce' };
    expect((await bearer(server.url, secretKey, 'PUT', '/v1/rules/own_cells', rule)).status).toBeLessThan(300);
    expect(await decisions()).toEqual(['REVIEW']);
    await bearer(server.url, secretKey, 'DELETE', '/v1/rules/own_cells');
    expect(await decisions()).not.toContain('REVIEW');
  });

  test('A request that is pipelined behind another ends the connection, whatever it asks for, and gets no response', async () => {
    const health = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';
    expect(await raw(server.url, health)).toMatchObject({ statuses: [200], closed: false });
    for (const second of [health, 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n', 'GET /x HTTP/1.1\r\nHost: x\r\n\r\n']) {
      const { statuses, closed } = await raw(server.url, health + second);
      expect(closed).toBe(true);
      expect([[], [200]]).toContainEqual(statuses);
    }
  });

  test('A wrong body uses up the id, and is refused like everywhere', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const refused = await times(8, (n) =>
      decide(server.url, secretKey, '{"ip":', { requestId: `wrong-${cells}-${n}` }),
    );
    expect(refused.map(({ json }) => json['code'])).toEqual(Array(8).fill('malformed_json'));
    const again = await times(8, (n) => decide(server.url, secretKey, CALM, { requestId: `wrong-${cells}-${n}` }));
    expect(again.map(({ json }) => json['code'])).toEqual(Array(8).fill('replayed_request'));
  });
});

describe('a restart', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-cells-'));
  afterAll(() => rmSync(dataDir, { recursive: true, force: true }));
  const start = (cells: number): Promise<RunningServer> =>
    startNode({ dataDir, env: { GATEHOUSE_CELLS: String(cells), GATEHOUSE_WORKERS: '1' } });
  const ids = Array.from({ length: 400 }, (_none, n) => `before-the-kill-${n}`);
  let secretKey = '';
  let isKilled = false;
  beforeAll(async () => {
    const first = await start(1);
    ({ secretKey } = await newCustomer(first.url, dataDir, 1_000_000));
    await first.stop('SIGKILL');
  });

  const askAll = (url: string): Promise<Answer[]> =>
    times(ids.length, (n) => decide(url, secretKey, CALM, { requestId: ids[n] ?? '' }));

  test.each([4, 2, 1, 4])('After a SIGKILL with 4 cells, %i cells accept no id again', async (cells) => {
    if (!isKilled) {
      isKilled = true;
      const first = await start(4);
      expect((await askAll(first.url)).map(({ status }) => status)).toEqual(ids.map(() => 200));
      expect((await decisionsOf(first.url)).filter((count) => count > 0)).toHaveLength(4);
      await first.stop('SIGKILL');
    }
    const server = await start(cells);
    expect((await askAll(server.url)).map(({ json }) => json['code'])).toEqual(ids.map(() => 'replayed_request'));
    await server.stop('SIGKILL');
  });

  test('SIGTERM under load: what was decided is answered and recorded, open connections get their response, and the exit code is 0', async () => {
    const server = await start(4);
    const before = await recordedOf(server.url, secretKey);
    let isStopping = false;
    let answered = 0;
    const broken: unknown[] = [];
    const client = async (): Promise<void> => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      for (;;) {
        try {
          const { status, json } = await decide(server.url, secretKey, CALM, { agent });
          if (status === 200) answered++;
          else broken.push(json);
        } catch (error) {
          // A new connection may be refused, or reset before it is accepted.
          const { code, reusedSocket } = error as NodeJS.ErrnoException & { reusedSocket: boolean };
          if (reusedSocket || !isStopping) broken.push(code);
          if (isStopping) return;
        }
      }
    };
    const clients = times(8, client);
    await expect.poll(() => answered, { timeout: 10_000 }).toBeGreaterThan(400);
    isStopping = true;
    expect(await server.stop('SIGTERM')).toBe(0);
    await clients;
    expect(broken).toEqual([]);
    const next = await start(1);
    expect(await recordedOf(next.url, secretKey)).toBe(before + answered);
    expect(await next.stop('SIGTERM')).toBe(0);
    expect(readdirSync(join(dataDir, 'hot', 'replay'))).toContain('cell-3');
  });

  // Open connections have a second for a last request; then the process ends.
  test.each([1, 2, 4])(
    'With %i cells a request that comes while the stop ends is answered, or its id may be used again',
    async (cells) => {
      const server = await start(cells);
      const before = await recordedOf(server.url, secretKey);
      const clients = Array.from({ length: 220 }, (_none, n) => ({
        requestId: `at-the-end-${cells}-${n}`,
        agent: new Agent({ keepAlive: true, maxSockets: 1 }),
      }));
      for (const { agent } of clients) await decide(server.url, secretKey, CALM, { agent });
      const stopped = server.stop('SIGTERM');
      const answers = await Promise.all(
        clients.map(async ({ requestId, agent }, n) => {
          await new Promise((done) => setTimeout(done, 8 * n));
          const answer = await decide(server.url, secretKey, CALM, { requestId, agent }).catch(() => null);
          agent.destroy();
          return answer;
        }),
      );
      expect(await stopped).toBe(0);
      const accepted = answers.map((answer) => answer?.status === 200);
      const refusals = answers.filter((answer) => answer !== null && answer.status !== 200);
      expect(refusals.filter((answer) => answer?.json['reason'] !== 'stopping')).toEqual([]);
      const next = await start(1);
      expect(await recordedOf(next.url, secretKey)).toBe(
        before + clients.length + accepted.filter((isAccepted) => isAccepted).length,
      );
      const again = await times(clients.length, (n) =>
        decide(next.url, secretKey, CALM, { requestId: clients[n]?.requestId ?? '' }),
      );
      expect(again.map(({ status }) => status !== 200)).toEqual(accepted);
      expect(await next.stop('SIGTERM')).toBe(0);
    },
  );
});

test('A second server does not share the port', async () => {
  const server = await startNode({ env: { GATEHOUSE_CELLS: '2' } });
  const { port } = new URL(server.url);
  for (const cells of ['1', '2'])
    await expect(startNode({ env: { GATEHOUSE_CELLS: cells, GATEHOUSE_PORT: port } })).rejects.toThrow(
      /exit code 1[^]*GATEHOUSE_PORT: port \d+ of 127\.0\.0\.1 is taken/,
    );
  await server.stop();
});

/** Runs `work` in one rate window: the windows are those of the clock. */
async function withinWindow<T>(work: () => Promise<T>): Promise<T> {
  const leftMs = 60_000 - (Date.now() % 60_000);
  if (leftMs < 8_000) await new Promise((done) => setTimeout(done, leftMs + 20));
  return work();
}
