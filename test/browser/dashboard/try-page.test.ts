import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { bearer } from '../../support/manage.ts';
import {
  expectAccessible,
  expectClean,
  expectReadable,
  HOSTILE,
  type Harness,
  sharedHarness,
} from '../support/dashboard-harness.ts';
import { shoot } from '../support/pictures.ts';

const PATH = '/dashboard/try';
const run = promisify(execFile);

/** How each program is run; one that is not installed is skipped, and the list of what ran is checked below. */
const PROGRAMS: Readonly<Record<string, { readonly file: string; readonly command: readonly [string, ...string[]] }>> =
  {
    curl: { file: 'decide.sh', command: ['sh', 'decide.sh'] },
    node: { file: 'decide.mjs', command: [process.execPath, 'decide.mjs'] },
    python: { file: 'decide.py', command: ['python3', 'decide.py'] },
    php: { file: 'decide.php', command: ['php', 'decide.php'] },
    go: { file: 'decide.go', command: ['go', 'run', 'decide.go'] },
    ruby: { file: 'decide.rb', command: ['ruby', 'decide.rb'] },
  };

async function isInstalled(command: string): Promise<boolean> {
  return run('sh', ['-c', `command -v ${command}`]).then(
    () => true,
    () => false,
  );
}

describe('The console', () => {
  let harness: Harness;
  let folder: string;
  beforeAll(async () => {
    [harness, folder] = await Promise.all([sharedHarness(), mkdtemp(join(tmpdir(), 'gatehouse-samples-'))]);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const decisionsOf = async (): Promise<number> => {
    const { json } = await bearer(harness.api.url, harness.api.secretKey, 'GET', '/v1/decisions?limit=100');
    return (json['data'] as unknown[]).length;
  };

  async function simulate(page: Page): Promise<void> {
    await page.getByRole('button', { name: 'Simulate' }).click();
    await page.getByText('simulated: nothing was counted or stored').waitFor();
  }

  test('simulates a preset, which stores nothing, and explains each reason', async () => {
    const page = await harness.open(`${PATH}?preset=headless`);
    await page.getByText('No request was sent yet').waitFor();
    const before = await decisionsOf();
    await simulate(page);
    await page.getByRole('link', { name: 'device_headless' }).waitFor();
    await expectAccessible(page);
    await shoot(page, 'try-headless');
    expect(await decisionsOf()).toBe(before);
    await page.getByRole('link', { name: 'Tor' }).click();
    expect(new URL(page.url()).search).toBe('?preset=tor');
    await page.getByText('No request was sent yet').waitFor();
    expect(await page.getByLabel('Address', { exact: true }).inputValue()).toBe('185.220.101.1');
    await page.getByLabel('Body').focus();
    await page.keyboard.press('Control+Enter');
    await page.getByText('simulated: nothing was counted or stored').waitFor();
    for (const name of ['Plain login', 'Travel ×2', 'Stuffing ×12']) {
      await page.getByRole('link', { name }).click();
      await simulate(page);
    }
    expectClean(page);
  });

  test('keeps fields and JSON equal, and says when the JSON is none', async () => {
    const page = await harness.open(PATH);
    await page.getByLabel('E-mail').fill('bob@example.com');
    await page.getByLabel('Page before').fill('https://shop.example/');
    await page.getByLabel('Outcome').selectOption('failed');
    const body = JSON.parse(await page.getByLabel('Body').inputValue()) as Record<string, unknown>;
    expect(body).toMatchObject({
      entity_keys: { email: 'bob@example.com' },
      referrer: 'https://shop.example/',
      outcome: 'failed',
    });
    await page.getByLabel('E-mail').fill('');
    expect(JSON.parse(await page.getByLabel('Body').inputValue())).not.toHaveProperty('entity_keys');
    await page.getByLabel('Body').fill('{"ip":"1.1.1.1"');
    await page.getByText('This must be a JSON object').waitFor();
    expect(await page.getByRole('button', { name: 'Simulate' }).isDisabled()).toBe(true);
    await expectAccessible(page);
    await page.getByLabel('Body').fill('{"ip":"1.1.1.1"}');
    expect(await page.getByLabel('Address', { exact: true }).inputValue()).toBe('1.1.1.1');
    expectClean(page);
  });

  test('makes real decisions with a typed key only, and sends the key to nobody but the API', async () => {
    const { secretKey, url } = harness.api;
    const page = await harness.open(`${PATH}?preset=stuffing`);
    const sent: string[] = [];
    page.on('request', (request) => {
      if (JSON.stringify([request.url(), request.postData(), request.headers()]).includes(secretKey))
        sent.push(request.url());
    });
    expect(await page.getByRole('button', { name: 'Send 12 real requests' }).isDisabled()).toBe(true);
    await page.getByLabel('Key for signatures').fill(secretKey);
    await page.getByRole('button', { name: 'Send 12 real requests' }).click();
    await page.getByText('12 of 12').first().waitFor();
    await page.getByText('a real decision').waitFor();
    expect(await decisionsOf()).toBeGreaterThanOrEqual(12);
    expect(new Set(sent)).toEqual(new Set([`${url}/v1/decide`]));
    // A later attempt at the same address is judged by those before it.
    await page
      .getByRole('link', { name: /velocity_|_failures_/ })
      .first()
      .waitFor();
    await expectAccessible(page);
    await shoot(page, 'try-stuffing');
    await page.getByLabel('Key for signatures').fill('sk_live_unknown');
    await page.getByRole('button', { name: 'Send 12 real requests' }).click();
    await page.getByText('unknown_key').waitFor();
    await page.reload();
    expect(await page.getByLabel('Key for signatures').inputValue()).toBe('');
    expectClean(page);
  });

  test('shows the signing string of docs/signing.md, and what is wrong with a signature', async () => {
    const key = 'sk_live_3AHOVcjqx4BIPWdkry5CJQXelsz6DKRYOPpP55';
    const body = '{"event_type":"login","session_token":"s1","ip":"198.51.100.7"}';
    const hash = 'b7c43badb1d1f89065fb7fcc1dbdcfd9f1b9a8c53f9d79a001ac7fb0c48140ef';
    const signature = 'f5722faeb29b88860dc7fe758b991e99bd0d867e422431b22e1f02c196055503';
    const page = await harness.open(PATH);
    await page.getByLabel('Body').fill(body);
    await page.getByLabel('Key for signatures').fill(key);
    await page.getByText(hash).waitFor();
    await page.getByText('Check a signature of yours').click();
    const check = async (headers: string, text = ''): Promise<void> => {
      await page.getByLabel('Your headers').fill(headers);
      await page.getByLabel('Your signing string').fill(text);
      await page.getByRole('button', { name: 'Check', exact: true }).click();
    };
    const headersOf = (sig: string, ts = '1795996800') =>
      `X-SVC-Ts: ${ts}\nX-SVC-Rid: vector-1-secret\nX-SVC-Sig: ${sig}`;
    await check(headersOf(signature));
    await page.getByText('The signature matches the body above.').waitFor();
    await page.getByText(/over 300 s the server refuses it/).waitFor();
    await expectAccessible(page);
    await shoot(page, 'try-signature');
    await check(headersOf('0'.repeat(64)), `POST\n/v1/decide\n1795996800\n${'a'.repeat(64)}\nvector-1-secret`);
    await page.getByText(/Line 4, the body hash, differs: yours is aaaa/).waitFor();
    await page.getByText(/matches no known form of this request/).waitFor();
    // The vector of the compact body against the indented one.
    await page.getByLabel('Body').fill(JSON.stringify(JSON.parse(body), null, 2));
    await check(headersOf(signature));
    await page.getByText(/Your body hash is of the compact JSON/).waitFor();
    await page.getByLabel('Body').fill(body);
    await check(headersOf(Buffer.from(signature, 'hex').toString('base64')));
    await page.getByText(/Your signature is base64/).waitFor();
    await check(headersOf('00', '1795996800000'));
    await page.getByText(/X-SVC-Ts is in milliseconds/).waitFor();
    // The public vector of docs/signing.md.
    await page.getByLabel('Key for signatures').fill('pk_live_BIPWdkry5CJQXelsz6DKRYfmt07ELSZgjoE4hH');
    await check(
      headersOf('afecf63c6f706e64c67d3c87b2d4cceb1bbb95664d272e517b4a8a1e3c94dc85').replace('secret', 'public'),
    );
    await page.getByText('The signature matches the body above.').waitFor();
    expectClean(page);
  });

  test('gives code that decides against a real server, also with hostile text in the body', async () => {
    const { url, secretKey, publicKey } = harness.api;
    const body = {
      event_type: 'login',
      session_token: `s'"\\ \`$HOME \${x} '''`,
      ip: '81.2.69.160',
      user_agent: '<?php "é" %s',
    };
    const page = await harness.open(PATH);
    await page.getByLabel('Body').fill(JSON.stringify(body, null, 2));
    const ran: string[] = [];
    for (const [id, { file, command }] of Object.entries(PROGRAMS)) {
      await page.goto(`${url}${PATH}?code=${id}`);
      await page.getByLabel('Body').fill(JSON.stringify(body, null, 2));
      const block = page.getByRole('region', { name: / code$/ });
      await block.getByText('81.2.69.160').waitFor();
      const [program, ...args] = command;
      await writeFile(join(folder, file), (await block.textContent()) ?? '');
      if (!(await isInstalled(program))) continue;
      for (const key of [secretKey, publicKey]) {
        const env = { ...process.env, GATEHOUSE_KEY: key, GO111MODULE: 'off' };
        const { stdout } = await run(program, args, { cwd: folder, env, timeout: 110_000 });
        expect(JSON.parse(stdout), `${id} with ${key.slice(0, 3)}`).toMatchObject({ session_mode: 'unverified' });
      }
      await expect(
        run(program, args, { cwd: folder, env: { ...process.env, GATEHOUSE_KEY: 'sk_live_none', GO111MODULE: 'off' } }),
        `${id} with an unknown key`,
      ).rejects.toThrow();
      ran.push(id);
    }
    expect(ran).toEqual(expect.arrayContaining(['curl', 'node', 'python']));
    await shoot(page, 'try-code');
    expectClean(page);
  }, 300_000);

  test('shows hostile text as text', async () => {
    const answer = {
      request_id: 'req_01M7XVS7J4Q33R1661RM2TZ4P2',
      decision: 'BLOCK',
      score: 88.5,
      reasons: ['device_headless', 'ip_hosting'],
      review_hint: HOSTILE,
      contributions: [
        {
          reason: 'device_headless',
          family: 'device',
          weight: 0.9,
          evidence: HOSTILE,
          counts: true,
          without: { score: 10, decision: 'ALLOW' },
        },
        {
          reason: 'ip_hosting',
          family: 'network',
          weight: 0.2,
          evidence: HOSTILE,
          counts: false,
          without: { score: 88.5, decision: 'BLOCK' },
        },
      ],
      families: [{ family: 'device', reason: 'device_headless', from: 0, to: 88.5 }],
      overridden_by: null,
      policy_version: 'v',
      bands: { ALLOW_WATCH: 30, SOFT_CHALLENGE: 50, REVIEW: null, BLOCK: 80 },
    };
    const page = await harness.open(PATH, {
      override: (path) => (path === '/v1/simulate' ? { body: answer } : null),
    });
    await page.getByLabel('Body').fill(JSON.stringify({ session_token: HOSTILE, user_agent: HOSTILE }));
    await simulate(page);
    await page.getByText('The response as JSON').click();
    await page.getByText('Check a signature of yours').click();
    expect(await page.locator('img').count()).toBe(0);
    await expectReadable(page);
    await shoot(page, 'try-hostile');
    expectClean(page);
  });
});
