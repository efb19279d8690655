import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  expectAccessible,
  expectClean,
  expectNoSideScroll,
  type Harness,
  HOSTILE,
  type Override,
  problemBody,
  startHarness,
} from '../support/dashboard-harness.ts';
import { hostileCopy, makeCalm, makeFlagged, type MadeDecision } from '../support/dashboard-rows.ts';

const CALM = 8;

describe('The page of decisions', () => {
  let harness: Harness;
  let flagged: MadeDecision;
  let raw: { readonly data: readonly unknown[] };

  beforeAll(async () => {
    harness = await startHarness();
    for (let n = 0; n < CALM; n++) await makeCalm(harness.api);
    flagged = await makeFlagged(harness.api);
    const headers = { Authorization: `Bearer ${harness.api.secretKey}` };
    raw = (await (await fetch(`${harness.api.url}/v1/decisions`, { headers })).json()) as typeof raw;
  });
  afterAll(() => harness.stop());

  test.each([
    ['light', 1_280],
    ['dark', 1_280],
    ['light', 320],
    ['dark', 320],
  ] as const)('is complete, accessible and without side scroll in the %s theme at %i pixels', async (theme, width) => {
    const page = await harness.open(`/dashboard/decisions?open=${flagged.request_id}`, { theme, width });
    await page.getByText('9 loaded').waitFor();
    await page.getByRole('complementary').getByText('Without this:').first().waitFor();
    await expectNoSideScroll(page);
    await expectAccessible(page);
    expectClean(page);
  });

  test('says at its end how long decisions are kept', async () => {
    const page = await harness.open('/dashboard/decisions');
    await page.getByText('All 9 rows. Allow decisions are kept for 24 h').waitFor();
    expectClean(page);
  });

  test('filters by a search whose chips take one filter away each', async () => {
    const page = await harness.open('/dashboard/decisions');
    await page.getByText('9 loaded').waitFor();
    await page.keyboard.press('f');
    await page.keyboard.type('reason:device_headless email:anna@example.com score>10');
    await page.keyboard.press('Enter');
    await page.getByText('1 loaded').waitFor();
    expect(new URL(page.url()).searchParams.get('q')).toBe('reason:device_headless email:anna@example.com score>10');
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Remove the filter email anna@example.com' }).click();
    await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe('reason:device_headless score>10');
    await page.goBack();
    await page.getByRole('link', { name: /Remove the filter email/ }).waitFor();
  });

  test('is empty with advice when nothing matches', async () => {
    const page = await harness.open('/dashboard/decisions?q=email:nobody@example.com');
    await page.getByText('No decision matches').waitFor();
    await page.getByText('Remove a filter').waitFor();
    await expectAccessible(page);
  });

  test('explains what cannot be searched for', async () => {
    const page = await harness.open('/dashboard/decisions?q=fp:abc');
    await page.getByRole('alert').getByText('64 hex digits').waitFor();
    expectClean(page);
  });

  test('says how many rows were searched when a search had to stop, and continues it', async () => {
    let calls = 0;
    const override: Override = (path, query) => {
      if (path !== '/v1/decisions') return null;
      if (query.get('after') !== null) return { body: { data: [], has_more: false, next_cursor: null } };
      calls++;
      const isFirst = query.get('cursor') === null;
      return {
        body: { data: isFirst ? raw.data.slice(0, 3) : [], has_more: isFirst, next_cursor: isFirst ? 'x' : null },
      };
    };
    const page = await harness.open('/dashboard/decisions', { override });
    await page.getByText('100,000 rows searched, 3 found: narrow the range or continue.').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('All 3 rows.').waitFor();
    expect(calls).toBeGreaterThan(1);
  });

  test('shows an error with its code, a skeleton while it loads, and the age of its rows when the service stops', async () => {
    let state: 'slow' | 'broken' | 'well' = 'slow';
    const override: Override = (path) => {
      if (path !== '/v1/decisions' || state === 'well') return null;
      if (state === 'slow') return { ...problemBody(500, 'internal_error', 'Something failed'), delayMs: 1_500 };
      return problemBody(503, 'unavailable', 'Not now');
    };
    const page = await harness.open('/dashboard/decisions', { override });
    await page.locator('.skeleton-rows.skeleton-shown').waitFor({ timeout: 1_400 });
    await page.getByRole('alert').getByText('internal_error').waitFor();
    state = 'well';
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByText('9 loaded').waitFor();
    state = 'broken';
    await page.getByText(/As of \d\d:\d\d:\d\d, retrying in \d+ s \(Not now: unavailable\)/).waitFor();
    await page.getByText('9 loaded').waitFor();
    expectClean(page);
  });

  test('adds new decisions by itself, and not when live is off', async () => {
    const page = await harness.open('/dashboard/decisions?q=event:payment');
    await page.getByText('No decision matches').waitFor();
    await makeFlagged(harness.api, { event_type: 'payment' });
    await page.getByText('1 loaded').waitFor();
    await page.keyboard.press('.');
    await makeFlagged(harness.api, { event_type: 'payment' });
    await page.waitForTimeout(3_000);
    await page.getByText('1 loaded').waitFor();
    await page.getByRole('switch', { name: 'Live' }).click();
    await page.getByText('2 loaded').waitFor();
    expectClean(page);
  });

  test('is walked by keys alone: rows, pane, back', async () => {
    const page = await harness.open('/dashboard/decisions?q=event:search');
    await page.getByText(`${CALM} loaded`).waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    const second = await page.evaluate(() => (document.activeElement as HTMLElement).dataset['row']);
    await page.keyboard.press('Enter');
    await page
      .getByRole('complementary')
      .getByText(second ?? 'none')
      .waitFor();
    await page.keyboard.press('k');
    await expect.poll(() => new URL(page.url()).searchParams.get('open')).not.toBe(second);
    await page.keyboard.press('Escape');
    await page.getByRole('complementary').waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.get('open')).toBeNull();
  });

  test('shows hostile text in every field as text', async () => {
    const override: Override = (path) =>
      path.startsWith('/v1/')
        ? { body: hostileCopy(path === '/v1/decisions' ? raw : { data: [], points: [], rules: [] }) }
        : null;
    const page = await harness.open(`/dashboard/decisions?q=${encodeURIComponent(`event:"${HOSTILE.slice(0, 60)}"`)}`, {
      override,
    });
    await page.getByText('9 loaded').waitFor();
    expect(await page.locator('img, main script').count()).toBe(0);
    expect(await page.locator('main a[href^="javascript"]').count()).toBe(0);
    await page.getByText('⟨U+202E⟩').first().waitFor();
    await expectNoSideScroll(page);
    expectClean(page);
  });

  test('exports what is filtered as CSV and NDJSON', async () => {
    const page = await harness.open('/dashboard/decisions?q=reason:device_headless+event:login');
    await page.getByText('1 loaded').waitFor();
    for (const form of ['CSV', 'NDJSON']) {
      const download = page.waitForEvent('download');
      await page.getByRole('button', { name: form, exact: true }).click();
      const file = await (await download).path();
      const text = await readFile(file, 'utf8');
      expect(text.trim().split('\n')).toHaveLength(form === 'CSV' ? 2 : 1);
      expect(text).toContain(flagged.request_id);
    }
    expectClean(page);
  });
});
