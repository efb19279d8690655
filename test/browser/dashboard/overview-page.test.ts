import type { Locator } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import {
  expectAccessible,
  expectClean,
  expectReadable,
  type Harness,
  type Override,
  problemBody,
  sharedHarness,
} from '../support/dashboard-harness.ts';
import { makeCalm, makeFlagged } from '../support/dashboard-rows.ts';

const isStats: Override = (path) =>
  path === '/v1/stats' ? problemBody(500, 'internal_error', 'Something failed') : null;

describe('The overview of a new customer', () => {
  test('is a quick start whose steps tick themselves', async () => {
    const harness = await sharedHarness();
    const { url, secretKey } = harness.api;
    const page = await harness.open('/dashboard');
    await page.getByText('0 of 4 done').waitFor();
    await page.getByText(secretKey.slice(0, 12)).first().waitFor();
    await expectReadable(page);
    await makeCalm(harness.api);
    await page.getByText('1 of 4 done').waitFor();
    const entry = { fingerprint_hash: 'a'.repeat(64), action: 'watch' };
    expect((await bearer(url, secretKey, 'POST', '/v1/lists', entry)).status).toBe(201);
    await page.getByText('2 of 4 done').waitFor();
    await page.getByRole('button', { name: 'Show the overview' }).click();
    await page.getByRole('region', { name: 'Newest flagged' }).waitFor();
    expectClean(page);
  });
});

describe('The overview', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await sharedHarness();
    for (let n = 0; n < 12; n++) await makeCalm(harness.api);
    const { request_id: id, decision } = await makeFlagged(harness.api);
    if (decision === 'ALLOW') throw new Error('the headless browser was not flagged');
    const label = { request_id: id, label: 'legitimate' };
    await bearer(harness.api.url, harness.api.secretKey, 'POST', '/v1/labels', label);
  });

  test('has the health of the service, counts, and the newest flagged decisions', async () => {
    const page = await harness.open('/dashboard');
    await page.getByText('13 decisions').waitFor();
    // A server of the tests has no model and no policy file.
    await page.getByText('Everything that is set up works').waitFor();
    await page.getByText(/^Not set up: .*model/).waitFor();
    const flagged = page.getByRole('table', { name: 'Newest flagged decisions' });
    await flagged.getByText('Headless browser').first().waitFor();
    expect(await flagged.getByText('Headless browser').first().getAttribute('title')).toBe('device_headless');
    await page.getByRole('table', { name: 'Addresses with most identities' }).waitFor();
    expectClean(page);
  });

  test('counts a flagged decision that was labelled legitimate as a false alarm, with a link to it', async () => {
    const page = await harness.open('/dashboard');
    const tile = page.locator('.tile', { hasText: 'False alarms' });
    await tile.getByText('of 1 labels').waitFor();
    await tile.getByRole('link', { name: 'newest' }).click();
    await page.getByText('labelled legitimate').waitFor();
    expectClean(page);
  });

  test('counts as many open decisions as the page of reviews', async () => {
    const rows = Array.from({ length: 283 }, (_, n) => ({
      request_id: `req_${String(n).padStart(26, '0')}`,
      decision: 'REVIEW',
      score: 70,
      reasons: [],
      why: 'review',
      occurred_at: 1_795_262_400,
      verdict: null,
      assignee: null,
      note: null,
      closed_at: null,
    }));
    const override: Override = (path, query) => {
      if (path !== '/v1/shadow-reviews') return null;
      const data = rows.slice(0, Number(query.get('limit')));
      return { body: { data, has_more: data.length < rows.length, next_cursor: null } };
    };
    const page = await harness.open('/dashboard', { override });
    const tile = page.locator('.tile', { hasText: 'To review' });
    await tile.getByText('283', { exact: true }).waitFor();
    await tile.getByRole('link').click();
    await page.getByText('1 of 283').waitFor();
    expectClean(page);
  });

  test('says how old its numbers are when the service stops answering, and shows them again by itself', async () => {
    let isBroken = false;
    const override: Override = (...call) => (isBroken ? isStats(...call) : null);
    const page = await harness.open('/dashboard', { override });
    await page.getByText('13 decisions').waitFor();
    isBroken = true;
    await page.keyboard.press('.');
    await page.keyboard.press('.');
    await page.getByText(/As of \d\d:\d\d:\d\d, retrying in \d+ s/).waitFor();
    isBroken = false;
    await page.getByText(/As of/).waitFor({ state: 'detached', timeout: 30_000 });
    expectClean(page);
  });

  test('names a broken layer and what it means', async () => {
    const layer = { state: 'broken', version: null, detail: 'cannot be read' };
    const body = { status: 'degraded', version: '1', node: '20', layers: { model: layer } };
    const override: Override = (path) => (path === '/readyz' ? { body } : null);
    const page = await harness.open('/dashboard', { override });
    await page.getByText('Works, with less evidence').waitFor();
    await page.getByText('the rules decide alone').waitFor();
    await expectAccessible(page);
  });

  test('moves a cursor on its chart by arrow keys, reads the values, and has a table', async () => {
    const page = await harness.open('/dashboard');
    await page.getByText('13 decisions').waitFor();
    const cursor = page.getByRole('slider', { name: 'Cursor on Decisions over time' });
    await cursor.focus();
    await page.keyboard.press('End');
    await page.keyboard.press('ArrowLeft');
    expect(await cursor.getAttribute('aria-valuetext')).toMatch(/Allow \d+, Watch \d+/);
    await page.getByRole('button', { name: 'Table' }).first().click();
    await page.getByRole('table', { name: 'Decisions over time' }).getByRole('cell', { name: '12' }).first().waitFor();
    await expectAccessible(page);
  });

  test('draws the newest column of its chart, where all decisions of a first day are', async () => {
    const page = await harness.open('/dashboard?range=24h');
    await page.getByText('13 decisions').waitFor();
    const chart = page.getByRole('figure', { name: 'Decisions over time' });
    await expect
      .poll(() => colouredShare(chart), { message: 'coloured pixels of the last column' })
      .toBeGreaterThan(0.3);
    // The newest period is under the cursor at the right end, and not the one after it.
    const box = await chart.locator('.u-over').boundingBox();
    if (box === null) throw new Error('the chart is not drawn');
    await page.mouse.move(box.x + box.width - 2, box.y + box.height / 2);
    await expect.poll(() => page.getByRole('slider').getAttribute('aria-valuetext')).toMatch(/Allow 12/);
    expectClean(page);
  });

  test('keeps the range of time in the URL, and passes it on to links', async () => {
    const page = await harness.open('/dashboard');
    await page.getByText('13 decisions').waitFor();
    await page.getByLabel('Range of time').selectOption('7d');
    await expect.poll(() => new URL(page.url()).search).toBe('?range=7d');
    await page.getByRole('link', { name: 'All decisions' }).click();
    await page.getByRole('heading', { level: 1, name: 'Decisions' }).waitFor();
    expect(new URL(page.url()).searchParams.get('range')).toBe('7d');
  });
});

/** Returns the share of coloured pixels in the last of 97 parts of a chart's width, which is at most its last column. */
async function colouredShare(chart: Locator): Promise<number> {
  return chart.locator('.plot').evaluate((plot) => {
    const canvas = plot.querySelector('canvas');
    const over = plot.querySelector('.u-over')?.getBoundingClientRect();
    const context = canvas?.getContext('2d');
    if (canvas === null || over === undefined || !context) return 0;
    const frame = canvas.getBoundingClientRect();
    const scale = canvas.width / frame.width;
    const width = Math.max(1, Math.floor((over.width / 97) * scale));
    const left = Math.floor((over.right - frame.left) * scale) - width;
    const top = Math.floor((over.top - frame.top) * scale);
    const { data } = context.getImageData(left, top, width, Math.floor(over.height * scale));
    let coloured = 0;
    for (let at = 0; at < data.length; at += 4) {
      const [red = 0, green = 0, blue = 0] = data.subarray(at, at + 3);
      if (Math.max(red, green, blue) - Math.min(red, green, blue) > 60) coloured++;
    }
    return coloured / (data.length / 4);
  });
}
