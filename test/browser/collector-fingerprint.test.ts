import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { sharedChromium } from './support/chromium.ts';
import {
  decodeToken,
  fullTokenOf,
  openPage,
  openPages,
  tokenOf,
  type CollectorPages,
} from './support/collector-pages.ts';

let browser: Browser;
let pages: CollectorPages;

beforeAll(async () => {
  [browser, pages] = await Promise.all([sharedChromium(), openPages()]);
});
afterAll(() => pages.close());

interface Reading {
  readonly fp: unknown;
  readonly fpx: unknown;
  readonly did: unknown;
  readonly sid: unknown;
}

async function readIn(options: BrowserContextOptions, query: Readonly<Record<string, string>> = {}): Promise<Reading> {
  const context = await browser.newContext(options);
  try {
    const page = await openPage(context, pages, { 'data-storage': 'on', ...query });
    const { fp } = decodeToken(await tokenOf(page)).body;
    const { body } = decodeToken(await fullTokenOf(page));
    expect(body['fpx']).toMatch(/^[0-9a-f]{64}$/);
    expect(body['fp']).toBe(fp);
    return { fp, fpx: body['fpx'], did: body['did'], sid: body['sid'] };
  } finally {
    await context.close();
  }
}

describe('the fingerprint', () => {
  let plain: Reading;
  beforeAll(async () => {
    plain = await readIn({});
  });

  test.each<[string, BrowserContextOptions, Readonly<Record<string, string>>]>([
    ['a new context', {}, {}],
    ['another language', { locale: 'de-DE' }, {}],
    ['another time zone', { timezoneId: 'Asia/Tokyo' }, {}],
    [
      'another window and screen',
      { viewport: { width: 1_000, height: 600 }, screen: { width: 1_000, height: 600 } },
      {},
    ],
    ['another pixel ratio', { deviceScaleFactor: 2 }, {}],
    ['dark mode with less motion', { colorScheme: 'dark', reducedMotion: 'reduce' }, {}],
    ['more contrast and forced colours', { contrast: 'more', forcedColors: 'active' }, {}],
    [
      'another user agent',
      { userAgent: 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/151.0.0.0 Safari/537.36' },
      {},
    ],
    ['a strict policy with Trusted Types', {}, { csp: '1' }],
  ])('fp stays the same with %s', async (variation, options, query) => {
    const read = await readIn(options, query);
    process.stdout.write(`${variation}: fp same, fpx ${read.fpx === plain.fpx ? 'same' : 'changes'}\n`);
    expect(read.fp).toBe(plain.fp);
  });

  test('fp changes for another kind of device, with touch and another processor', async () => {
    const context = await browser.newContext({ hasTouch: true, isMobile: true });
    await context.addInitScript(() => {
      Object.defineProperty(Navigator.prototype, 'hardwareConcurrency', { get: () => 32 });
    });
    const { body } = decodeToken(await tokenOf(await openPage(context, pages)));
    await context.close();
    expect(body['fp']).toMatch(/^[0-9a-f]{64}$/);
    expect(body['fp']).not.toBe(plain.fp);
  });

  test('Browsers of one make differ in did, and one browser keeps its did over reloads and tabs', async () => {
    const other = await readIn({});
    expect(other.fp).toBe(plain.fp);
    expect(other.did).toMatch(/^[0-9a-f]{32}$/);
    expect(other.did).not.toBe(plain.did);
    expect(other.sid).not.toBe(plain.sid);

    const context = await browser.newContext();
    const page = await openPage(context, pages, { 'data-storage': 'on' });
    const first = decodeToken(await tokenOf(page)).body;
    await page.reload();
    const second = decodeToken(await tokenOf(page)).body;
    const third = decodeToken(await tokenOf(await openPage(context, pages, { 'data-storage': 'on' }))).body;
    await context.close();
    expect([second['did'], third['did']]).toEqual([first['did'], first['did']]);
    expect([second['fp'], third['fp']]).toEqual([first['fp'], first['fp']]);
    expect(second['sid']).toBe(first['sid']);
    expect(third['sid']).not.toBe(first['sid']);
  });

  test('Minimal mode has no fingerprint, and the readable groups are 0', async () => {
    const context = await browser.newContext();
    const { body } = decodeToken(await tokenOf(await openPage(context, pages, { 'data-mode': 'minimal' })));
    await context.close();
    expect(body).not.toHaveProperty('fp');
    expect(body).not.toHaveProperty('fpx');
    expect(body.sig).not.toHaveProperty('gl');
    expect(body.sig['q']).toBe(0);
    expect(body.sig['auto']).toContain('webdriver');
  });
});
