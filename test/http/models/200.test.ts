import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { command } from '../../support/command-line.ts';
import { writeForest } from '../../support/forest-files.ts';
import { bearer } from '../../support/manage.ts';
import { decide, newCustomer } from '../../support/requests.ts';
import { type RunningServer, startServer } from '../../support/server.ts';
import { eventually } from '../../support/webhooks.ts';

describe('GET /v1/models answers 200', () => {
  let server: RunningServer;
  let models: string;
  beforeAll(async () => {
    models = mkdtempSync(join(tmpdir(), 'gatehouse-models-'));
    writeForest(models, { version: 'one', probability: 0.2 });
    const manifest = {
      trained_at: '2026-11-20T00:00:00.000Z',
      prior: 0.01,
      threshold: 0.4,
      labels: { fraud_sessions: 777 },
    };
    writeForest(join(models, 'candidates', '20261120-000000'), { version: 'two', probability: 0.9, manifest });
    writeFileSync(join(models, 'shadow.json'), '{"id":"20261120-000000","since":1795600000}');
    server = await startServer({ env: { GATEHOUSE_MODELS_DIR: models } });
  });
  afterAll(async () => {
    await server.stop();
    rmSync(models, { recursive: true });
  });

  test('Every customer sees the same models and candidates, and nothing that they were trained on', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const [mine, other] = await Promise.all(
      [server.secretKey, secretKey].map((key) => bearer(server.url, key, 'GET', '/v1/models')),
    );
    expect(mine?.status).toBe(200);
    expect(other?.json).toEqual(mine?.json);
    expect(mine?.json).toEqual({
      active: { id: null, version: 'forest one', state: 'ok', detail: '', refused: false, since: null, silent: null },
      challenger: {
        id: '20261120-000000',
        version: '20261120-000000',
        state: 'ok',
        detail: '',
        refused: false,
        since: 1_795_600_000,
      },
      candidates: [
        {
          id: '20261120-000000',
          version: 'two',
          format: 'forest',
          trained_at: Date.UTC(2026, 10, 20) / 1000,
          prior: 0.01,
          threshold: 0.4,
          budget: null,
          shadow_only: false,
          gates: [],
          role: 'challenger',
        },
      ],
    });
    expect(JSON.stringify(mine?.json)).not.toContain('777');
  });

  test('A challenger is in no response and in no record that a key can read', async () => {
    const decided = await decide(server.url, server.secretKey, {
      session_token: 'one',
      ip: '86.1.1.1',
      event_type: 'login',
    });
    expect(decided.json['reasons']).not.toContain('challenger_model');
    const path = `/v1/decisions/${String(decided.json['request_id'])}`;
    const found = await eventually('the decision', async () => {
      const { status, json } = await bearer(server.url, server.secretKey, 'GET', path);
      return status === 200 ? json : null;
    });
    expect(JSON.stringify(found)).not.toContain('challenger_model');
  });

  test('models compare names the gates that fail, promote refuses, --yes promotes and rollback returns', async () => {
    const { url, secretKey, dataDir } = server;
    const decided = await decide(url, secretKey, { session_token: 'two', ip: '86.1.1.2', event_type: 'login' });
    const requestId = String(decided.json['request_id']);
    await eventually('the decision', async () => {
      const { status, json } = await bearer(url, secretKey, 'GET', `/v1/decisions/${requestId}`);
      return status === 200 ? json : null;
    });
    await bearer(url, secretKey, 'POST', '/v1/labels', { request_id: requestId, label: 'fraud' });
    const run = async (...args: string[]) =>
      command(['--data-dir', dataDir, '--json', 'models', ...args, '--models', models]);
    const compared = await eventually('the comparison', async () => {
      const json = JSON.parse((await run('compare')).out) as Record<string, unknown>;
      return (json['catch'] as { active: { of: number } }).active.of === 1 ? json : null;
    });
    expect(compared['id']).toBe('20261120-000000');
    // The challenger disagrees, so the decision may be in the review queue already: its label is a verdict then.
    expect(Object.values(compared['catch_by_source'] as object)).toMatchObject([
      { active: { part: 0, of: 1 }, challenger: { part: 0, of: 1 } },
    ]);
    const refused = await run('promote', '20261120-000000');
    expect(refused.code).toBe(1);
    expect(refused.err + refused.out).toMatch(/fraud_labels: not enough yet: fraud sessions 1 of 50/);

    expect((await run('promote', '20261120-000000', '--yes')).code).toBe(0);
    const activeIs = (id: string | null, version: string): Promise<unknown> =>
      eventually(`the model ${version}`, async () => {
        const { json } = await bearer(url, secretKey, 'GET', '/v1/models');
        const active = json['active'] as { id: string | null; version: string };
        return active.id === id && active.version === version ? json : null;
      });
    expect(await activeIs('20261120-000000', 'forest two')).toMatchObject({ challenger: { state: 'absent' } });
    expect((await run('rollback')).code).toBe(0);
    await activeIs(null, 'forest one');
    const audit = await command(['--data-dir', dataDir, '--json', 'audit']);
    expect(audit.out).toContain('model.rolled_back');
    expect(audit.out).toMatch(/model\.promoted[^]*fraud_labels|fraud_labels[^]*model\.promoted/);
    writeFileSync(join(models, 'shadow.json'), '{"id":"20261120-000000","since":1795600000}');
    await eventually('the challenger', async () => {
      const { json } = await bearer(url, secretKey, 'GET', '/v1/models');
      return (json['challenger'] as { state: string }).state === 'ok' ? json : null;
    });
  });

  test('A candidate that is spoiled later changes neither the active model nor the readiness', async () => {
    const ready = async (): Promise<unknown> =>
      ((await (await fetch(`${server.url}/readyz`)).json()) as { status: string }).status;
    const before = await ready();
    writeFileSync(join(models, 'candidates', '20261120-000000', 'forest.json'), '{');
    const refused = await eventually('the refusal', async () => {
      const { json } = await bearer(server.url, server.secretKey, 'GET', '/v1/models');
      return (json['challenger'] as { refused: boolean }).refused ? json : null;
    });
    expect(refused['active']).toMatchObject({ state: 'ok', version: 'forest one' });
    expect(refused['challenger']).toMatchObject({ state: 'ok', refused: true });
    expect(await ready()).toBe(before);
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(metrics).toContain('gatehouse_model_refused{slot="challenger"} 1');
    expect(metrics).toContain('gatehouse_model_state{slot="active"} 1');
  });
});
