import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import {
  expectAccessible,
  expectClean,
  expectNoSideScroll,
  expectReadable,
  HOSTILE,
  type Harness,
  type Override,
  sharedHarness,
} from '../support/dashboard-harness.ts';
import { hostileCopy, makeCalm, makeFlagged, type MadeDecision } from '../support/dashboard-rows.ts';

const CALM = 8;

describe('The page of decisions', () => {
  let harness: Harness;
  let flagged: MadeDecision;
  let raw: { readonly data: readonly unknown[] };

  beforeAll(async () => {
    harness = await sharedHarness();
    for (let n = 0; n < CALM; n++) await makeCalm(harness.api);
    flagged = await makeFlagged(harness.api);
    const headers = { Authorization: `Bearer ${harness.api.secretKey}` };
    raw = (await (await fetch(`${harness.api.url}/v1/decisions`, { headers })).json()) as typeof raw;
  });

  test('shows the open decision beside the list', async () => {
    const page = await harness.open(`/dashboard/decisions?open=${flagged.request_id}`);
    await page.getByText('9 loaded').waitFor();
    await page.getByRole('complementary').getByText('Without this:').first().waitFor();
    await expectReadable(page);
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
    expectClean(page);
  });

  test('explains what cannot be searched for', async () => {
    const page = await harness.open('/dashboard/decisions?q=fp:abc');
    await page.getByRole('alert').getByText('64 hex digits').waitFor();
    expectClean(page);
  });

  test('shows a part of the cards on a phone, and more on request; each with the title of its first reason', async () => {
    const { json } = await bearer(
      harness.api.url,
      harness.api.secretKey,
      'GET',
      '/v1/decisions?decision=SOFT_CHALLENGE',
    );
    const [row] = json['data'] as readonly object[];
    const data = Array.from({ length: 60 }, (_, n) => ({ ...row, request_id: `req_${String(n).padStart(26, '0')}` }));
    const page = await harness.open('/dashboard/decisions', {
      width: 390,
      override: (path) => (path === '/v1/decisions' ? { body: { data, has_more: false, next_cursor: null } } : null),
    });
    const cards = page.locator('[data-row]');
    await expect.poll(() => cards.count()).toBe(20);
    await page.getByText('Headless browser').first().waitFor();
    const filter = await page.getByLabel('Filter decisions').boundingBox();
    expect(filter?.y).toBeLessThan((await cards.first().boundingBox())?.y ?? 0);
    await page.getByRole('button', { name: 'Show more rows' }).click();
    await expect.poll(() => cards.count()).toBe(40);
    await page.setViewportSize({ width: 1_280, height: 800 });
    await expect.poll(() => cards.count()).toBe(60);
  });

  test('adds new decisions by itself, and not when live is off', async () => {
    const page = await harness.open('/dashboard/decisions?q=event:payment');
    await page.getByText('No decision matches').waitFor();
    await makeFlagged(harness.api, { event_type: 'payment' });
    await page.getByText('1 loaded').waitFor();
    await page.keyboard.press('.');
    await makeFlagged(harness.api, { event_type: 'payment' });
    // Longer than the time between two polls.
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
