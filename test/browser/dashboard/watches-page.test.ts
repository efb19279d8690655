import { beforeAll, describe, expect, test } from 'vitest';
import { books } from '../../support/extractions.ts';
import { sharedSource } from '../../support/shared-server.ts';
import {
  expectAccessible,
  expectClean,
  expectReadable,
  HOSTILE,
  type Harness,
  type Override,
  sharedHarness,
} from '../support/dashboard-harness.ts';
import { rowsPage, WATCH } from '../support/page-states.ts';
import { shoot } from '../support/pictures.ts';

const PATH = '/dashboard/watches';
const AT = 1_795_262_400;
const CHANGES = `/v1/watches/${WATCH.id}/changes`;
const OPEN = `${PATH}?watch=${WATCH.id}`;

const change = (seq: number, given: object) => ({ id: `${WATCH.id}-${seq}`, at: AT, key: { id: seq }, ...given });

const changed = (seq: number) => change(seq, { kind: 'changed', record: { id: seq, price: 6 }, before: { price: 5 } });

function answers(watch: object, changes: Override): Override {
  return (path, query, ...rest) =>
    path === '/v1/watches' ? rowsPage([watch]) : path === CHANGES ? changes(path, query, ...rest) : null;
}

describe('The page of watches', () => {
  let harness: Harness;
  beforeAll(async () => {
    [harness] = await Promise.all([sharedHarness(), sharedSource()]);
  });

  test('makes a watch, shows its feed once, and pauses, runs and deletes it', async () => {
    const page = await harness.open(PATH);
    await page.getByText('No watch yet').waitFor();
    await shoot(page, 'watches-empty');
    await page.getByRole('button', { name: 'New watch' }).click();
    const form = page.getByRole('dialog', { name: 'New watch' });
    await form.getByLabel('Name').fill('Books');
    await form.getByLabel('Extraction').fill('{');
    await form.getByRole('button', { name: 'Create' }).click();
    await page.getByText('This must be JSON.').waitFor();
    await form.getByLabel('Extraction').fill(JSON.stringify({ ...books(3), delivery: { type: 'store' } }));
    await form.getByLabel('Every').fill('1m');
    await form.getByRole('button', { name: 'Create' }).click();
    await form.getByText('/every', { exact: true }).waitFor();
    await expectAccessible(page);
    await shoot(page, 'watches-new');
    await form.getByLabel('Every').fill('1d');
    await form.getByLabel('Extraction').fill(JSON.stringify(books(3)));
    await form.getByLabel('Key').fill('title');
    await form.getByRole('button', { name: 'Create' }).click();
    const feed = page.getByRole('dialog', { name: 'The feed of the watch, shown once' });
    const address = (await feed.getByRole('region', { name: 'Atom' }).textContent())?.trim() ?? '';
    await expectAccessible(page);
    await shoot(page, 'watches-feed');
    expect(await (await fetch(address)).text()).toContain('<feed');
    await feed.getByRole('button', { name: 'I have stored it' }).click();
    await page
      .getByText(/nothing changed in 3 records/)
      .first()
      .waitFor({ timeout: 30_000 });
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await page.getByRole('button', { name: 'Resume', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Run now' }).click();
    await page.getByText('A run has begun').waitFor();
    // Another token ends the first.
    await page.getByRole('button', { name: 'New feed token' }).click();
    await page.getByRole('button', { name: 'Make a new token' }).click();
    await feed.getByRole('button', { name: 'I have stored it' }).click();
    expect((await fetch(address)).status).toBe(401);
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No watch yet').waitFor();
    expectClean(page);
  });

  test('shows what changed from one value to another, page after page', async () => {
    const page = await harness.open(OPEN, {
      override: answers(WATCH, (_path, query) =>
        query.get('cursor') === 'cursor'
          ? rowsPage([change(2, { kind: 'new', record: { id: 2, price: 7 } })])
          : rowsPage([change(4, { kind: 'gone', record: null, before: { price: 9 } }), changed(3)], true),
      ),
    });
    const changes = page.getByRole('region', { name: 'Changes', exact: true });
    await changes.getByText('price: 5 → 6').waitFor();
    await changes.getByText('price: 9').waitFor();
    await changes.getByRole('button', { name: 'Load more' }).click();
    await changes.getByText('price: 7').waitFor();
    await changes.getByText(/^All 3 rows\. Changes are kept for 30 days/).waitFor();
    await expectReadable(page);
    await shoot(page, 'watches-changes');
    await page.keyboard.press('Escape');
    await expect.poll(() => page.url()).not.toContain('watch=');
    expectClean(page);
  });

  test('says why the last run failed, and shows hostile text as text', async () => {
    const failed = { ...WATCH.last_run, status: 'failed', reason: 'too_many_records' };
    const hostile = {
      ...WATCH,
      name: HOSTILE,
      extraction: { connector: HOSTILE, operation: HOSTILE, input: { [HOSTILE]: HOSTILE } },
      every: null,
      cron: HOSTILE,
      key: [HOSTILE],
      compare: [HOSTILE],
      last_run: failed,
    };
    const before = { [HOSTILE]: HOSTILE };
    const page = await harness.open(OPEN, {
      override: answers(hostile, () =>
        rowsPage([change(1, { kind: 'changed', key: { [HOSTILE]: HOSTILE }, record: { [HOSTILE]: 1 }, before })]),
      ),
    });
    await page.getByText('The last run failed: It has more than 5,000 records.').waitFor();
    await page.getByRole('region', { name: 'Changes', exact: true }).getByText(/→/).waitFor();
    await page.getByText('The extraction of each run').click();
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.locator('body').textContent()).toContain('⟨U+202E⟩');
    await expectReadable(page);
    await shoot(page, 'watches-hostile');
    expectClean(page);
  });

  test.each([
    [1_280, 'light'],
    [1_280, 'dark'],
    [390, 'light'],
    [390, 'dark'],
  ] as const)('shows a full list and a full page of changes at %i pixels, %s', async (width, theme) => {
    const rows = Array.from({ length: 30 }, (_, n) => ({
      ...WATCH,
      id: n === 0 ? WATCH.id : `wat_${n}`,
      status: n % 5 === 4 ? 'paused' : 'waiting',
      paused: n % 5 === 4,
      last_run: n % 3 === 2 ? { ...WATCH.last_run, status: 'failed', reason: 'source_unavailable' } : WATCH.last_run,
    }));
    const page = await harness.open(OPEN, {
      width,
      theme,
      override: (path) =>
        path === '/v1/watches'
          ? rowsPage(rows)
          : path === CHANGES
            ? rowsPage(Array.from({ length: 50 }, (_, n) => changed(50 - n)))
            : null,
    });
    await page.getByText('price: 5 → 6').first().waitFor();
    await expectReadable(page);
    await shoot(page, `watches-full-${width}-${theme}`);
    expectClean(page);
  });
});
