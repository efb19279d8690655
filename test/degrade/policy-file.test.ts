import { execFile } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../support/layer-folders.ts';
import { decide, gatehouse, get, newcomer } from '../support/requests.ts';
import { startServer, type RunningServer } from '../support/server.ts';

/** The whole server with a policy file that changes while it runs. */

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

interface PolicyAsset {
  readonly state: string;
  readonly version: string;
  readonly detail: string;
}

async function policyLayer(): Promise<PolicyAsset> {
  const { json } = await get(server.url, '/readyz');
  return (json['layers'] as { policy: PolicyAsset }).policy;
}

let versions = 0;
const POLLED = { timeout: 5_000 };

/**
 * Writes a policy and waits until the server reports it. Each worker adopts it before its next batch, so a decision may still be made under
 * the previous policy for some ms: tests poll for the decision.
 */
async function put(policy: object): Promise<void> {
  versions += 1;
  const version = `v${versions}`;
  write({ version, ...policy });
  await until(async () => (await policyLayer()).version === version);
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
  test('An empty policy file keeps the defaults, and its version is shown', async () => {
    await put({});
    await expect.poll(() => bot(), POLLED).toMatchObject({ decision: 'SOFT_CHALLENGE', score: 62 });
    expect(await policyLayer()).toMatchObject({ state: 'ok', version: `v${versions}`, detail: '' });
  });

  test('A policy file changes weights', async () => {
    await put({ weights: { device_bot_user_agent: 0.9 } });
    await expect
      .poll(() => bot(), POLLED)
      .toMatchObject({ decision: 'BLOCK', score: 90, reasons: ['device_bot_user_agent'] });
  });

  test('A policy file changes bands', async () => {
    await put({ bands: { review: 60 } });
    await expect.poll(() => bot(), POLLED).toMatchObject({ decision: 'REVIEW', score: 62 });
  });

  test('A policy file switches rules off', async () => {
    await put({ rules_off: ['device_bot_user_agent'] });
    await expect.poll(() => bot(), POLLED).toMatchObject({ decision: 'ALLOW', score: 0, reasons: [] });
  });

  test('A policy file changes only one event type, which may have any name', async () => {
    await put({ event_types: { refund: { bands: { review: 55, block: 60 } } }, shifts: { login: -12 } });
    await expect.poll(async () => (await bot('Refund'))['decision'], POLLED).toBe('BLOCK');
    await expect.poll(async () => (await bot('login'))['decision'], POLLED).toBe('SOFT_CHALLENGE');
    await expect.poll(async () => (await bot('signup'))['decision'], POLLED).toBe('SOFT_CHALLENGE');
    await expect.poll(async () => (await bot('payment'))['decision'], POLLED).toBe('REVIEW');
  });

  test('A policy file changes only one customer', async () => {
    const id = String((await gatehouse(server.dataDir, 'customers', 'create', 'Second'))['customer_id']);
    const key = String((await gatehouse(server.dataDir, 'keys', 'create', '--customer', id))['secret_key']);
    await put({ customers: { [id]: { bands: { soft_challenge: 40, review: 50, block: 60 } } } });
    // A new key is accepted within a second.
    await until(async () => (await bot('login', key))['decision'] === 'BLOCK');
    await expect.poll(async () => (await bot('login'))['decision'], POLLED).toBe('SOFT_CHALLENGE');
  });

  test('A policy file routes decisions that its challenger would change to the shadow queue', async () => {
    await put({ sample_rate: 0 });
    await expect.poll(() => bot(), POLLED).toMatchObject({ decision: 'SOFT_CHALLENGE', shadow_routed: false });
    await put({ sample_rate: 0, challenger: { weights: { device_bot_user_agent: 0.99 } } });
    await expect
      .poll(() => bot(), POLLED)
      .toMatchObject({ decision: 'SOFT_CHALLENGE', score: 62, shadow_routed: true });
  });

  test('A policy file sets the sample rate', async () => {
    await put({ sample_rate: 1 });
    await expect.poll(async () => (await bot())['shadow_routed'], POLLED).toBe(true);
  });
});

describe('a policy file that becomes invalid while the server runs', () => {
  test.each([
    ['malformed JSON', '{"weights":', 'the file is not JSON'],
    ['an unknown rule', '{"weights":{"device_bot_useragent":1}}', 'did you mean device_bot_user_agent?'],
  ])('A policy file with %s leaves the previous policy active, and the reason is shown', async (_name, text, why) => {
    await put({ weights: { device_bot_user_agent: 0.9 } });
    write(text);
    await until(async () => (await policyLayer()).state === 'broken');
    expect((await policyLayer()).detail).toContain(why);
    await expect.poll(() => bot(), POLLED).toMatchObject({ decision: 'BLOCK', score: 90, session_mode: 'unverified' });
    await until(() => server.stdout().includes('policy file rejected'));
    await put({});
    await expect.poll(() => bot(), POLLED).toMatchObject({ decision: 'SOFT_CHALLENGE' });
  });

  test('A deleted policy file leaves the previous policy active, and the reason is shown', async () => {
    await put({ weights: { device_bot_user_agent: 0.9 } });
    rmSync(file);
    await until(async () => (await policyLayer()).state === 'broken');
    expect((await policyLayer()).detail).toContain('it does not exist');
    await expect.poll(async () => (await bot())['decision'], POLLED).toBe('BLOCK');
  });
});

describe('a start', () => {
  test.each([
    ['is missing', null],
    ['is not valid', { weights: { nope: 1 }, bands: { block: 1 } }],
  ])('A start with a policy file that %s exits with 78 and names all faults', async (_name, policy) => {
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
