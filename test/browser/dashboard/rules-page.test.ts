import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer } from '../../support/manage.ts';
import {
  expectAccessible,
  expectClean,
  expectNoSideScroll,
  expectReadable,
  type Harness,
  startHarness,
} from '../support/dashboard-harness.ts';
import { hostileCopy } from '../support/dashboard-rows.ts';
import { seedTraffic } from '../support/seed-traffic.ts';

const POLICY = {
  weights: { ip_hosting: 0.2 },
  event_types: { login: { bands: { review: 65 } } },
  challenger: { weights: { device_headless: 0.9 } },
};

describe('The page of rules', () => {
  let harness: Harness;
  let folder: string;
  let file: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gatehouse-policy-'));
    file = join(folder, 'policy.json');
    writeFileSync(file, JSON.stringify(POLICY));
    harness = await startHarness({ GATEHOUSE_POLICY_FILE: file });
    await seedTraffic(harness.api);
  });
  afterAll(async () => {
    await harness.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('has bands, rules with their counts, a challenger and a history', async () => {
    const page = await harness.open('/dashboard/rules?rule=device_headless');
    const pane = page.getByRole('complementary', { name: 'device_headless' });
    await pane.getByText('the browser carries automation markers').waitFor();
    await pane.getByText('phones without plugins').waitFor();
    await pane.getByText('4 decisions').first().waitFor();
    await expectReadable(page);
    await page.keyboard.press('Escape');
    const row = page.getByRole('row').filter({ hasText: 'device_headless' });
    await row.waitFor();
    const cells = await row.getByRole('cell').allInnerTexts();
    expect(
      cells
        .map((cell) => cell.trim())
        .filter(Boolean)
        .slice(-5),
    ).toEqual(['0.7', '4', '4', '100 %', '–']);
    const bands = page.getByRole('list', { name: 'Bands by event type' }).getByRole('listitem');
    expect((await bands.filter({ hasText: 'login' }).innerText()).replaceAll(/\s+/g, ' ')).toContain('Review 65');
    await expectReadable(page);
    for (const name of ['Challenger', 'History']) {
      await page.getByRole('navigation', { name: 'Parts of this page' }).getByRole('link', { name }).click();
      await page.getByText(name === 'Challenger' ? '4 of 49 decisions would move' : 'applies now').waitFor();
      await expectReadable(page);
    }
    expectClean(page);
  });

  test('finds, sorts and filters rules by the URL, and opens them by keys', async () => {
    const page = await harness.open('/dashboard/rules?state=hit&sort=weight');
    const names = (): Promise<(string | null)[]> =>
      page.locator('[data-row]').evaluateAll((links) => links.map((link) => link.getAttribute('data-row')));
    await expect.poll(names).toHaveLength(6);
    expect((await names())[0]).toBe('device_headless');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('complementary', { name: 'device_headless' }).waitFor();
    await page.keyboard.press('j');
    await page.getByRole('complementary', { name: 'device_http_library' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'changed', exact: true }).click();
    await expect.poll(names).toEqual(['ip_hosting']);
    await page.getByRole('searchbox', { name: 'Find a rule' }).fill('nothing like it');
    await page.getByText('No rule matches').waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Clear the filters' }).click();
    await page.getByRole('link', { name: /^Show all \d+$/ }).click();
    await expect.poll(async () => (await names()).length).toBeGreaterThan(70);
    expectClean(page);
  });

  test('leads to the decisions of a rule', async () => {
    const page = await harness.open('/dashboard/rules?rule=device_headless');
    await page.getByRole('link', { name: 'Decisions with this reason' }).click();
    await page.getByRole('heading', { level: 1, name: 'Decisions' }).waitFor();
    await page.getByText('4 loaded').waitFor();
    expectClean(page);
  });

  test('shows what the challenger would move, with examples that are links', async () => {
    const page = await harness.open('/dashboard/rules?view=challenger');
    await page.getByRole('link', { name: '4 from Review to Block: examples' }).click();
    await page.getByRole('region', { name: 'Examples: Review → Block' }).waitFor();
    expect(new URL(page.url()).searchParams.get('cell')).toBe('REVIEW-BLOCK');
    const region = page.getByRole('region', { name: 'What the challenger changes' });
    expect(await region.getByRole('cell').allInnerTexts()).toEqual([
      'device_headless',
      'weight',
      'all others',
      '0.7',
      '0.9',
    ]);
    await page
      .getByRole('region', { name: /^Examples/ })
      .getByRole('link')
      .first()
      .click();
    await page.getByRole('heading', { level: 1, name: /^Decision req_/ }).waitFor();
  });

  test('shows what each reload of the policy changed, and that a faulty file was refused', async () => {
    writeFileSync(file, JSON.stringify({ ...POLICY, weights: { ip_hosting: 0.2, ip_vpn: 0.4 } }));
    const page = await harness.open('/dashboard/rules?view=history');
    const policy = async (): Promise<Record<string, unknown>> =>
      (await bearer(harness.api.url, harness.api.secretKey, 'GET', '/v1/policy/history')).json;
    await expect.poll(async () => (await policy())['data'], { timeout: 20_000 }).toHaveLength(2);
    await page.reload();
    const table = page.getByRole('table', { name: /^Changes of version/ });
    await table.waitFor();
    // A virtual clock that was not set has the time 0, which is no time.
    const { data } = (await policy()) as { readonly data: readonly object[] };
    const unset = await harness.open('/dashboard/rules?view=history', {
      override: (path) =>
        path === '/v1/policy/history' ? { body: { data: data.map((one) => ({ ...one, at: 0 })) } } : null,
    });
    await unset.getByText('applies now').waitFor();
    expect(await unset.getByText('1970').count()).toBe(0);
    expect(await table.getByRole('cell').allInnerTexts()).toEqual(['ip_vpn', 'weight', 'all others', '0.2', '0.4']);
    writeFileSync(file, '{');
    await page.goto(`${harness.api.url}/dashboard/rules`);
    await expect
      .poll(
        async () => (await bearer(harness.api.url, harness.api.secretKey, 'GET', '/v1/policy')).json['is_refused'],
        {
          timeout: 20_000,
        },
      )
      .toBe(true);
    await page.reload();
    await page.getByRole('alert').getByText('The current policy file is invalid').waitFor();
    await expectAccessible(page);
    writeFileSync(file, JSON.stringify(POLICY));
    expectClean(page);
  });

  test('says how to get a challenger', async () => {
    const { json } = await bearer(harness.api.url, harness.api.secretKey, 'GET', '/v1/policy/challenger');
    const none = { ...json, challenger: null, since: null, decisions: 0, moved: 0, cells: [] };
    const page = await harness.open('/dashboard/rules?view=challenger', {
      override: (path) => (path === '/v1/policy/challenger' ? { body: none } : null),
    });
    await page.getByText('There is no challenger').waitFor();
    await page.getByText('GATEHOUSE_POLICY_FILE').waitFor();
    await expectReadable(page);
  });

  test('says in the pane of a rule that its counts are cut off', async () => {
    const counts = await bearer(harness.api.url, harness.api.secretKey, 'GET', '/v1/policy/rules');
    const cut = { ...counts.json, examined: { decisions: 100_000, flagged: 9, since: 1, is_truncated: true } };
    const page = await harness.open('/dashboard/rules?rule=device_headless', {
      override: (path) => (path === '/v1/policy/rules' ? { body: cut } : null),
    });
    await page.getByText('over the newest 100,000 decisions').first().waitFor();
    expectClean(page);
  });

  test('shows hostile text as text', async () => {
    const raw = new Map<string, unknown>();
    for (const path of ['/v1/policy', '/v1/policy/history', '/v1/policy/challenger']) {
      const { json } = await bearer(harness.api.url, harness.api.secretKey, 'GET', path);
      raw.set(path, hostileCopy(json));
    }
    const rules = (raw.get('/v1/policy') as { rules: object[] }).rules.slice(0, 1);
    raw.set('/v1/policy', { ...(raw.get('/v1/policy') as object), rules });
    const override = (path: string): { body: unknown } | null => (raw.has(path) ? { body: raw.get(path) } : null);
    const page = await harness.open('/dashboard/rules', { override });
    await page.getByText('⟨U+202E⟩').first().waitFor();
    await expectReadable(page);
    await page.getByRole('link', { name: 'Challenger' }).click();
    await page.getByRole('table', { name: 'What the challenger changes' }).waitFor();
    await expectReadable(page);
    await page.getByRole('link', { name: 'History' }).click();
    await page.getByText('applies now').waitFor();
    expect(await page.locator('img').count()).toBe(0);
    // Without axe: real versions are hashes, so that their landmarks have different names.
    await expectNoSideScroll(page);
    await page.setViewportSize({ width: 320, height: 640 });
    await expectNoSideScroll(page);
    expectClean(page);
  });
});
