import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../support/layer-folders.ts';
import { bearer } from '../support/manage.ts';
import { decide, get, newcomer } from '../support/requests.ts';
import { startServer, type RunningServer } from '../support/server.ts';

/** Source: contract, 6.9. */

const WHEN = 'attributes.amount > 500';

let folder = '';
let file = '';
let server: RunningServer;
let requests = 0;

function write(policy: unknown): void {
  writeFileSync(`${file}.new`, JSON.stringify(policy));
  renameSync(`${file}.new`, file);
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-circuit-breaker-'));
  file = join(folder, 'policy.json');
  write({ version: 'first' });
  server = await startServer({ env: { GATEHOUSE_POLICY_FILE: file } });
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

const ask = (method: string, path: string, body?: unknown) =>
  bearer(server.url, server.secretKey, method, `/v1${path}`, body);

/** Pays from another network each time. */
async function pay(amount: number, key = server.secretKey): Promise<unknown> {
  const ip = `81.${requests++ % 100}.7.9`;
  const { json } = await decide(server.url, key, { ...newcomer(), ip, attributes: { amount } });
  return json['decision'];
}

async function payMany(count: number, amount: number, key = server.secretKey): Promise<void> {
  for (let n = 0; n < count; n++) await pay(amount, key);
}

const trippedTotal = async (): Promise<number> => {
  const { text } = await get(server.url, '/metrics');
  return Number(/^gatehouse_rules_tripped_total (\d+)/m.exec(text)?.[1]);
};

describe('the circuit breaker', () => {
  test('A rule that touches far more than while it was observed is only observed again, once and visibly', async () => {
    const rule = { when: WHEN, decision: 'BLOCK', mode: 'observe' };
    expect((await ask('PUT', '/rules/own_wide', rule)).json).toMatchObject({ predicted: null, tripped_at: null });
    await payMany(1, 600);
    await payMany(99, 5);
    const enforced = await ask('PATCH', '/rules/own_wide', { mode: 'enforce' });
    expect(enforced.json).toMatchObject({ mode: 'enforce', predicted: { touched: 1, decisions: 100 } });
    await payMany(49, 600);
    expect(await pay(600)).toBe('BLOCK');
    await until(async () => (await ask('GET', '/rules/own_wide')).json['mode'] === 'observe');
    const { json } = await ask('GET', '/rules/own_wide');
    expect(json).toMatchObject({
      predicted: { touched: 1, decisions: 100 },
      tripped_at: expect.any(Number),
      tripped: { touched: 50, decisions: 50 },
    });
    expect(await pay(600)).not.toBe('BLOCK');
    expect(await trippedTotal()).toBe(1);
    const audit = await ask('GET', '/audit?kind=rule.put&limit=1');
    expect(audit.json['data']).toEqual([
      expect.objectContaining({
        actor: 'circuit_breaker',
        target: 'own_wide',
        before: expect.objectContaining({ mode: 'enforce' }),
        after: expect.objectContaining({ mode: 'observe', touched: 50, decisions: 50 }),
      }),
    ]);
    // A note keeps the sign; enforcing it again takes what it did since.
    expect((await ask('PATCH', '/rules/own_wide', { note: 'seen' })).json['tripped_at']).toBe(json['tripped_at']);
    expect((await ask('PATCH', '/rules/own_wide', { mode: 'enforce' })).json).toMatchObject({
      tripped_at: null,
      predicted: { touched: 1, decisions: 1 },
    });
    expect((await ask('DELETE', '/rules/own_wide')).status).toBe(204);
  });

  test('A rule without a prediction is not watched, and requests with a public key are not counted', async () => {
    const before = await trippedTotal();
    const rule = { when: 'ip.version == 4', weight: 0.01, mode: 'enforce' };
    expect((await ask('PUT', '/rules/own_direct', rule)).json).toMatchObject({ predicted: null });
    const predicted = { touched: 1, decisions: 1_000 };
    const watched = await ask('PUT', '/rules/own_public', { ...rule, predicted });
    expect(watched.json).toMatchObject({ predicted });
    await payMany(60, 600, server.publicKey);
    await payMany(1, 600);
    for (const code of ['own_direct', 'own_public'])
      expect((await ask('GET', `/rules/${code}`)).json).toMatchObject({ mode: 'enforce', tripped_at: null });
    expect(await trippedTotal()).toBe(before);
    for (const code of ['own_direct', 'own_public']) await ask('DELETE', `/rules/${code}`);
  });

  test('A rule of the policy file is set back until the file changes, and a factor of "off" lets all pass', async () => {
    const rule = {
      code: 'own_file',
      when: WHEN,
      decision: 'BLOCK',
      mode: 'enforce',
      predicted: { touched: 0, decisions: 1_000 },
    };
    const load = async (version: string, more: object = {}): Promise<void> => {
      write({ version, rules: [rule], ...more });
      await until(async () => (await ask('GET', '/policy')).json['version'] === version);
      await until(async () => (await pay(600)) === 'BLOCK');
    };
    await load('second');
    await payMany(60, 600);
    await until(async () => (await pay(600)) !== 'BLOCK');
    expect((await ask('GET', '/rules/own_file')).json).toMatchObject({
      source: 'policy',
      mode: 'observe',
      tripped_at: expect.any(Number),
    });
    await load('third', { rules_trip_factor: 'off' });
    await payMany(60, 600);
    expect(await pay(600)).toBe('BLOCK');
    expect((await ask('GET', '/rules/own_file')).json).toMatchObject({ mode: 'enforce', tripped_at: null });
  });
});
