import { setTimeout as sleep } from 'node:timers/promises';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Answer } from '../../support/answer.ts';
import { bearer } from '../../support/manage.ts';
import { CALM, decide, newCustomer } from '../../support/requests.ts';
import { type RunningServer, startNode } from '../../support/server.ts';

const RULE = { code: 'own_all', when: 'event.type == "search"', decision: 'REVIEW', mode: 'enforce' };

describe('backtests over the API', () => {
  let folder = '';
  let server: RunningServer;
  const since = Math.floor(Date.now() / 1_000) - 3_600;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gatehouse-backtest-jobs-'));
    writeFileSync(join(folder, 'policy.json'), '{"log_requests": "1d"}');
    const env = { GATEHOUSE_POLICY_FILE: join(folder, 'policy.json') };
    server = await startNode({ dataDir: join(folder, 'data'), env });
    for (let n = 0; n < 3; n++)
      await decide(server.url, server.secretKey, { ...CALM, session_token: `s${n}`, attributes: { amount: n * 400 } });
    // The log is written when it is five seconds old.
    await sleep(7_000);
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const post = (body: unknown, path = '', key = server.secretKey): Promise<Answer> =>
    bearer(server.url, key, 'POST', `/v1/policy/backtest${path}`, body);
  const get = (id: unknown, key = server.secretKey): Promise<Answer> =>
    bearer(server.url, key, 'GET', `/v1/policy/backtest/${String(id)}`);

  async function ended(id: unknown): Promise<Answer> {
    for (;;) {
      const answer = await get(id);
      if (!['queued', 'running'].includes(String(answer.json['status']))) return answer;
      await sleep(100);
    }
  }

  test('Rules are tried on the logged requests: 202 with an id, then the matrix, people and examples', async () => {
    const started = await post({ rules: [{ ...RULE, note: '' }], since });
    expect([started.status, started.json]).toEqual([
      202,
      { id: expect.stringMatching(/^bt_/), status: expect.stringMatching(/^(queued|running)$/) },
    ]);
    const { status, json } = await ended(started.json['id']);
    expect([status, json['detail']]).toEqual([200, undefined]);
    expect(json).toMatchObject({
      status: 'succeeded',
      progress: 1,
      source: 'requests',
      events: 3,
      matrix: { ALLOW: { REVIEW: 3, ALLOW: 0 } },
      people_touched: 3,
      replayed: 3,
      rules: [{ code: 'own_all', touched: 3, decisions: 3 }],
      recorded: { same: 3, different: 0 },
      damaged: [],
    });
    expect(json['examples']).toHaveLength(3);
  });

  test('The sample of a condition reads what the request log keeps, attributes and user agent among it', async () => {
    const body = { when: 'attributes.amount > 500 && agent.browser == "chromium"', sample: true };
    const { json } = await bearer(server.url, server.secretKey, 'POST', '/v1/rules/check', body);
    expect(json['sample']).toMatchObject({ decisions: 3, matches: 1, undecided: 0, devices: 1, facts_missing: [] });
  });

  test('A whole policy is tried; a range without decisions has none; another customer sees nothing', async () => {
    const policy = { event_types: { search: { bands: { allow_watch: 0 } } } };
    const { json: started } = await post({ policy, since });
    expect((await ended(started['id'])).json).toMatchObject({ matrix: { ALLOW: { ALLOW_WATCH: 3 } } });
    const { json: later } = await post({ policy, since, until: since + 1 });
    expect((await ended(later['id'])).json).toMatchObject({ status: 'succeeded', events: 0, people_touched: 0 });
    const other = await newCustomer(server.url, server.dataDir);
    expect((await get(started['id'], other.secretKey)).status).toBe(404);
    expect((await post({}, `/${String(started['id'])}/cancel`, other.secretKey)).status).toBe(404);
  });

  test('A backtest can be cancelled; a third one that has not ended is 409', async () => {
    const [first, second] = [await post({ rules: [RULE], since }), await post({ rules: [RULE], since })];
    const third = await post({ rules: [RULE], since });
    expect([third.status, third.json['code']]).toEqual([409, 'limit_reached']);
    const cancelled = await post({}, `/${String(second.json['id'])}/cancel`);
    expect([cancelled.status, cancelled.json['status']]).toEqual([200, 'cancelled']);
    await ended(first.json['id']);
    expect((await get(second.json['id'])).json['status']).toBe('cancelled');
  });

  test('A body without policy and rules, a faulty condition and a faulty policy are 422 with their positions', async () => {
    const pointersOf = ({ json }: Answer): unknown =>
      (json['errors'] as { pointer: string }[]).map(({ pointer }) => pointer);
    const nothing = await post({ since });
    expect([nothing.status, pointersOf(nothing)]).toEqual([422, ['/policy']]);
    const rule = await post({ rules: [{ ...RULE, when: 'nothing > 3' }], since });
    expect([rule.status, pointersOf(rule)]).toEqual([422, ['/rules/0/when']]);
    const policy = await post({ policy: { bands: { block: 200 } }, since });
    expect([policy.status, pointersOf(policy)]).toEqual([422, ['/policy/bands/block']]);
    expect((await post({ rules: [RULE] })).status).toBe(422);
    expect((await get('bt_1')).status).toBe(404);
  });
});
