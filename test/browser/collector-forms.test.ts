import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { sharedShell, startChromium } from './support/chromium.ts';
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
  Object.assign(pages, { grantBehaviour: 'issue' });
  pages.requests.length = 0;
});
afterEach(() => context.close());

async function sentForm(page: Page): Promise<URLSearchParams> {
  await page.waitForURL('**/send');
  return new URLSearchParams(pages.requests.find(({ url }) => url === '/send')?.body);
}

describe('forms with data-gatehouse', () => {
  test('A form is sent with a token in a hidden field and with the button that was pressed', async () => {
    const page = await openPage(context, pages, { ...WITH_KEY, form: '1' });
    await page.locator('[name=name]').pressSequentially('anna');
    await tokenOf(page);
    await page.click('button');
    const sent = await sentForm(page);
    expect(decodeToken(sent.get('session_token') ?? '')).toMatchObject({ kind: 'st2', body: { seq: 2 } });
    expect([sent.get('name'), sent.get('go')]).toEqual(['anna', 'now']);
    expect(sent.has('session_token_reason')).toBe(false);
  });

  test('A form that is sent before the first token is ready waits, is sent once, and keeps its button', async () => {
    const page = await openPage(context, pages, { ...WITH_KEY, 'data-consent': 'wait', form: '1' });
    const events = await page.evaluate(() => {
      const seen = { submits: 0 };
      Object.assign(window, { seen });
      document.addEventListener('submit', () => seen.submits++);
      window.gatehouse.start({ publicKey: 'pk_live_test00000000000000000000000000' });
      const button = document.querySelector('button');
      button?.click();
      button?.click();
      return seen.submits;
    });
    expect(events).toBe(0);
    const sent = await sentForm(page);
    expect(decodeToken(sent.get('session_token') ?? '').kind).toBe('st2');
    expect(sent.get('go')).toBe('now');
    expect(pages.requests.filter(({ url }) => url === '/send')).toHaveLength(1);
  });

  test('A form waits for at most 800 ms and is then sent with what there is', async () => {
    pages.grantBehaviour = 'silent';
    const page = await openPage(context, pages, { ...WITH_KEY, form: '1' });
    const waitedMs = await page.evaluate(async () => {
      const began = performance.now();
      const form = document.querySelector('form');
      const gone = new Promise<number>((resolve) => {
        form?.addEventListener('submit', (event) => {
          event.preventDefault();
          resolve(performance.now() - began);
        });
      });
      document.querySelector('button')?.click();
      return gone;
    });
    expect(waitedMs).toBeGreaterThan(700);
    expect(waitedMs).toBeLessThan(1_600);
    const token = await page.evaluate(() => document.querySelector<HTMLInputElement>('[name=session_token]')?.value);
    expect(decodeToken(token ?? '').kind).toBe('st1');
  });

  test('A form is sent at once if the server has refused a grant before', async () => {
    pages.grantBehaviour = 'refuse';
    const page = await openPage(context, pages, { ...WITH_KEY, form: '1' });
    expect(decodeToken(await tokenOf(page)).kind).toBe('st1');
    await page.click('button');
    const sent = await sentForm(page);
    expect(decodeToken(sent.get('session_token') ?? '').kind).toBe('st1');
    expect(sent.get('go')).toBe('now');
  });

  test('If no token can be made the form is sent with an empty one and the reason', async () => {
    await context.addInitScript(() => {
      Object.defineProperty(window, 'btoa', {
        value: () => {
          throw new Error('broken by another script');
        },
      });
    });
    const page = await openPage(context, pages, { form: '1' });
    await page.waitForTimeout(300);
    await page.click('button');
    const sent = await sentForm(page);
    expect([sent.get('session_token'), sent.get('session_token_reason')]).toEqual(['', 'collector_failed']);
  });

  test('form.submit() and new FormData(form) get a token each, without a submit event', async () => {
    const page = await openPage(context, pages, { ...WITH_KEY, form: '1' });
    await tokenOf(page);
    const [first, second] = await page.evaluate(() => {
      const form = document.querySelector('form') ?? undefined;
      const read = (): string => new FormData(form).get('session_token') as string;
      return [read(), read()] as const;
    });
    await page.evaluate(() => document.querySelector('form')?.submit());
    const third = (await sentForm(page)).get('session_token') ?? '';
    const numbers = [first, second, third].map((token) => decodeToken(token).body['seq']);
    expect(numbers).toEqual([2, 3, 4]);
  });

  test("A page's own submit handler that sends the form by script finds the token, a new one each time", async () => {
    const page = await openPage(context, pages, { ...WITH_KEY, form: '1' });
    await tokenOf(page);
    const tokens = await page.evaluate(() => {
      const read: string[] = [];
      const form = document.querySelector('form');
      form?.addEventListener('submit', (event) => {
        event.preventDefault();
        read.push(new FormData(form).get('session_token') as string);
      });
      document.querySelector('button')?.click();
      document.querySelector('button')?.click();
      return read;
    });
    expect(tokens.map((token) => decodeToken(token).body['seq'])).toEqual([2, 3]);
  });

  test('The attribute names the field, and other forms are left alone', async () => {
    const page = await openPage(context, pages, { form: '1' });
    await tokenOf(page);
    const [renamed, other] = await page.evaluate(() => {
      const form = document.querySelector('form');
      form?.setAttribute('data-gatehouse', 'risk_token');
      const names = [...new FormData(form ?? undefined).keys()];
      form?.removeAttribute('data-gatehouse');
      form?.querySelector('[name=risk_token]')?.remove();
      return [names, [...new FormData(form ?? undefined).keys()]];
    });
    expect(renamed).toEqual(['name', 'password', 'risk_token']);
    expect(other).toEqual(['name', 'password']);
  });
});

describe('pages', () => {
  const beat = async (page: Page): Promise<Record<string, number>> =>
    decodeToken(await tokenOf(page)).body.sig['beat'] as Record<string, number>;

  test('Another path of a single-page application begins a new page; another query does not', async () => {
    const page = await openPage(context, pages, { form: '1' });
    await page.locator('[name=name]').pressSequentially('anna');
    const before = decodeToken(await tokenOf(page)).body;
    await page.evaluate(() => history.pushState({}, '', '?form=1&step=2'));
    expect(await beat(page)).toMatchObject({ keys: 4 });
    await page.evaluate(() => history.pushState({}, '', '/checkout'));
    const after = decodeToken(await tokenOf(page)).body;
    expect(after.sig['beat']).toMatchObject({ keys: 0, focus: 0, first: -1 });
    expect(after.sig['age_ms']).toBeLessThan(Number(before.sig['age_ms']));
    expect(after['sid']).toBe(before['sid']);
    const isPatched = await page.evaluate(() => !String(Reflect.get(history, 'pushState')).includes('[native code]'));
    expect(isPatched).toBe(false);
  });

  test.each([
    ['off', false],
    ['session', true],
  ])(
    'A page from the back-forward cache begins again; with storage %s its session id stays: %s',
    async (storage, stays) => {
      // Playwright switches the cache off, so this browser is started with it.
      const cached = await startChromium(['--enable-features=BackForwardCache'], ['--disable-back-forward-cache']);
      try {
        const page = await openPage(await cached.newContext(), pages, { form: '1', 'data-storage': storage });
        await page.locator('[name=name]').pressSequentially('anna');
        const before = decodeToken(await tokenOf(page)).body;
        await page.evaluate(() => {
          // The tool that drives the browser loses a page that comes back from the cache, so the page reports by itself.
          addEventListener('pageshow', ({ persisted }) => {
            if (persisted)
              void window.gatehouse.token().then((token) => fetch('/report', { method: 'POST', body: token }));
          });
        });
        await page.click('a');
        await page.waitForURL('**/bare');
        await page.evaluate(() => void setTimeout(() => history.back()));
        const report = (): string | undefined => pages.requests.find(({ url }) => url === '/report')?.body;
        await expect.poll(report).toBeDefined();
        const after = decodeToken(report() ?? '').body;
        expect(after.sig['beat']).toMatchObject({ keys: 0 });
        expect(after['sid'] === before['sid']).toBe(stays);
        expect(after['fp']).toBe(before['fp']);
      } finally {
        await cached.close();
      }
    },
  );
});
