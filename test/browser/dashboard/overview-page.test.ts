import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import {
  expectAccessible,
  expectClean,
  expectNoSideScroll,
  type Harness,
  type Override,
  problemBody,
  startHarness,
} from '../support/dashboard-harness.ts';
import { makeCalm, makeFlagged } from '../support/dashboard-rows.ts';

const isStats: Override = (path) =>
  path === '/v1/stats' ? problemBody(500, 'internal_error', 'Something failed') : null;

describe('The overview of a new customer', () => {
  test('is a quick start whose steps tick themselves', async () => {
    const harness = await startHarness();
    try {
      const page = await harness.open('/dashboard');
      await page.getByText('0 of 4 done').waitFor();
      await page.getByText(harness.api.secretKey.slice(0, 12)).first().waitFor();
      await expectAccessible(page);
      const { url, secretKey } = harness.api;
      await makeCalm(harness.api);
      await page.getByText('1 of 4 done').waitFor();
      const entry = { fingerprint_hash: 'a'.repeat(64), action: 'watch' };
      expect((await bearer(url, secretKey, 'POST', '/v1/lists', entry)).status).toBe(201);
      await page.getByText('2 of 4 done').waitFor();
      await page.getByRole('button', { name: 'Show the overview' }).click();
      await page.getByRole('region', { name: 'Newest flagged' }).waitFor();
      await expectNoSideScroll(page);
      expectClean(page);
    } finally {
      await harness.stop();
    }
  });
});

describe('The overview', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness();
    for (let n = 0; n < 12; n++) await makeCalm(harness.api);
    const { request_id: id, decision } = await makeFlagged(harness.api);
    if (decision === 'ALLOW') throw new Error('the headless browser was not flagged');
    const label = { request_id: id, label: 'legitimate' };
    await bearer(harness.api.url, harness.api.secretKey, 'POST', '/v1/labels', label);
  });
  afterAll(() => harness.stop());

  test.each([
    ['light', 1_280],
    ['dark', 1_280],
    ['light', 320],
    ['dark', 320],
  ] as const)('is complete, accessible and without side scroll in the %s theme at %i pixels', async (theme, width) => {
    const page = await harness.open('/dashboard', { theme, width });
    await page.getByText('13 decisions').waitFor();
    await page.getByText('Everything works').waitFor();
    await page
      .getByRole('table', { name: 'Newest flagged decisions' })
      .getByText('device headless')
      .or(page.getByText('device_headless'))
      .first()
      .waitFor();
    await page.getByRole('table', { name: 'Addresses with most identities' }).waitFor();
    await expectNoSideScroll(page);
    await expectAccessible(page);
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

  test('says how old its numbers are when the service stops answering, and shows them again by itself', async () => {
    let isBroken = false;
    const override: Override = (...call) => (isBroken ? isStats(...call) : null);
    const page = await harness.open('/dashboard', { override });
    await page.getByText('13 decisions').waitFor();
    isBroken = true;
    await page.getByText(/As of \d\d:\d\d:\d\d, retrying in \d+ s/).waitFor({ timeout: 20_000 });
    await page.getByText('13 decisions').waitFor();
    await expectAccessible(page);
    isBroken = false;
    await page.getByText(/As of/).waitFor({ state: 'detached', timeout: 30_000 });
  });

  test('shows the code and the request id of an error, and loads again on request', async () => {
    let isBroken = true;
    const override: Override = (...call) => (isBroken ? isStats(...call) : null);
    const page = await harness.open('/dashboard', { override });
    const alert = page.getByRole('alert').filter({ hasText: 'Something failed' });
    await alert.getByText('internal_error').waitFor();
    await alert.getByText('req_OFTHETEST').waitFor();
    await expectAccessible(page);
    isBroken = false;
    await alert.getByRole('button', { name: 'Retry' }).click();
    await page.getByText('13 decisions').waitFor();
  });

  test('shows the size of what is loading after 150 ms, not at once', async () => {
    const override: Override = (path) => (path === '/v1/stats' ? { body: {}, delayMs: 3_000, status: 500 } : null);
    const page = await harness.open('/dashboard', { override });
    await page.locator('.skeleton-tiles.skeleton-shown').waitFor({ timeout: 2_500 });
    await expectAccessible(page);
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
