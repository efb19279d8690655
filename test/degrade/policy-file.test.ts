import { execFile } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../support/layer-folders.ts';
import { decide, get, newcomer } from '../support/requests.ts';
import { startServer, type RunningServer } from '../support/server.ts';

/** The whole server under a policy file that changes while it runs. */

const MAIN = fileURLToPath(new URL('../../dist/app/main.js', import.meta.url));
const BOT = 'Mozilla/5.0 (compatible; SomeCrawlerBot/1.0; +https://bot.example)';
const run = promisify(execFile);

let folder = '';
let file = '';
let server: RunningServer;

function write(policy: unknown): void {
  writeFileSync(`${file}.new`, typeof policy === 'string' ? policy : JSON.stringify(policy));
  renameSync(`${file}.new`, file);
}

interface PolicyLayer {
  readonly state: string;
  readonly version: string;
  readonly detail: string;
}

async function policyLayer(): Promise<PolicyLayer> {
  const { json } = await get(server.url, '/readyz');
  return (json['layers'] as { policy: PolicyLayer }).policy;
}

let versions = 0;

/** Writes a policy and waits until it counts, in every worker: each has its message before its next batch. */
async function put(policy: object): Promise<void> {
  versions += 1;
  const version = `v${versions}`;
  write({ version, ...policy });
  await until(async () => (await policyLayer()).version === version);
  await new Promise((done) => setTimeout(done, 50));
}

async function bot(eventType = 'login', key = server.secretKey): Promise<Record<string, unknown>> {
  const { json } = await decide(server.url, key, { ...newcomer(), url: null, user_agent: BOT, event_type: eventType });
  return json;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-policy-'));
  file = join(folder, 'policy.json');
  write({ version: 'first', bands: { block: 90 } });
  server = await startServer({ env: { GATEHOUSE_POLICY_FILE: file, GATEHOUSE_WORKERS: '2' } });
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('a policy file', () => {
  test('that says nothing leaves the defaults, and is told by its version', async () => {
    await put({});
    expect(await bot()).toMatchObject({ decision: 'SOFT_CHALLENGE', score: 62 });
    expect(await policyLayer()).toMatchObject({ state: 'ok', version: `v${versions}`, detail: '' });
  });

  test('changes weights', async () => {
    await put({ weights: { device_bot_user_agent: 0.9 } });
    expect(await bot()).toMatchObject({ decision: 'BLOCK', score: 90, reasons: ['device_bot_user_agent'] });
  });

  test('changes bands', async () => {
    await put({ bands: { review: 60 } });
    expect(await bot()).toMatchObject({ decision: 'REVIEW', score: 62 });
  });

  test('switches rules off', async () => {
    await put({ rules_off: ['device_bot_user_agent'] });
    expect(await bot()).toMatchObject({ decision: 'ALLOW', score: 0, reasons: [] });
  });

  test('changes one event type alone, of any name', async () => {
    await put({ event_types: { refund: { bands: { review: 55, block: 60 } } }, shifts: { login: -12 } });
    expect((await bot('Refund'))['decision']).toBe('BLOCK');
    expect((await bot('login'))['decision']).toBe('SOFT_CHALLENGE');
    expect((await bot('signup'))['decision']).toBe('SOFT_CHALLENGE');
    expect((await bot('payment'))['decision']).toBe('REVIEW');
  });

  test('changes one customer alone', async () => {
    const cli = async (...args: string[]): Promise<Record<string, string>> => {
      const { stdout } = await run(process.execPath, [MAIN, '--json', '--data-dir', server.dataDir, ...args]);
      return JSON.parse(stdout) as Record<string, string>;
    };
    const { customer_id: id = '' } = await cli('customers', 'create', 'Second');
    const { secret_key: key = '' } = await cli('keys', 'create', '--customer', id);
    await put({ customers: { [id]: { bands: { soft_challenge: 40, review: 50, block: 60 } } } });
    // A new key counts within a second.
    await until(async () => (await bot('login', key))['decision'] === 'BLOCK');
    expect((await bot('login'))['decision']).toBe('SOFT_CHALLENGE');
  });

  test('routes what its challenger would decide otherwise to the shadow queue', async () => {
    await put({ sample_rate: 0 });
    expect(await bot()).toMatchObject({ decision: 'SOFT_CHALLENGE', shadow_routed: false });
    await put({ sample_rate: 0, challenger: { weights: { device_bot_user_agent: 0.99 } } });
    expect(await bot()).toMatchObject({ decision: 'SOFT_CHALLENGE', score: 62, shadow_routed: true });
  });

  test('samples as it says', async () => {
    await put({ sample_rate: 1 });
    expect((await bot())['shadow_routed']).toBe(true);
  });
});

describe('a policy file that turns bad while the server runs', () => {
  test.each([
    ['no JSON', '{"weights":', 'the file is no JSON'],
    ['an unknown rule', '{"weights":{"device_bot_useragent":1}}', 'did you mean device_bot_user_agent?'],
  ])('by %s keeps the old policy and says why', async (_name, text, why) => {
    await put({ weights: { device_bot_user_agent: 0.9 } });
    write(text);
    await until(async () => (await policyLayer()).state === 'broken');
    expect((await policyLayer()).detail).toContain(why);
    expect(await bot()).toMatchObject({ decision: 'BLOCK', score: 90, session_mode: 'unverified' });
    await until(() => server.stdout().includes('policy file refused'));
    await put({});
    expect(await bot()).toMatchObject({ decision: 'SOFT_CHALLENGE' });
  });

  test('by being deleted keeps the old policy and says why', async () => {
    await put({ weights: { device_bot_user_agent: 0.9 } });
    rmSync(file);
    await until(async () => (await policyLayer()).state === 'broken');
    expect((await policyLayer()).detail).toContain('it is not there');
    expect((await bot())['decision']).toBe('BLOCK');
  });
});

describe('a start', () => {
  test.each([
    ['is not there', null],
    ['is not valid', { weights: { nope: 1 }, bands: { block: 1 } }],
  ])('with a policy file that %s ends with 78 and names the setting and every fault', async (_name, policy) => {
    const path = join(folder, 'at-start.json');
    if (policy !== null) writeFileSync(path, JSON.stringify(policy));
    const env = { ...process.env, GATEHOUSE_POLICY_FILE: path, GATEHOUSE_PORT: '0' };
    const dataDir = join(folder, 'data');
    const failed = await run(process.execPath, [MAIN, '--data-dir', dataDir, 'serve'], {
      env: { ...env, GATEHOUSE_DATA_DIR: dataDir },
    }).then(
      () => null,
      (error: unknown) => error as { code: number; stderr: string },
    );
    expect(failed?.code).toBe(78);
    expect(failed?.stderr).toContain('GATEHOUSE_POLICY_FILE cannot be used');
    if (policy !== null) {
      expect(failed?.stderr).toContain('/weights/nope');
      expect(failed?.stderr).toContain('/bands');
    }
  });
});
