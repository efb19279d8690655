import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer, call } from '../../support/manage.ts';
import { decide, newcomer, newCustomer } from '../../support/requests.ts';
import { type RunningServer, startServer } from '../../support/server.ts';

type Json = Record<string, unknown>;

describe('what rules and a challenger did', () => {
  let folder = '';
  let server: RunningServer;
  let other = '';
  const ids: string[] = [];
  const get = async (path: string, key = server.secretKey): Promise<Json> => {
    const { status, json } = await bearer(server.url, key, 'GET', path);
    expect(status).toBe(200);
    return json;
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gatehouse-counts-'));
    const file = join(folder, 'policy.json');
    // The challenger blocks what this policy challenges.
    const challenger = { version: 'c1', weights: { device_http_library: 0.95 } };
    writeFileSync(file, JSON.stringify({ version: 'v1', sample_rate: 1, challenger }));
    server = await startServer({ dataDir: join(folder, 'data'), env: { GATEHOUSE_POLICY_FILE: file } });
    other = (await newCustomer(server.url, server.dataDir)).secretKey;
    for (let n = 0; n < 5; n++) {
      const body = { ...newcomer(), ...(n < 3 && { user_agent: 'curl/8.5.0' }) };
      ids.push(String((await decide(server.url, server.secretKey, body)).json['request_id']));
    }
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  test('A rule has its hits, its decisive ones, and the labels and verdicts of its decisions', async () => {
    const judge = async (path: string, body: Json): Promise<void> => {
      expect((await call(server.url, server.secretKey, 'POST', path, body)).status).toBeLessThan(300);
    };
    await judge('/v1/labels', { request_id: ids[0], label: 'fraud' });
    await judge('/v1/labels', { request_id: ids[1], label: 'legitimate' });
    const { examined, rules } = (await get('/v1/policy/rules')) as { examined: Json; rules: Json[] };
    expect(examined).toMatchObject({ decisions: 5, flagged: 3, is_truncated: false });
    const library = rules.find(({ reason }) => reason === 'device_http_library');
    expect(library).toMatchObject({
      family: 'client',
      hits: 3,
      decisive: 3,
      labels: { fraud: 1, legitimate: 1 },
      precision: 0.5,
    });
    await judge(`/v1/shadow-reviews/${ids[2] ?? ''}`, { verdict: 'fraud' });
    const after = ((await get('/v1/policy/rules')) as { rules: Json[] }).rules;
    expect(after.find(({ reason }) => reason === 'device_http_library')).toMatchObject({
      // A label is the verdict of the decision's row of the queue too.
      verdicts: { fraud: 2, legitimate: 1, unsure: 0 },
      precision: 0.667,
    });
    expect(await get('/v1/policy/rules', other)).toMatchObject({ examined: { decisions: 0 }, rules: [] });
    expect(await get('/v1/policy/rules?from=1000&to=2000')).toMatchObject({ examined: { decisions: 0 }, rules: [] });
  });

  test('The matrix has every decision once, with examples where the challenger differs', async () => {
    const found = await get('/v1/policy/challenger');
    expect(found).toMatchObject({ active: 'v1', challenger: 'c1', decisions: 5, moved: 3, is_truncated: false });
    const matrix = found['matrix'] as Record<string, Record<string, number>>;
    expect(matrix['SOFT_CHALLENGE']).toEqual({ ALLOW: 0, ALLOW_WATCH: 0, SOFT_CHALLENGE: 0, REVIEW: 0, BLOCK: 3 });
    expect(Object.values(matrix).reduce((sum, row) => sum + Object.values(row).reduce((a, b) => a + b), 0)).toBe(5);
    const [cell, ...more] = found['cells'] as { examples: Json[] }[];
    expect(more).toEqual([]);
    expect(cell).toMatchObject({ from: 'SOFT_CHALLENGE', to: 'BLOCK', count: 3 });
    const examples = cell?.examples ?? [];
    expect(new Set(examples.map((example) => example['request_id']))).toEqual(new Set(ids.slice(0, 3)));
    expect(examples[0]?.['reasons']).toContain('device_http_library');
    expect(await get('/v1/policy/challenger', other)).toMatchObject({ decisions: 0, moved: 0, cells: [] });
  });
});
