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
    await page.getByText('Everything works').waitFor();
    await page.getByRole('table', { name: 'Newest flagged decisions' }).getByText('device_headless').first().waitFor();
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
