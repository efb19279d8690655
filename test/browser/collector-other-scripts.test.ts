import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { sharedShell } from './support/chromium.ts';
import {
  decodeToken,
  isSealed,
  openPage,
  openPages,
  tokenOf,
  WITH_KEY,
  type CollectorPages,
} from './support/collector-pages.ts';

/** Pages whose other scripts replace what the browser provides, break single signals, or name their elements like its methods. */

let browser: Browser;
let pages: CollectorPages;
let context: BrowserContext;
/** Token of a page without other scripts. */
let usual: ReturnType<typeof decodeToken>['body'];

beforeAll(async () => {
  [browser, pages] = await Promise.all([sharedShell(), openPages()]);
  const plain = await browser.newContext();
  usual = decodeToken(await tokenOf(await openPage(plain, pages, WITH_KEY))).body;
  await plain.close();
});
afterAll(() => pages.close());
beforeEach(async () => {
  context = await browser.newContext();
  pages.requests.length = 0;
});
afterEach(() => context.close());

/** What Prototype.js 1.6, MooTools 1.2 and polyfills of their time do to the browser's own functions. */
function replaceBuiltIns(): void {
  const toArray = (list: ArrayLike<unknown>): unknown[] => Array.prototype.slice.call(list);
  const each = (list: ArrayLike<unknown>, visit: (item: unknown, index: number) => void): void => {
    for (let i = 0; i < list.length; i++) visit(list[i], i);
  };
  const collect = function (this: unknown[], convert: (item: unknown, index: number) => unknown = (item) => item) {
    const made: unknown[] = [];
    each(this, (item, index) => made.push(convert(item, index)));
    return made;
  };
  Object.assign(Array, { from: toArray });
  Object.assign(Uint8Array, { from: toArray });
  const inspected = function (this: unknown): string {
    return `"${String(this)}"`;
  };
  for (const { prototype } of [Array, String, Number, Date, Boolean]) Object.assign(prototype, { toJSON: inspected });
  Object.assign(Array.prototype, {
    map: collect,
    entries: collect,
    toArray: collect,
    some(this: unknown[], test: (item: unknown) => unknown = (item) => item) {
      let found = false;
      each(this, (item) => (found ||= Boolean(test(item))));
      return found;
    },
  });
  Object.assign(Object.prototype, { extend: () => null, inspect: () => '' });
  Object.assign(Object, {
    keys(object: object) {
      const names: string[] = [];
      for (const name in object) if (!['extend', 'inspect'].includes(name)) names.push(name);
      return names;
    },
    entries: () => [],
  });
}

describe('beside other scripts', () => {
  test('On a page with frameworks that replace built-in functions the token is the usual one', async () => {
    await context.addInitScript(replaceBuiltIns);
    const token = decodeToken(await tokenOf(await openPage(context, pages, WITH_KEY)));
    expect(isSealed(token, pages)).toBe(true);
    expect(token.body).toMatchObject({ v: 1, fp: usual['fp'], aud: pages.origin });
    expect(token.body['sid']).toMatch(/^[0-9a-f]{32}$/);
    const timeless = (sig: Record<string, unknown>): object => ({ ...sig, beat: null, age_ms: 0, vis: 0 });
    expect(timeless(token.body.sig)).toEqual(timeless(usual.sig));
  });

  /** Owner, property, and the fields of `sig` that are then absent. */
  const BROKEN = [
    ['Navigator.prototype', 'languages', ['languages']],
    ['Navigator.prototype', 'plugins', ['plugins']],
    ['Navigator.prototype', 'platform', ['platform']],
    ['Navigator.prototype', 'userAgentData', ['mobile', 'platform_hint', 'brands']],
    ['Navigator.prototype', 'webdriver', ['webdriver']],
    ['Navigator.prototype', 'maxTouchPoints', ['touch']],
    ['Navigator.prototype', 'userAgent', []],
    ['Screen.prototype', 'width', ['width']],
    ['Intl.DateTimeFormat.prototype', 'resolvedOptions', ['tz']],
    ['Date.prototype', 'getTimezoneOffset', ['tzo']],
    ['window', 'devicePixelRatio', ['dpr']],
    ['window', 'matchMedia', []],
    ['window', 'navigation', []],
    ['Crypto.prototype', 'getRandomValues', []],
    ['Storage.prototype', 'getItem', []],
    ['Document.prototype', 'hasFocus', []],
    ['Element.prototype', 'getAttributeNames', []],
  ] as const;

  test('If a property throws, or is null, the token only lacks what was read from it', async () => {
    const page = await openPage(context, pages, { ...WITH_KEY, 'data-consent': 'wait' });
    const tokens = await page.evaluate(async (broken) => {
      const made: { readonly name: string; readonly way: string; readonly token: string }[] = [];
      for (const [owner, name] of broken) {
        const target: object = owner
          .split('.')
          .reduce<object>((from, part) => (part === 'window' ? from : (Reflect.get(from, part) as object)), window);
        const usual = Object.getOwnPropertyDescriptor(target, name) ?? { value: undefined };
        for (const way of ['throws', 'null']) {
          Object.defineProperty(target, name, {
            configurable: true,
            get() {
              if (way === 'throws') throw new Error('broken by another script');
              return null;
            },
          });
          window.gatehouse.start({ publicKey: 'pk_live_test00000000000000000000000000' });
          const token = await window.gatehouse.token();
          window.gatehouse.stop({ forget: true });
          Object.defineProperty(target, name, usual);
          made.push({ name, way, token });
        }
      }
      return made;
    }, BROKEN);
    const absentOf = new Map<string, readonly string[]>(BROKEN.map(([, name, absent]) => [name, absent]));
    for (const { name, way, token } of tokens) {
      const { body } = decodeToken(token);
      const missing = Object.keys(usual.sig).filter((field) => !(field in body.sig));
      expect({ name, way, fp: body['fp'], sid: body['sid'], ...(way === 'throws' && { missing }) }).toEqual({
        name,
        way,
        fp: expect.stringMatching(/^[0-9a-f]{64}$/),
        sid: expect.stringMatching(/^[0-9a-f]{32}$/),
        ...(way === 'throws' && { missing: absentOf.get(name) }),
      });
    }
    expect(tokens).toHaveLength(BROKEN.length * 2);
  });
});

describe('while Gatehouse does not answer', () => {
  /** Files with samples, and how many script tags each has. */
  const HEADS = {
    'README.md': 1,
    'docs/collector.md': 2,
    'examples/shop/site/login.html': 1,
    'examples/shop/site/signup.html': 1,
    'examples/shop/site/checkout.html': 1,
    'src/web/dashboard/pages/overview/quick-start.tsx': 1,
    'src/web/dashboard/pages/keys/collector-snippet.tsx': 1,
  };

  test('A page with the script tag of each sample is ready, and its modules run, while the script hangs', async () => {
    const server = createServer(({ url = '' }, response) => {
      if (url === '/v1/collector.js') return;
      response.setHeader('content-type', 'text/html');
      response.end(
        `<!doctype html><link rel="icon" href="data:,"><script src="/v1/collector.js" ${url.slice(1)}></script>` +
          `<script type="module">document.title = 'the module ran'</script>`,
      );
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { readonly port: number };
    for (const [path, count] of Object.entries(HEADS)) {
      const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
      const words = [...text.matchAll(/<script\b[^<]*?(?:collector|path|`\];)[^<]*?\b(async|defer)\b\s*><\/script>/g)];
      expect({ path, count: words.length }).toEqual({ path, count });
      for (const [, word = ''] of words) {
        const page = await context.newPage();
        await page.goto(`http://localhost:${port}/${word}`, { waitUntil: 'domcontentloaded', timeout: 10_000 });
        await expect.poll(() => page.title(), { message: path }).toBe('the module ran');
        await page.close();
      }
    }
    server.closeAllConnections();
    server.close();
  });
});

describe('elements named like methods', () => {
  const NAMES =
    'elements,append,appendChild,hasAttribute,getAttribute,requestSubmit,submit,querySelector,setAttribute,addEventListener';

  async function sentToken(page: Page): Promise<ReturnType<typeof decodeToken>> {
    await page.waitForURL('**/send');
    const body = pages.requests.find(({ url }) => url === '/send')?.body;
    return decodeToken(new URLSearchParams(body).get('session_token') ?? '');
  }

  test('A form with fields of such names is sent with a token', async () => {
    const page = await openPage(context, pages, { ...WITH_KEY, form: '1', fields: NAMES });
    await tokenOf(page);
    await page.evaluate(() => document.querySelector('button')?.click());
    expect((await sentToken(page)).body).toMatchObject({ fp: usual['fp'], seq: 2 });
  });

  test('Such a form that is sent before the first token is ready waits for it', async () => {
    const page = await openPage(context, pages, { ...WITH_KEY, 'data-consent': 'wait', form: '1', fields: NAMES });
    await page.evaluate(() => {
      window.gatehouse.start({ publicKey: 'pk_live_test00000000000000000000000000' });
      document.querySelector('button')?.click();
    });
    expect((await sentToken(page)).kind).toBe('st2');
  });

  test('Images of such names in the document change nothing', async () => {
    const images = 'addEventListener,hasFocus,hidden,documentElement,referrer,fullscreenElement';
    const page = await openPage(context, pages, { ...WITH_KEY, form: '1', images });
    await page.locator('[name=name]').pressSequentially('anna');
    await page.click('button');
    const { body } = await sentToken(page);
    expect(body['fp']).toBe(usual['fp']);
    expect(body.sig).toMatchObject({ vis: 0, beat: { keys: 4, submits: 1 } });
  });
});
