import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer, fingerprintOf } from '../support/manage.ts';
import { decide, gatehouse, get, newcomer } from '../support/requests.ts';
import { startServer, type RunningServer } from '../support/server.ts';
import { eventually } from '../support/webhooks.ts';

/** The whole server with a policy file in observe mode. */

const HEADLESS =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/139.0.0.0 Safari/537.36';

let folder = '';
let server: RunningServer;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-policy-'));
  const file = join(folder, 'policy.json');
  writeFileSync(file, JSON.stringify({ mode: 'observe' }));
  server = await startServer({ env: { GATEHOUSE_POLICY_FILE: file } });
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const ask = async (body: object): Promise<Record<string, unknown>> =>
  (await decide(server.url, server.secretKey, { ...newcomer(), ...body })).json;
const read = async (path: string): Promise<Record<string, unknown>> =>
  (await bearer(server.url, server.secretKey, 'GET', path)).json;

describe('observe mode', () => {
  test('Observe mode answers ALLOW, and logs and keeps both decisions for candidates and the report', async () => {
    const bot = await ask({ user_agent: HEADLESS, event_type: 'checkout' });
    expect(bot).toMatchObject({ decision: 'ALLOW', would_be: 'REVIEW', score: 71.5, review_hint: '' });
    const both = { request_id: bot['request_id'], decision: 'ALLOW', would_be: 'REVIEW' };
    expect(await read(`/v1/decisions/${String(bot['request_id'])}`)).toMatchObject(both);
    expect((await read('/v1/decisions?decision=ALLOW'))['data']).toMatchObject([both]);
    expect((await read('/v1/decisions?decision=REVIEW'))['data']).toEqual([]);
    expect((await read('/v1/lists/candidates'))['data']).toMatchObject([both]);
    expect((await get(server.url, '/metrics')).text).toMatch(/^gatehouse_observed_total\{decision="REVIEW"\} 1$/m);
    const report = await eventually('the log on the disk', async () => {
      const printed = (await gatehouse(server.dataDir, 'policy', 'report'))['rows'] as unknown[];
      return printed.length === 0 ? null : printed;
    });
    expect(report).toMatchObject([
      {
        event_type: 'checkout',
        decisions: 1,
        observed: 1,
        would_be: { ALLOW: 0, REVIEW: 1, BLOCK: 0 },
        rules: [
          { rule: 'device_headless', decisions: 1 },
          { rule: 'journey_direct_hit', decisions: 1 },
        ],
      },
    ]);
    const id = '--customer=cus_01ARZ3NDEKTSV4RRFFQ69G5FAV';
    await expect(gatehouse(server.dataDir, 'policy', 'report', id)).rejects.toThrow();
  });

  test('Observe mode does not change decisions about an empty session token and the customer’s own list', async () => {
    const empty = await ask({ session_token: '' });
    expect([empty['decision'], empty['would_be']]).toEqual(['SOFT_CHALLENGE', undefined]);
    const entry = { fingerprint_hash: fingerprintOf('blocked-here'), action: 'block' };
    await bearer(server.url, server.secretKey, 'POST', '/v1/lists', entry);
    const blocked = await ask({ session_token: 'blocked-here' });
    expect(blocked).toMatchObject({ decision: 'BLOCK', score: 100, reasons: ['list_block'] });
    expect(blocked).not.toHaveProperty('would_be');
  });
});
