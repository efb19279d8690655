import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { bearer, nthHash } from '../../support/manage.ts';
import {
  expectAccessible,
  expectClean,
  expectReadable,
  HOSTILE,
  type Harness,
  type Override,
  problemBody,
  sharedHarness,
} from '../support/dashboard-harness.ts';
import { shoot } from '../support/pictures.ts';

const PATH = '/dashboard/audit';
const AT = 1_795_262_400;

const HOSTILE_ROWS = [
  {
    at: AT,
    actor: `key:sk_live_4fQ2/${HOSTILE}`,
    kind: 'list.put',
    target: HOSTILE,
    before: { action: 'watch', [HOSTILE]: HOSTILE },
    after: { action: 'block', [HOSTILE]: `=${HOSTILE}`, expires_at: AT },
  },
  { at: AT - 5, actor: 'cli', kind: 'key.created', target: 'sk_live_4fQ2', before: null, after: { kind: 'secret' } },
];

const hostile: Override = (path) =>
  path === '/v1/audit' ? { body: { data: HOSTILE_ROWS, has_more: false, next_cursor: null } } : null;

describe('The page of the audit log', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await sharedHarness();
    const { url, secretKey } = harness.api;
    for (const action of ['watch', 'block'])
      await bearer(url, secretKey, 'POST', '/v1/lists', { fingerprint_hash: nthHash(7), action });
    await bearer(url, secretKey, 'DELETE', `/v1/lists/${nthHash(7)}`);
  });

  async function exported(page: Page, button: string): Promise<string> {
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: button, exact: true }).click();
    return readFile(await (await download).path(), 'utf8');
  }

  test('lists changes in words, filters them by kind in the URL, and shows before and after beside the list', async () => {
    const page = await harness.open(PATH);
    await page.getByText('action: watch → block').waitFor();
    await page.getByText(harness.api.secretKey.slice(0, 12)).first().waitFor();
    await expectAccessible(page);
    await shoot(page, 'audit-list');
    await page.getByLabel('Kind').selectOption('list.put');
    await expect.poll(() => page.getByRole('row').count()).toBe(3);
    expect(new URL(page.url()).search).toBe('?kind=list.put');
    await page.keyboard.press('Escape');
    await page.locator('#main').focus();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    const pane = page.getByRole('complementary', { name: 'List entry set' });
    await pane.getByText('before').first().waitFor();
    expect(await pane.textContent()).toContain('watch');
    expect(await pane.getByRole('link', { name: nthHash(7) }).getAttribute('href')).toContain('/links/fingerprint/');
    await expectAccessible(page);
    await shoot(page, 'audit-pane');
    // The same URL shows the same entry, in a new tab too.
    await page.reload();
    await pane.getByText('before').first().waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => page.url()).not.toContain('entry=');
    expectClean(page);
  });

  test('exports what is filtered, with formulas made harmless', async () => {
    const page = await harness.open(`${PATH}?kind=list.removed`);
    await page.getByText('List entry removed').last().waitFor();
    const lines = (await exported(page, 'NDJSON')).trim().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { kind: string }).kind)).toEqual(['list.removed']);
    const csv = await exported(page, 'CSV');
    expect(csv.split('\r\n')[0]).toBe('at,utc,kind,target,actor,before,after');
    expect(csv.split('\r\n')).toHaveLength(3);

    const guarded = await harness.open(PATH, {
      override: (path) =>
        path !== '/v1/audit'
          ? null
          : {
              body: { data: [{ ...HOSTILE_ROWS[1], target: '=1+1' }], has_more: false, next_cursor: null },
            },
    });
    await guarded.getByText('Key created').last().waitFor();
    expect(await exported(guarded, 'CSV')).toContain(",'=1+1,");
    expectClean(page);
  });

  test('stops an export at 10,000 rows and says so', async () => {
    const page = await harness.open(PATH, {
      override: (path, query) => {
        if (path !== '/v1/audit') return null;
        const from = Number(query.get('cursor') ?? '0');
        const data = Array.from({ length: 100 }, (_, n) => ({ ...HOSTILE_ROWS[1], at: AT - from - n }));
        return { body: { data, has_more: true, next_cursor: String(from + 100) } };
      },
    });
    await page.getByText('Key created').nth(1).waitFor();
    expect((await exported(page, 'NDJSON')).trim().split('\n')).toHaveLength(10_000);
    await page.getByText(/^Exported 10,000 rows, the newest/).waitFor();
    await page.getByRole('button', { name: 'Load more' }).click();
    await expect.poll(() => page.getByRole('row').count()).toBe(201);
    expectClean(page);
  });

  test('loads older rows after a 429 that passes, without another click', async () => {
    let refusals = 0;
    const page = await harness.open(PATH, {
      override: (path, query) => {
        if (path !== '/v1/audit') return null;
        if (query.get('cursor') === null)
          return { body: { data: [HOSTILE_ROWS[1]], has_more: true, next_cursor: 'older' } };
        if (refusals++ === 0) return problemBody(429, 'overloaded', 'Too many calls');
        return { body: { data: [{ ...HOSTILE_ROWS[1], at: AT - 9 }], has_more: false, next_cursor: null } };
      },
    });
    await page.getByRole('button', { name: 'Load more' }).click();
    await page.getByText('All 2 rows.').waitFor();
    expect(refusals).toBe(2);
    expectClean(page);
  });

  test('shows that no change matches the filters', async () => {
    const page = await harness.open(`${PATH}?kind=webhook.rotated&last=24h`);
    await page.getByText('No such change').waitFor();
    await shoot(page, 'audit-empty');
    expectClean(page);
  });

  test('shows hostile text as text', async () => {
    const page = await harness.open(PATH, { override: hostile });
    await page.getByText('Key created').last().waitFor();
    await expectReadable(page);
    await page.locator('.row-link').first().click();
    await page.getByText('after').first().waitFor();
    await expectReadable(page);
    await shoot(page, 'audit-hostile-pane');
    expect(await page.locator('img').count()).toBe(0);
    expectClean(page);
  });
});
