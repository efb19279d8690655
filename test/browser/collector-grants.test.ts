import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { createClient, type DecisionBody } from '../../src/client/client.ts';
import { startServer, type RunningServer } from '../support/server.ts';
import { sharedShell } from './support/chromium.ts';
import { decodeToken, openPage, openPages, tokenOf, type CollectorPages } from './support/collector-pages.ts';

const MAIN = fileURLToPath(new URL('../../dist/app/main.js', import.meta.url));

/** The script as the server serves it, and the server's own grants. The site has two allowed origins and one that is not. */
let browser: Browser;
let shop: CollectorPages;
let blog: CollectorPages;
let stranger: CollectorPages;
let server: RunningServer;
let keys: { readonly secret_key: string; readonly public_key: string };
let context: BrowserContext;

beforeAll(async () => {
  [browser, shop, blog, stranger, server] = await Promise.all([
    sharedShell(),
    openPages(),
    openPages(),
    openPages(),
    startServer({ env: { GATEHOUSE_SIMULATED_TIME: '1' } }),
  ]);
  const run = async (...words: string[]): Promise<Record<string, string>> => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      MAIN,
      '--json',
      '--data-dir',
      server.dataDir,
      ...words,
    ]);
    return JSON.parse(stdout) as Record<string, string>;
  };
  const { customer_id: customer = '' } = await run('customers', 'create', 'shop');
  const origins = ['--origin', shop.origin, '--origin', blog.origin];
  keys = (await run('keys', 'create', '--customer', customer, ...origins)) as unknown as typeof keys;
  // A new key takes effect within 1 s.
  await expectUsable();
});
afterAll(async () => {
  await Promise.all([shop.close(), blog.close(), stranger.close(), server.stop()]);
});
beforeEach(async () => {
  context = await browser.newContext();
});
afterEach(() => context.close());

async function expectUsable(): Promise<void> {
  const until = Date.now() + 5_000;
  for (;;) {
    const { kind, status } = await ask({}, 0).then(
      () => ({ kind: 'ok', status: 200 }),
      (error: unknown) => ({ kind: String(error), status: 0 }),
    );
    if (status === 200) return;
    if (Date.now() > until) throw new Error(kind);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Asks for a decision as the shop's backend, `laterMs` after now. */
async function ask(body: object, laterMs = 0): Promise<DecisionBody> {
  const client = createClient({ url: server.url, key: keys.secret_key, nowMs: () => Date.now() + laterMs });
  const answer = await client.decide({ event_type: 'search', ...body });
  if (answer.kind !== 'answer' || answer.status !== 200) throw new Error(JSON.stringify(answer));
  return answer.body as DecisionBody;
}

const open = (pages: CollectorPages): Promise<Page> =>
  openPage(context, pages, { script: `${server.url}/v1/collector.js`, 'data-key': keys.public_key });

const aboutToken = ({ reasons }: DecisionBody): readonly string[] =>
  reasons.filter((code) => code.startsWith('token_'));

describe('grants of a server', () => {
  test('A page of an allowed origin gets a grant, and its tokens fire no rule about grants, each once', async () => {
    const page = await open(shop);
    for (let i = 0; i < 3; i++) {
      const token = await tokenOf(page);
      expect(decodeToken(token)).toMatchObject({ kind: 'st2', body: { aud: shop.origin, seq: i + 1 } });
      const decided = await ask({ session_token: token });
      expect(aboutToken(decided)).toEqual([]);
      expect(decided.session_mode).toBe('full');
      expect(decided.fingerprint_hash).toBe(decodeToken(token).body['fp']);
    }
  });

  test('The same token for the second time is a replay', async () => {
    const token = await tokenOf(await open(shop));
    expect(aboutToken(await ask({ session_token: token }))).toEqual([]);
    expect(aboutToken(await ask({ session_token: token }))).toEqual(['token_replayed']);
  });

  test('A page of another origin gets no grant, and an altered origin is a forgery', async () => {
    const page = await open(stranger);
    expect(decodeToken(await tokenOf(page)).kind).toBe('st1');
    const { json, mac } = decodeToken(await tokenOf(await open(shop)));
    const altered = Buffer.from(json.replace(shop.origin, stranger.origin)).toString('base64url');
    expect(aboutToken(await ask({ session_token: `st2.${altered}.${String(mac)}` }))).toEqual(['token_forged']);
  });

  test("A token of one page in another page's own decision is a forgery, and in its own page it is not", async () => {
    const own = await open(shop);
    const other = await open(blog);
    const decideIn = (page: Page, token: string): Promise<unknown> =>
      page.evaluate((text) => window.gatehouse.decide({ event_type: 'search', session_token: text }), token);
    const first = (await decideIn(own, await tokenOf(own))) as DecisionBody;
    const second = (await decideIn(other, await tokenOf(own))) as DecisionBody;
    expect(aboutToken(first)).toEqual([]);
    expect(aboutToken(second)).toEqual(['token_forged']);
  });

  test('A page decides with its own token, and is told codes of problems', async () => {
    const page = await open(shop);
    const decided = (await page.evaluate(() =>
      window.gatehouse.decide({ event_type: 'search' }),
    )) as unknown as DecisionBody;
    expect(decided).toMatchObject({ session_mode: 'full', decision: expect.any(String) as string });
    expect(decided.reasons).toContain('device_headless');
    const codeOf = (in_: Page, body: object): Promise<unknown> =>
      in_.evaluate(
        (sent) =>
          window.gatehouse.decide(sent).catch((error: { code: string; status: number }) => [error.code, error.status]),
        body,
      );
    expect(await codeOf(page, { outcome: 'nonsense' })).toEqual(['invalid_request', 400]);
    expect(await codeOf(await open(stranger), {})).toEqual(['unreachable', 0]);
    expect(await codeOf(await openPage(context, shop), {})).toEqual(['no_public_key', 0]);
  });

  test('A token of minimal mode is a collector token, whose fingerprint is that of the session', async () => {
    const page = await openPage(context, shop, {
      script: `${server.url}/v1/collector.js`,
      'data-key': keys.public_key,
      'data-mode': 'minimal',
    });
    const [first, second] = [
      await ask({ session_token: await tokenOf(page) }),
      await ask({ session_token: await tokenOf(page) }),
    ];
    expect(first.session_mode).toBe('full');
    expect(first.fingerprint_hash).toMatch(/^[0-9a-f]{64}$/);
    expect(second.fingerprint_hash).toBe(first.fingerprint_hash);
  });

  // Last, because the service's clock never runs back.
  test('A token whose grant ended over five minutes ago is a forgery of the level expired', async () => {
    const token = await tokenOf(await open(shop));
    const late = await ask({ session_token: token }, 34 * 60_000);
    expect(aboutToken(late)).toEqual([]);
    const next = await tokenOf(await open(shop));
    const tooLate = await ask({ session_token: next }, 34 * 60_000 + 36 * 60_000);
    expect(aboutToken(tooLate)).toEqual(['token_forged']);
  });
});
