import type * as Built from '../../src/web/collector/browser.ts';
import type * as Declared from '../../src/web/collector/module-types.d.mts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Browser, BrowserContext } from 'playwright-core';
import { sharedShell } from './support/chromium.ts';
import {
  decodeToken,
  fullTokenOf,
  isSealed,
  openPage,
  openPages,
  tokenOf,
  WITH_KEY,
  type CollectorPages,
} from './support/collector-pages.ts';

let browser: Browser;
let pages: CollectorPages;
let context: BrowserContext;

beforeAll(async () => {
  [browser, pages] = await Promise.all([sharedShell(), openPages()]);
});
afterAll(() => pages.close());
beforeEach(async () => {
  context = await browser.newContext();
  Object.assign(pages, { grantBehaviour: 'issue', grantSeconds: 1_800 });
  pages.requests.length = 0;
});
afterEach(() => context.close());

const grantCalls = (): number => pages.requests.filter(({ url }) => url === '/v1/collector/grant').length;

describe('tokens with a grant', () => {
  test('Each token has the grant, the next number, the origin and an HMAC by the nonce', async () => {
    const page = await openPage(context, pages, WITH_KEY);
    const tokens = [await tokenOf(page), await tokenOf(page), await tokenOf(page)].map(decodeToken);
    expect(tokens.map(({ kind }) => kind)).toEqual(['st2', 'st2', 'st2']);
    expect(tokens.map(({ body }) => body['seq'])).toEqual([1, 2, 3]);
    for (const token of tokens) {
      expect(token.body).toMatchObject({ v: 1, aud: pages.origin, g: tokens[0]?.body['g'] });
      expect(isSealed(token, pages)).toBe(true);
    }
    expect(grantCalls()).toBe(1);
  });

  test('Tokens that are asked for at the same time have different numbers', async () => {
    const page = await openPage(context, pages, WITH_KEY);
    const tokens = await page.evaluate(() => Promise.all(Array.from({ length: 20 }, () => window.gatehouse.token())));
    expect(new Set(tokens.map((token) => decodeToken(token).body['seq'])).size).toBe(20);
    expect(grantCalls()).toBe(1);
  });

  test('Text outside Latin-1 is signed and encoded as UTF-8', async () => {
    await context.addInitScript(() =>
      Object.defineProperty(Navigator.prototype, 'platform', { get: () => 'Ünï — 日本 🛒' }),
    );
    const token = decodeToken(await tokenOf(await openPage(context, pages, WITH_KEY)));
    expect(token.body.sig['platform']).toBe('Ünï — 日本 🛒');
    expect(isSealed(token, pages)).toBe(true);
  });

  test('A grant is renewed before it ends, and the numbers begin again', async () => {
    await context.clock.install();
    const page = await openPage(context, pages, WITH_KEY);
    const first = decodeToken(await tokenOf(page));
    await context.clock.fastForward(19 * 60_000);
    expect(decodeToken(await tokenOf(page)).body['g']).toBe(first.body['g']);
    await context.clock.fastForward(2 * 60_000);
    // The present grant is used while the next one is on its way.
    expect(decodeToken(await tokenOf(page)).body['g']).toBe(first.body['g']);
    await expect.poll(async () => decodeToken(await tokenOf(page)).body['g']).not.toBe(first.body['g']);
    expect(decodeToken(await tokenOf(page)).body['seq']).toBeLessThan(5);
    expect(grantCalls()).toBe(2);
  });

  test('A page that comes back after the end of its grant waits for a new one', async () => {
    await context.clock.install();
    const page = await openPage(context, pages, WITH_KEY);
    const first = decodeToken(await tokenOf(page));
    await context.clock.fastForward(3 * 3_600_000);
    const later = decodeToken(await tokenOf(page));
    expect(later.kind).toBe('st2');
    expect(later.body['g']).not.toBe(first.body['g']);
  });

  test('A visitor whose clock is days wrong gets grants all the same', async () => {
    await context.clock.install({ time: Date.now() - 5 * 86_400_000 });
    const page = await openPage(context, pages, WITH_KEY);
    expect(decodeToken(await tokenOf(page)).kind).toBe('st2');
    expect(decodeToken(await tokenOf(page)).body['seq']).toBe(2);
  });
});

describe('tokens without a grant', () => {
  test.each([
    ['there is no key', {}, 'issue'],
    ['the server refuses', WITH_KEY, 'refuse'],
    ['the server does not answer', WITH_KEY, 'silent'],
  ] as const)('The token is st1. within 500 ms when %s', async (_why, query, behaviour) => {
    pages.grantBehaviour = behaviour;
    const page = await openPage(context, pages, query);
    const [token, ms] = await page.evaluate(async () => {
      const began = performance.now();
      return [await window.gatehouse.token(), performance.now() - began] as const;
    });
    expect(decodeToken(token).kind).toBe('st1');
    expect(ms).toBeLessThan(behaviour === 'silent' ? 1_000 : 500 * 2);
  });

  test('A server that refuses is asked once a minute at most', async () => {
    pages.grantBehaviour = 'refuse';
    await context.clock.install();
    const page = await openPage(context, pages, WITH_KEY);
    for (let i = 0; i < 5; i++) await tokenOf(page);
    expect(grantCalls()).toBe(1);
    await context.clock.fastForward(61_000);
    pages.grantBehaviour = 'issue';
    expect(decodeToken(await tokenOf(page)).kind).toBe('st2');
    expect(grantCalls()).toBe(2);
  });
});

describe('one collector on a page', () => {
  test('A second script and a second start change nothing', async () => {
    const page = await openPage(context, pages);
    const sid = decodeToken(await tokenOf(page)).body['sid'];
    const result = await page.evaluate(async () => {
      const before = window.gatehouse;
      const script = document.createElement('script');
      script.src = '/collector.js?again';
      await new Promise((resolve) => {
        script.addEventListener('load', resolve);
        document.head.append(script);
      });
      return {
        isSame: before === window.gatehouse,
        started: window.gatehouse.start({ storage: 'on' }),
        kept: localStorage.length,
      };
    });
    expect(result).toEqual({ isSame: true, started: false, kept: 0 });
    expect(decodeToken(await tokenOf(page)).body['sid']).toBe(sid);
  });

  test('The module has what its published types declare, and takes the same options', async () => {
    // Checked by the compiler: each is usable as the other.
    const asDeclared = (built: typeof Built): typeof Declared => built;
    const asBuilt = (declared: typeof Declared): typeof Built => declared;
    expect([asDeclared.length, asBuilt.length]).toEqual([1, 1]);
    const page = await context.newPage();
    await page.goto(`${pages.origin}/bare`);
    const names = await page.evaluate("import('/collector.mjs').then((collector) => Object.keys(collector).sort())");
    expect(names).toEqual(['decide', 'start', 'stop', 'token', 'version']);
  });

  test('The module refuses to start beside the classic script, and starts alone', async () => {
    // As text: the test runner would rewrite an import.
    const start = "import('/collector.mjs').then((collector) => collector.start())";
    const page = await openPage(context, pages);
    expect(await page.evaluate(start)).toBe(false);
    await page.goto(`${pages.origin}/bare`);
    expect(await page.evaluate(start)).toBe(true);
    expect(await page.evaluate(() => 'gatehouse' in window)).toBe(false);
  });

  test('The global is the only new name, and a page cannot replace it by mistake', async () => {
    const page = await openPage(context, pages);
    await fullTokenOf(page);
    const added = await page.evaluate(() => {
      const frame = document.createElement('iframe');
      document.body.append(frame);
      const usual = new Set(Object.getOwnPropertyNames(frame.contentWindow));
      const names = Object.getOwnPropertyNames(window).filter((name) => !usual.has(name));
      frame.remove();
      return { names, isFrozen: Object.isFrozen(window.gatehouse), api: Object.keys(window.gatehouse).sort() };
    });
    expect(added.names).toContain('gatehouse');
    // Frames are counted as properties `0`, `1` …
    expect(added.names.filter((name) => name !== 'gatehouse' && !/^\d+$/.test(name))).toEqual([]);
    expect(added).toMatchObject({ isFrozen: true, api: ['decide', 'start', 'stop', 'token', 'version'] });
  });

  test('An element with the id gatehouse does not keep the collector away', async () => {
    const page = await context.newPage();
    await page.goto(`${pages.origin}/bare`);
    await page.evaluate(async () => {
      document.body.id = 'gatehouse';
      const script = document.createElement('script');
      script.src = '/collector.js';
      await new Promise((resolve) => {
        script.addEventListener('load', resolve);
        document.head.append(script);
      });
    });
    expect(await page.evaluate(() => typeof window.gatehouse.token)).toBe('function');
  });
});

describe('a strict policy', () => {
  test('Nothing is reported under a strict policy with Trusted Types, until all is read and a form is sent', async () => {
    await context.addInitScript(() => {
      const violations: string[] = [];
      Object.assign(window, { violations });
      document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) => {
        violations.push(`${violatedDirective} ${blockedURI} ${sample}`);
      });
    });
    const errors: string[] = [];
    const page = await openPage(context, pages, { ...WITH_KEY, csp: '1', form: '1', 'data-storage': 'on' });
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
    await page.locator('[name=name]').pressSequentially('anna');
    const token = decodeToken(await fullTokenOf(page));
    expect(token.kind).toBe('st2');
    expect(token.body.sig['q']).toBe(3);
    const violations = (): Promise<string[]> =>
      page.evaluate(() => (window as unknown as { violations: string[] }).violations);
    expect(await violations()).toEqual([]);
    // The check can fail: inline code is reported.
    await page
      .evaluate(() => {
        const script = document.createElement('script');
        script.setAttribute('src', 'data:text/javascript,1');
        document.head.append(script);
      })
      .catch(() => null);
    await expect.poll(violations).not.toEqual([]);
    await page.click('button');
    await page.waitForURL('**/send');
    expect(
      errors.filter((text) => !text.includes('data:text/javascript') && !text.includes('TrustedScriptURL')),
    ).toEqual([]);
  });
});
