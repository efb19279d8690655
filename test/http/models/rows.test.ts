import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { command } from '../../support/command-line.ts';
import { bearer } from '../../support/manage.ts';
import { CALM, decide, newCustomer } from '../../support/requests.ts';
import { startSamplingServer } from '../../support/reviews.ts';
import type { RunningServer } from '../../support/server.ts';
import { eventually } from '../../support/webhooks.ts';

type Json = Record<string, unknown>;

const CURL = { ...CALM, user_agent: 'curl/8.5.0' };

describe('GET /v1/models/rows', () => {
  let server: RunningServer;
  let customerId: string;
  let mine: string;
  let other: string;

  const rows = async (key: string): Promise<Json> => {
    const { status, json } = await bearer(server.url, key, 'GET', '/v1/models/rows');
    expect(status).toBe(200);
    return json;
  };
  const decided = async (key: string, token: string, body: object = CURL): Promise<string> =>
    String((await decide(server.url, key, { ...body, session_token: token })).json['request_id']);
  const judge = (key: string, path: string, body: object): Promise<unknown> =>
    eventually(path, async () => {
      const { status } = await bearer(server.url, key, 'POST', path, body);
      return status < 300 ? status : null;
    });

  beforeAll(async () => {
    server = await startSamplingServer();
    ({ customerId, secretKey: mine } = await newCustomer(server.url, server.dataDir));
    other = (await newCustomer(server.url, server.dataDir)).secretKey;
  });
  afterAll(() => server.stop());

  test('Without decisions there is nothing, and it says what is missing', async () => {
    expect(await rows(mine)).toEqual({
      decisions: 0,
      rows: 0,
      days: 0,
      labels: { fraud: 0, legitimate: 0, none: 0, blocked: 0 },
      fraud_sessions: 0,
      honest_sessions: 0,
      by_source: [],
      missing: ['fraud sessions 0 of 150', 'rows 0 of 15000'],
      shadow_only: true,
      is_truncated: false,
    });
  });

  test('It counts the caller’s rows and labels alone, as models rows --customer does', async () => {
    const one = await decided(mine, 'one');
    const two = await decided(mine, 'two');
    await decided(mine, 'three', { ...CURL, outcome: 'challenge_failed' });
    for (let n = 0; n < 3; n++)
      await judge(other, '/v1/labels', { request_id: await decided(other, `theirs ${n}`), label: 'fraud' });
    await judge(mine, `/v1/shadow-reviews/${one}`, { verdict: 'fraud' });
    await judge(mine, `/v1/shadow-reviews/${two}`, { verdict: 'legitimate' });
    const all = await eventually('the rows', async () => {
      const json = await rows(mine);
      return json['rows'] === 3 && json['fraud_sessions'] === 1 && json['honest_sessions'] === 1 ? json : null;
    });
    const none = { fraud: 0, legitimate: 0 };
    expect(all).toMatchObject({
      decisions: 3,
      days: 1,
      labels: { fraud: 1, legitimate: 1, none: 1, blocked: 0 },
      by_source: [
        { source: 'review', ages: { week: { fraud: 1, legitimate: 1 }, month: none, older: none } },
        { source: 'challenge', ages: { week: { fraud: 1, legitimate: 0 }, month: none, older: none } },
      ],
      missing: ['fraud sessions 1 of 150', 'rows 3 of 15000'],
    });
    expect(await rows(other)).toMatchObject({ rows: 3, labels: { fraud: 3, legitimate: 0 } });
    const words = ['--data-dir', server.dataDir, '--json', 'models', 'rows', '--customer', customerId];
    const { is_truncated: _, ...figures } = all;
    expect(JSON.parse((await command(words)).out)).toMatchObject({ ...figures, labels_without_row: 0 });
  });
});
