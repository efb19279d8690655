import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { command } from '../../support/command-line.ts';
import { writeForest } from '../../support/forest-files.ts';
import { bearer } from '../../support/manage.ts';
import { CALM, decide, newCustomer } from '../../support/requests.ts';
import { type RunningServer, startServer } from '../../support/server.ts';
import { eventually } from '../../support/webhooks.ts';

type Json = Record<string, unknown>;

const CHALLENGER = '20261120-000000';
const NOTHING = { part: 0, of: 0, share: null, low: null, high: null };

describe('GET /v1/models/compare', () => {
  let server: RunningServer;
  let folder: string;
  let models: string;
  let customerId: string;
  let mine: string;
  let other: string;

  const compare = async (key: string): Promise<Json> => {
    const { status, json } = await bearer(server.url, key, 'GET', '/v1/models/compare');
    expect(status).toBe(200);
    return json;
  };
  const labelled = async (key: string, token: string, label: string): Promise<void> => {
    const { json } = await decide(server.url, key, { ...CALM, session_token: token });
    const body = { request_id: json['request_id'], label };
    await eventually('the decision', async () => {
      const { status } = await bearer(server.url, key, 'POST', '/v1/labels', body);
      return status < 300 ? status : null;
    });
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gatehouse-compare-'));
    models = join(folder, 'models');
    // The active model stops nobody, the challenger everybody.
    writeForest(models, { version: 'one', probability: 0.2 });
    const manifest = { threshold: 0.4, shadow_only: true };
    writeForest(join(models, 'candidates', CHALLENGER), { version: 'two', probability: 0.9, manifest });
    const policy = join(folder, 'policy.json');
    writeFileSync(policy, JSON.stringify({ sample_rate: 1, model: { weight: 0.7, first_day: 'counts' } }));
    const env = { GATEHOUSE_MODELS_DIR: models, GATEHOUSE_POLICY_FILE: policy };
    server = await startServer({ dataDir: join(folder, 'data'), env });
    ({ customerId, secretKey: mine } = await newCustomer(server.url, server.dataDir));
    other = (await newCustomer(server.url, server.dataDir)).secretKey;
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  test('Without a challenger it has no id, no gates and counts nothing', async () => {
    expect(await compare(mine)).toEqual({
      id: null,
      since: null,
      decisions: 0,
      sessions: 0,
      alarms: { active: NOTHING, challenger: NOTHING },
      catch: { active: NOTHING, challenger: NOTHING },
      catch_by_source: {},
      unlabelled: { sessions: 0, only_active: 0, only_challenger: 0 },
      gates: [],
      is_truncated: false,
    });
  });

  test('It counts the sessions of the caller alone, as models compare --customer does', async () => {
    const since = Math.floor(Date.now() / 1000) - 60;
    writeFileSync(join(models, 'shadow.json'), JSON.stringify({ id: CHALLENGER, since }));
    await eventually('the challenger', async () => {
      const { json } = await bearer(server.url, mine, 'GET', '/v1/models');
      return (json['challenger'] as { state: string }).state === 'ok' ? json : null;
    });
    await labelled(mine, 'a fraud', 'fraud');
    await labelled(mine, 'a fraud', 'fraud');
    await labelled(mine, 'an honest one', 'legitimate');
    await decide(server.url, mine, { ...CALM, session_token: 'nobody knows' });
    for (let n = 0; n < 3; n++) await labelled(other, `theirs ${n}`, 'fraud');

    const all = await eventually('all decisions', async () => {
      const json = await compare(mine);
      return json['decisions'] === 4 ? json : null;
    });
    const none = { part: 0, of: 1, share: 0, low: 0, high: 0.7935 };
    const one = { part: 1, of: 1, share: 1, low: 0.2065, high: 1 };
    expect(all).toMatchObject({
      id: CHALLENGER,
      since,
      sessions: 3,
      alarms: { active: none, challenger: one },
      catch: { active: none, challenger: one },
      catch_by_source: { review: { active: none, challenger: one } },
      unlabelled: { sessions: 1, only_active: 0, only_challenger: 1 },
      is_truncated: false,
    });
    const gates = all['gates'] as { name: string; holds: boolean }[];
    expect(gates.filter(({ holds }) => holds).map(({ name }) => name)).toEqual(['catch_by_source']);
    expect(await compare(other)).toMatchObject({
      decisions: 3,
      alarms: { active: { of: 0 } },
      catch: { active: { of: 3 } },
    });

    const words = ['models', 'compare', '--models', models];
    const run = async (...more: string[]): Promise<Json> =>
      JSON.parse((await command(['--data-dir', server.dataDir, '--json', ...words, ...more])).out) as Json;
    const { is_truncated: _, gates: _gates, ...figures } = all;
    expect(await run('--customer', customerId)).toMatchObject(figures);
    expect(await run()).toMatchObject({ decisions: 7, catch: { active: { of: 4 } } });
  });

  test('Decisions that were signed with a public key are not compared', async () => {
    const { secretKey, publicKey } = await newCustomer(server.url, server.dataDir);
    const { json } = await decide(server.url, publicKey, { ...CALM, session_token: 'anyone' });
    await eventually('the decision', async () => {
      const { status } = await bearer(server.url, secretKey, 'GET', `/v1/decisions/${String(json['request_id'])}`);
      return status === 200 ? status : null;
    });
    expect(await compare(secretKey)).toMatchObject({ id: CHALLENGER, decisions: 0 });
  });
});
