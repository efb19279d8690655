import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  expectAccessible,
  expectClean,
  expectNoSideScroll,
  expectReadable,
  type Harness,
  startHarness,
} from '../support/dashboard-harness.ts';

describe('The shell of the dashboard', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness();
  });
  afterAll(() => harness.stop());

  test('asks for a key, refuses a wrong one and a public one, and returns to the path after the right one', async () => {
    const page = await harness.open('/dashboard/audit?x=1', { isSignedIn: false });
    await page.getByLabel('Secret key').fill('sk_live_wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('No such key').waitFor();
    await page.getByLabel('Secret key').fill('pk_live_abc');
    await page.getByText('This is a public key').waitFor();
    await expectAccessible(page);
    await page.getByLabel('Secret key').fill(harness.api.secretKey);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Audit log' }).waitFor();
    expect(new URL(page.url()).search).toBe('?x=1');
    expectClean(page);
  });

  test('signs in by the link of the first start, whose code leaves the URL at once and works once', async () => {
    const code = /\/dashboard(#code=[\w-]+)/.exec(harness.api.stderr())?.[1] ?? 'none';
    const page = await harness.open(`/dashboard/audit${code}`, { isSignedIn: false });
    await page.getByRole('heading', { level: 1, name: 'Audit log' }).waitFor();
    expect(page.url()).not.toContain('code');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    const again = await harness.open(`/dashboard/audit${code}`, { isSignedIn: false });
    await again.getByText('This link was used already').waitFor();
    expectClean(again);
    // A link that is opened in a tab with the sign-in page changes the hash only.
    const sent = again.waitForRequest((request) => request.url().endsWith('/dashboard/session'));
    await again.evaluate(() => (location.hash = '#code=another'));
    expect((await sent).postDataJSON()).toEqual({ code: 'another' });
    expect(again.url()).not.toContain('code');
  });

  test('is readable on a path without a page, and with the table of keys', async () => {
    const page = await harness.open('/dashboard/nowhere');
    await page.getByText('There is no such page').waitFor();
    await expectReadable(page);
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await expectReadable(page);
    expectClean(page);
  });

  test('fits 320 pixels, with all pages behind "More"', async () => {
    const page = await harness.open('/dashboard/nowhere', { width: 320, height: 640 });
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('link', { name: 'Audit log' }).waitFor();
    await expectNoSideScroll(page);
    await expectAccessible(page);
  });

  test('goes to pages by two keys, not while somebody types, and not when keys are off', async () => {
    const page = await harness.open('/dashboard/nowhere');
    await page.getByText('There is no such page').waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('a');
    await page.getByRole('heading', { level: 1, name: 'Audit log' }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('gl');
    expect(await page.getByRole('searchbox').inputValue()).toBe('gl');
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await page.getByRole('switch', { name: 'Use single keys' }).click();
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    await page.keyboard.press('k');
    expect(new URL(page.url()).pathname).toBe('/dashboard/audit');
  });

  test('keeps the theme in a cookie, so that the server can set it before anything is drawn', async () => {
    const page = await harness.open('/dashboard/nowhere');
    await page.getByRole('button', { name: /^Theme/ }).click();
    await page.getByRole('button', { name: /^Theme: light/ }).click();
    expect(await page.evaluate(() => document.documentElement.dataset['theme'])).toBe('dark');
    await page.reload();
    await page.getByRole('button', { name: /^Theme: dark/ }).waitFor();
    expectClean(page);
  });

  test.each(['/dashboard/nothing', '/dashboard/decisions/%zz', '/dashboard/links/ip/%'])(
    'says that there is no page %s',
    async (path) => {
      const page = await harness.open(path);
      await page.getByText('There is no such page').waitFor();
      await page.getByRole('link', { name: 'Go to the overview' }).click();
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
      expectClean(page);
    },
  );

  test('skips to the content as the first step of Tab', async () => {
    const page = await harness.open('/dashboard/nowhere');
    await page.getByText('There is no such page').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('main');
  });
});
