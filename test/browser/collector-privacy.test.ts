import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { sharedShell } from './support/chromium.ts';
import { decodeToken, openPage, openPages, tokenOf, WITH_KEY, type CollectorPages } from './support/collector-pages.ts';

let browser: Browser;
let pages: CollectorPages;
let context: BrowserContext;

beforeAll(async () => {
  [browser, pages] = await Promise.all([sharedShell(), openPages()]);
});
afterAll(() => pages.close());
beforeEach(async () => {
  context = await browser.newContext();
  pages.requests.length = 0;
});
afterEach(() => context.close());

const stored = (page: Page): Promise<object> =>
  page.evaluate(async () => ({
    local: Object.keys(localStorage),
    session: Object.keys(sessionStorage),
    cookies: document.cookie,
    databases: (await indexedDB.databases()).length,
  }));
const NOTHING = { local: [], session: [], cookies: '', databases: 0 };

/** Types into a form and waits, so that everything that the collector ever does has happened. */
async function use(page: Page): Promise<void> {
  await page.locator('[name=name]').pressSequentially('anna');
  await page.mouse.move(50, 60, { steps: 5 });
  await tokenOf(page);
  await page.waitForTimeout(2_000);
}

describe('storage', () => {
  test('With off nothing is stored, and what was stored before is deleted', async () => {
    const before = await openPage(context, pages, { 'data-storage': 'on', form: '1' });
    await use(before);
    expect(await stored(before)).toEqual({ ...NOTHING, local: ['gatehouse.did'], session: ['gatehouse.sid'] });
    await before.goto(`${pages.origin}/page?data-storage=off&form=1`);
    await use(before);
    expect(await stored(before)).toEqual(NOTHING);
    const { body } = decodeToken(await tokenOf(before));
    expect(body).not.toHaveProperty('did');
    const sid = body['sid'];
    await before.reload();
    expect(decodeToken(await tokenOf(before)).body['sid']).not.toBe(sid);
  });

  test('By default only the session id is stored', async () => {
    const page = await openPage(context, pages, { form: '1' });
    await use(page);
    expect(await stored(page)).toEqual({ ...NOTHING, session: ['gatehouse.sid'] });
    expect(decodeToken(await tokenOf(page)).body).not.toHaveProperty('did');
  });

  test.each([
    ['honoured', {}, false],
    ['ignored on request', { 'data-gpc': 'ignore' }, true],
  ])('Global Privacy Control is %s', async (_how, query, isStored) => {
    await context.addInitScript(() =>
      Object.defineProperty(Navigator.prototype, 'globalPrivacyControl', { get: () => true }),
    );
    const page = await openPage(context, pages, { 'data-storage': 'on', form: '1', ...query });
    await use(page);
    expect(await stored(page)).toEqual(
      isStored ? { ...NOTHING, local: ['gatehouse.did'], session: ['gatehouse.sid'] } : NOTHING,
    );
  });

  test('An unknown value of data-storage does not store more than the default', async () => {
    const page = await openPage(context, pages, { 'data-storage': 'ON', form: '1' });
    await use(page);
    expect(await stored(page)).toEqual({ ...NOTHING, session: ['gatehouse.sid'] });
  });

  test('stop with forget deletes the stored ids, and start works again', async () => {
    const page = await openPage(context, pages, { 'data-storage': 'on' });
    await tokenOf(page);
    await page.evaluate(() => window.gatehouse.stop({ forget: true }));
    expect(await stored(page)).toEqual(NOTHING);
    expect(await tokenOf(page)).toBe('');
    expect(await page.evaluate(() => window.gatehouse.start({ storage: 'off' }))).toBe(true);
    expect(decodeToken(await tokenOf(page)).kind).toBe('st1');
  });

  test('A browser that refuses storage gets tokens all the same', async () => {
    await context.addInitScript(() => {
      for (const name of ['localStorage', 'sessionStorage'])
        Object.defineProperty(window, name, {
          get: () => {
            throw new DOMException('denied', 'SecurityError');
          },
        });
    });
    const { body } = decodeToken(await tokenOf(await openPage(context, pages, { 'data-storage': 'on' })));
    expect(body['sid']).toMatch(/^[0-9a-f]{32}$/);
    expect(body).not.toHaveProperty('did');
  });
});

describe('consent', () => {
  test('With data-consent="wait" nothing is read, stored or sent before start', async () => {
    await context.addInitScript(() => {
      const calls: string[] = [];
      Object.assign(window, { calls });
      for (const [holder, name] of [
        [HTMLCanvasElement.prototype, 'getContext'],
        [EventTarget.prototype, 'addEventListener'],
        [Storage.prototype, 'getItem'],
        [Storage.prototype, 'setItem'],
        [window, 'fetch'],
      ] as const) {
        const original = Reflect.get(holder, name) as (...given: unknown[]) => unknown;
        Reflect.set(holder, name, function (this: unknown, ...given: unknown[]) {
          // The tool that drives the browser calls some of them too.
          if (new Error('call').stack?.includes('/collector.js') === true) calls.push(name);
          return original.apply(this, given);
        });
      }
    });
    const page = await openPage(context, pages, {
      ...WITH_KEY,
      'data-consent': 'wait',
      'data-storage': 'on',
      form: '1',
    });
    const ownCalls = (): Promise<string[]> =>
      page.evaluate(() => [...(window as unknown as { calls: string[] }).calls]);
    await page.locator('[name=name]').pressSequentially('anna');
    expect(await tokenOf(page)).toBe('');
    await page.waitForTimeout(1_000);
    expect(await ownCalls()).toEqual([]);
    expect(await stored(page)).toEqual(NOTHING);
    expect(pages.requests.map(({ url }) => url.split('?')[0])).toEqual(['/page', '/collector.js']);

    await page.evaluate(() => window.gatehouse.start({ storage: 'on' }));
    expect(decodeToken(await tokenOf(page)).body['did']).toMatch(/^[0-9a-f]{32}$/);
    expect(new Set(await ownCalls())).toContain('addEventListener');
  });

  test('A form that is sent before start is sent at once, without a token', async () => {
    const page = await openPage(context, pages, { 'data-consent': 'wait', form: '1' });
    await page.click('button');
    await page.waitForURL('**/send');
    expect(pages.requests.find(({ url }) => url === '/send')?.body).toBe('name=&password=&go=now');
  });
});

describe('requests', () => {
  test('A page that nobody uses sends nothing, and a used one asks its own server for one grant', async () => {
    const page = await openPage(context, pages, { ...WITH_KEY, form: '1' });
    const hosts = new Set<string>();
    page.on('request', (request) => hosts.add(new URL(request.url()).host));
    await page.waitForTimeout(2_500);
    expect(pages.requests.map(({ url }) => url.split('?')[0])).toEqual(['/page', '/collector.js']);
    await use(page);
    const sent = pages.requests.slice(2);
    expect(sent.map(({ method, url }) => `${method} ${url}`)).toEqual(['POST /v1/collector/grant']);
    expect(sent[0]?.body).toBe('');
    expect(sent[0]?.headers).not.toHaveProperty('cookie');
    expect(sent[0]?.headers).not.toHaveProperty('referer');
    expect([...hosts]).toEqual([new URL(pages.origin).host]);
  });

  test('Without a key nothing is ever sent', async () => {
    const page = await openPage(context, pages, { form: '1' });
    await use(page);
    expect(pages.requests.map(({ url }) => url.split('?')[0])).toEqual(['/page', '/collector.js']);
  });
});

describe('what is typed', () => {
  test('Neither keys nor positions nor typed or pasted text are read from events and fields', async () => {
    await context.addInitScript(() => {
      const reads: string[] = [];
      Object.assign(window, { reads });
      const spy = (holder: object, names: readonly string[]): void => {
        for (const name of names) {
          const own = Object.getOwnPropertyDescriptor(holder, name);
          if (own?.get === undefined) throw new Error(`no getter ${name}`);
          const get = Reflect.get(own, 'get') as () => unknown;
          Object.defineProperty(holder, name, {
            ...own,
            get(this: object) {
              reads.push(name);
              return get.call(this);
            },
          });
        }
      };
      spy(KeyboardEvent.prototype, [
        'key',
        'code',
        'keyCode',
        'charCode',
        'location',
        'shiftKey',
        'ctrlKey',
        'altKey',
        'metaKey',
      ]);
      spy(UIEvent.prototype, ['which', 'detail']);
      spy(MouseEvent.prototype, [
        'clientX',
        'clientY',
        'pageX',
        'pageY',
        'screenX',
        'screenY',
        'offsetX',
        'offsetY',
        'x',
        'y',
      ]);
      spy(InputEvent.prototype, ['data', 'inputType', 'dataTransfer']);
      spy(ClipboardEvent.prototype, ['clipboardData']);
      spy(HTMLInputElement.prototype, ['value', 'selectionStart']);
    });
    const page = await openPage(context, pages, { form: '1' });
    await page.locator('[name=password]').pressSequentially('hunter2', { delay: 5 });
    await page.evaluate(() => {
      document.querySelector('[name=password]')?.dispatchEvent(new ClipboardEvent('paste', { bubbles: true }));
    });
    await page.mouse.move(200, 200, { steps: 8 });
    await page.mouse.down();
    await page.mouse.up();
    const { body } = decodeToken(await tokenOf(page));
    expect(body.sig['beat']).toMatchObject({ keys: 7, pastes: 1, focus: 1 });
    const reads = await page.evaluate(() => (window as unknown as { reads: string[] }).reads);
    expect(reads).toEqual([]);
  });

  test('The source has no name of a property that holds a key, a position or a text', () => {
    const folder = fileURLToPath(new URL('../../src/web/collector/', import.meta.url));
    const files = readdirSync(folder).filter((name) => name.endsWith('.ts'));
    expect(files.length).toBeGreaterThan(10);
    const forbidden =
      /\b(?:(?:event|e|ev)\.(?:key|code|data)|keyCode|charCode(?!At)|keyIdentifier|which|client[XY]|page[XY]|screen[XY]|offset[XY]|layer[XY]|clipboardData|dataTransfer|inputType|innerHTML|insertAdjacentHTML|eval|pushState|replaceState|XMLHttpRequest|sendBeacon|cookie)\b|\{[^}\n]*\b(?:key|code|x|y)\b[^}\n]*\}\) =>/;
    const found = files.flatMap((name) =>
      readFileSync(folder + name, 'utf8')
        .replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
        .split('\n')
        .flatMap((line) => (forbidden.test(line) ? [`${name}: ${line.trim()}`] : [])),
    );
    expect(found).toEqual([]);
    // The expression finds what it is meant to find.
    const lines = ['event.key', '({ key }) => key', 'e.clientX', 'event.code'];
    expect(lines.filter((line) => !forbidden.test(line))).toEqual([]);
  });
});
