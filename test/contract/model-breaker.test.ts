import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { command } from '../support/command-line.ts';
import { writeForest } from '../support/forest-files.ts';
import { bearer } from '../support/manage.ts';
import { decide, get, newcomer, newCustomer } from '../support/requests.ts';
import { startServer, type RunningServer } from '../support/server.ts';
import { eventually } from '../support/webhooks.ts';

/** Source: contract, 9.12. */

type Json = Record<string, unknown>;

let folder = '';
let models = '';
let server: RunningServer;
let mine: string;
let other: string;
let publicKey: string;
let requests = 0;

const start = async (): Promise<RunningServer> => {
  const env = { GATEHOUSE_MODELS_DIR: models, GATEHOUSE_POLICY_FILE: join(folder, 'policy.json') };
  return startServer({ dataDir: join(folder, 'data'), env });
};
/** Each from another network; the model finds everything fraud. */
async function reasonsOf(key: string): Promise<string[]> {
  const ip = `81.${requests++ % 100}.7.9`;
  const { json } = await decide(server.url, key, { ...newcomer(), ip });
  return json['reasons'] as string[];
}
const silenceOf = async (key: string): Promise<Json | null> => {
  const { json } = await bearer(server.url, key, 'GET', '/v1/models');
  return (json['active'] as { silent: Json | null }).silent;
};
const modelCounts = (key: string, counts: boolean): Promise<unknown> =>
  eventually(`the model ${counts ? 'counts' : 'is silent'}`, async () =>
    (await reasonsOf(key)).includes('model_score') === counts ? 'yes' : null,
  );

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-model-breaker-'));
  models = join(folder, 'models');
  writeForest(models, { probability: 0.9 });
  writeFileSync(join(folder, 'policy.json'), JSON.stringify({ model: { weight: 0.7, first_day: 'counts' } }));
  server = await start();
  ({ secretKey: mine, publicKey } = await newCustomer(server.url, server.dataDir));
  other = (await newCustomer(server.url, server.dataDir)).secretKey;
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

describe('the circuit breaker of the model', () => {
  test('It falls silent for the customer that it floods, and for no other, loudly and without being degraded', async () => {
    for (let n = 0; n < 55; n++) expect(await reasonsOf(publicKey)).toContain('model_score');
    expect(await silenceOf(mine)).toBeNull();
    for (let n = 0; n < 50; n++) expect(await reasonsOf(mine)).toContain('model_score');
    await modelCounts(mine, false);
    expect(await reasonsOf(other)).toContain('model_score');

    expect(await silenceOf(mine)).toEqual({ since: expect.any(Number), alarms: 50, decisions: 50 });
    expect(await silenceOf(other)).toBeNull();
    const { json } = await get(server.url, '/readyz');
    const model = (json['layers'] as Record<string, Json>)['model'];
    expect(model).toMatchObject({ state: 'ok', detail: expect.stringContaining('adds nothing for 1 customer') });
    const { text } = await get(server.url, '/metrics');
    expect(text).toContain('gatehouse_model_silent_customers 1');
    expect(text).toContain('gatehouse_model_silenced_total 1');
    await eventually('the line of the log', async () =>
      server.stdout().includes('"event":"model_silenced"') ? 'there' : null,
    );
  });

  test('It stays silent over a restart and a new policy, until models resume', async () => {
    await server.stop('SIGKILL');
    server = await start();
    expect(await reasonsOf(mine)).not.toContain('model_score');
    const policy = { version: 'next', model: { weight: 0.7, first_day: 'counts' } };
    writeFileSync(join(folder, 'policy.json'), JSON.stringify(policy));
    await eventually('the policy', async () => {
      const { json } = await bearer(server.url, mine, 'GET', '/v1/policy');
      return json['version'] === 'next' ? json : null;
    });
    expect(await reasonsOf(mine)).not.toContain('model_score');

    const nothing = ['--data-dir', server.dataDir, 'models', 'resume', '--models', join(folder, 'nothing')];
    expect(await command(nothing)).toMatchObject({ code: 1, err: expect.stringContaining('no model is active in') });
    const resumed = await command(['--data-dir', server.dataDir, '--json', 'models', 'resume', '--models', models]);
    expect(resumed.code).toBe(0);
    await modelCounts(mine, true);
    expect(await silenceOf(mine)).toBeNull();
    const audit = await command(['--data-dir', server.dataDir, '--json', 'audit']);
    expect(audit.out).toContain('model.resumed');
  });
});
