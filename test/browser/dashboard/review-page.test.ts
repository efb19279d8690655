import type { Page } from 'playwright-core';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
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
import { ROWS_BODY } from '../support/page-states.ts';
import { hostileCopy, makeCalm, makeFlagged } from '../support/dashboard-rows.ts';

/** A verdict is sent after this time. */
const UNDO_MS = 10_000;

interface Row {
  readonly request_id: string;
  readonly verdict: string | null;
}

describe('The page of reviews', () => {
  let harness: Harness;
  /** Ids of the queue, newest first. */
  let ids: readonly string[];

  const rows = async (): Promise<readonly Row[]> => {
    const { json } = await bearer(
      harness.api.url,
      harness.api.secretKey,
      'GET',
      '/v1/shadow-reviews?queue=all&limit=1000',
    );
    return json['data'] as readonly Row[];
  };
  const verdictOf = async (id: string | undefined): Promise<string | null | undefined> =>
    (await rows()).find(({ request_id: other }) => other === id)?.verdict;
  const shown = (page: Page): Promise<string | null> => page.getByRole('article').getAttribute('aria-label');
  const nameOf = (id = ''): string => `Decision ${id.slice(0, 8)}…${id.slice(-4)}`;

  beforeAll(async () => {
    harness = await sharedHarness('sampling');
  });
  // Every test has a queue of its own: two calm decisions above two flagged ones, all older ones judged.
  beforeEach(async () => {
    for (const { request_id: id, verdict } of await rows())
      if (verdict === null)
        await bearer(harness.api.url, harness.api.secretKey, 'POST', `/v1/shadow-reviews/${id}`, { verdict: 'unsure' });
    const made = [
      await makeFlagged(harness.api),
      await makeFlagged(harness.api, { event_type: 'signup' }),
      await makeCalm(harness.api),
      await makeCalm(harness.api),
    ];
    ids = made.map(({ request_id: id }) => id).reverse();
  });
  test('says what 50 more verdicts would add for a model, from those before, and nothing after fewer than 20', async () => {
    const rows: Override = (path) => (path === '/v1/models/rows' ? { body: ROWS_BODY } : null);
    const page = await harness.open('/dashboard/review?view=samples', { override: rows });
    await page.getByText('30 % of 370 verdicts were fraud').waitFor();
    await page.getByText('add up to 15 known fraud sessions to the 128 that a model').waitFor();
    await page.getByText('Missing now: fraud sessions 128 of 150.').waitFor();
    await expectAccessible(page);
    expectClean(page);
    const none = { fraud: 0, legitimate: 0 };
    const by_source = [{ source: 'review', ages: { week: { fraud: 9, legitimate: 10 }, month: none, older: none } }];
    const few: Override = (path) => (path === '/v1/models/rows' ? { body: { ...ROWS_BODY, by_source } } : null);
    const other = await harness.open('/dashboard/review?view=samples', { override: few });
    await other.getByText('1 of ').waitFor();
    expect(await other.getByText('verdicts were fraud').count()).toBe(0);
  });

  test('has the decision with its evidence, and buttons for a verdict', async () => {
    const page = await harness.open(`/dashboard/review?view=samples&at=${ids[2]}`);
    await page.getByText('3 of 4').waitFor();
    await page.getByText('HeadlessChrome', { exact: false }).first().waitFor();
    await page.getByText('Without this:').first().waitFor();
    await page.getByRole('button', { name: 'Fraud' }).waitFor();
    await expectReadable(page);
    expectClean(page);
  });

  test('goes through the stack by keys, and sends verdicts when they can no longer be taken back', async () => {
    const page = await harness.open('/dashboard/review?view=samples', { hasClock: true });
    await page.getByText('1 of 4').waitFor();
    expect(await shown(page)).toBe(nameOf(ids[0]));
    await page.keyboard.press('2');
    await page.getByText('2 of 4').waitFor();
    await page.getByText('Legitimate for').waitFor();
    expect(await shown(page)).toBe(nameOf(ids[1]));
    await page.keyboard.press('1');
    await page.getByText('3 of 4').waitFor();
    // Nothing is sent while it can be taken back: a label feeds the shared registry.
    expect(await verdictOf(ids[0])).toBe(null);
    await page.keyboard.press('z');
    await page.getByText('2 of 4').waitFor();
    expect(await shown(page)).toBe(nameOf(ids[1]));
    await page.keyboard.press('3');
    await page.getByText('3 of 4').waitFor();
    await page.clock.fastForward(UNDO_MS);
    await expect.poll(() => verdictOf(ids[0])).toBe('legitimate');
    await expect.poll(() => verdictOf(ids[1])).toBe('unsure');
    expectClean(page);
  });

  test('has the next decision before it is asked for', async () => {
    const asked: string[] = [];
    const override: Override = (path) => {
      if (path.startsWith('/v1/decisions/')) asked.push(path.slice('/v1/decisions/'.length));
      return null;
    };
    const page = await harness.open('/dashboard/review?view=samples', { override });
    await page.getByRole('article').waitFor();
    await expect.poll(() => asked.slice(0, 3)).toEqual(ids.slice(0, 3));
    await page.keyboard.press('j');
    await expect.poll(() => shown(page)).toBe(nameOf(ids[1]));
    await expect.poll(() => asked).toEqual(ids);
    await page.keyboard.press('k');
    await expect.poll(() => shown(page)).toBe(nameOf(ids[0]));
    expect(new URL(page.url()).searchParams.get('at')).toBe(ids[0]);
  });

  test('sends what waits when the page is left, and when the tab is closed', async () => {
    const page = await harness.open('/dashboard/review?view=samples');
    await page.getByText('1 of 4').waitFor();
    await page.keyboard.press('1');
    await page.getByText('2 of 4').waitFor();
    await page.getByRole('link', { name: 'Audit log' }).click();
    await expect.poll(() => verdictOf(ids[0])).toBe('fraud');
    await page.goBack();
    await page.getByText('1 of 3').waitFor();
    await page.keyboard.press('2');
    await page.getByText('2 of 3').waitFor();
    await page.goto('about:blank');
    await expect.poll(() => verdictOf(ids[1])).toBe('legitimate');
  });

  test('filters by event type and score, in the URL', async () => {
    const page = await harness.open('/dashboard/review?view=samples');
    await page.getByText('1 of 4').waitFor();
    await page.getByLabel('Event').fill('Signup');
    await page.getByRole('button', { name: 'Filter' }).click();
    await expect.poll(() => shown(page)).toBe(nameOf(ids[2]));
    expect(new URL(page.url()).searchParams.get('event')).toBe('signup');
    await expectAccessible(page);
    await page.keyboard.press('1');
    await page.getByText('No further decision matches the filters').waitFor();
    await page.keyboard.press('z');
    await expect.poll(() => shown(page)).toBe(nameOf(ids[2]));
    await page.getByRole('link', { name: 'Remove the filter event signup' }).click();
    await page.getByText('of 4').waitFor();
    await page.getByLabel('Score from').fill('20');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.getByText('of 2').waitFor();
    await page.getByRole('link', { name: 'near Block' }).click();
    await page.getByText('No decision matches the filters').waitFor();
    await page.getByRole('link', { name: 'Clear the filters' }).click();
    await page.getByText('of 4').waitFor();
    expectClean(page);
  });

  test('begins with the open REVIEW decisions, assigns, notes and closes them by keys', async () => {
    const made = [
      await makeFlagged(harness.api, { event_type: 'payment', entity_keys: { email: 'one@example.com' } }),
      await makeFlagged(harness.api, { event_type: 'payment', entity_keys: { email: 'two@example.com' } }),
    ];
    expect(made.map(({ decision }) => decision)).toEqual(['REVIEW', 'REVIEW']);
    const page = await harness.open('/dashboard/review');
    await page.getByText('1 of 2').waitFor();
    // The oldest first, although the samples of this customer are older.
    expect(await shown(page)).toBe(nameOf(made[0]?.request_id));
    await page.keyboard.press('n');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Assigned to').fill('anna');
    await dialog.getByLabel('Note').fill('called the customer');
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('article').getByText('called the customer').waitFor();
    await expectReadable(page);
    await page.getByRole('link', { name: 'Nobody' }).click();
    await page.getByText('1 of 1').waitFor();
    expect(await shown(page)).toBe(nameOf(made[1]?.request_id));
    await page.getByRole('link', { name: 'anna' }).click();
    await expect.poll(() => shown(page)).toBe(nameOf(made[0]?.request_id));
    await page.keyboard.press('c');
    await page.getByText('Closed for').waitFor();
    await page.getByRole('link', { name: 'Audit log' }).click();
    const closed = async (): Promise<unknown> => {
      const path = '/v1/shadow-reviews?queue=review&state=done';
      const { json } = await bearer(harness.api.url, harness.api.secretKey, 'GET', path);
      return (json['data'] as readonly Record<string, unknown>[]).find((row) => row['closed_at'] !== null)?.[
        'assignee'
      ];
    };
    await expect.poll(closed).toBe('anna');
    await page.goto(`${harness.api.url}/dashboard/review?view=samples`);
    await page.getByText('1 of 4').waitFor();
    expectClean(page);
  });

  test('shows the precision of each reason at the end', async () => {
    const page = await harness.open('/dashboard/review?view=samples&score_min=20');
    await page.getByText('1 of 2').waitFor();
    await page.keyboard.press('1');
    await page.getByText('2 of 2').waitFor();
    await page.keyboard.press('2');
    const row = page.getByRole('row').filter({ hasText: 'device_headless' });
    await row.waitFor();
    expect(await row.getByRole('cell').nth(1).innerText()).toBe('50 %');
    await expectAccessible(page);
    await row.getByRole('link').click();
    await page.getByRole('heading', { level: 1, name: 'Rules' }).waitFor();
    expect(new URL(page.url()).searchParams.get('rule')).toBe('device_headless');
  });

  test('puts a decision back when the service does not take the verdict', async () => {
    const override: Override = (path, _query, method) =>
      path.startsWith('/v1/shadow-reviews/') && method === 'POST' ? problemBody(403, 'read_only', 'Read only') : null;
    const page = await harness.open('/dashboard/review?view=samples', { override, hasClock: true });
    await page.getByText('1 of 4').waitFor();
    await page.keyboard.press('1');
    await page.getByText('2 of 4').waitFor();
    await page.clock.fastForward(UNDO_MS);
    await page.getByRole('alert').getByText('req_OFTHETEST').waitFor();
    // It is above the one that is shown now.
    await page.keyboard.press('k');
    await expect.poll(() => shown(page)).toBe(nameOf(ids[0]));
    await page.getByText('1 of 4').waitFor();
    await expectAccessible(page);
  });

  test('judges a decision that has left the log by what the row says', async () => {
    const override: Override = (path) =>
      path === `/v1/decisions/${ids[0]}` ? problemBody(404, 'not_found', 'Not found') : null;
    const page = await harness.open('/dashboard/review?view=samples', { override });
    await page.getByText('has left the log').waitFor();
    await expectAccessible(page);
    await page.keyboard.press('2');
    await page.getByText('2 of 4').waitFor();
    expectClean(page);
  });

  test('says how far a search by event type came, and continues it', async () => {
    const empty = { data: [], has_more: false, next_cursor: null };
    const { json } = await bearer(harness.api.url, harness.api.secretKey, 'GET', '/v1/shadow-reviews?limit=1');
    const [row] = json['data'] as readonly object[];
    const many = Array.from({ length: 300 }, (_, n) => ({ ...row, request_id: `req_${String(n).padStart(26, '0')}` }));
    const decision = await bearer(harness.api.url, harness.api.secretKey, 'GET', `/v1/decisions/${ids[0]}`);
    const long = await harness.open('/dashboard/review?view=samples&event=nothing', {
      override: (path, query) => {
        if (path === '/v1/shadow-reviews')
          return { body: { ...empty, data: query.get('why') === 'sample' ? many : [] } };
        return path.startsWith('/v1/decisions/') ? { body: decision.json } : null;
      },
    });
    await long.getByText('200 rows searched, 0 found').waitFor({ timeout: 60_000 });
    await expectAccessible(long);
    await long.getByRole('button', { name: 'Continue' }).click();
    await long.getByText('No decision matches the filters').waitFor({ timeout: 60_000 });
  });

  test('mixes samples by what their verdicts teach, and says why each is there', async () => {
    const { json } = await bearer(harness.api.url, harness.api.secretKey, 'GET', '/v1/shadow-reviews?limit=1');
    const [row] = json['data'] as readonly object[];
    const kinds = { p: ['challenger', 'ALLOW'], s: ['challenger', 'BLOCK'], r: ['sample', 'ALLOW'] } as const;
    const many = Object.entries(kinds).flatMap(([name, [why, decision]]) =>
      Array.from({ length: 100 }, (_, n) => {
        const request_id = `req_${name}${String(n).padStart(25, '0')}`;
        return { ...row, request_id, why, decision, would_be: null };
      }),
    );
    const decision = await bearer(harness.api.url, harness.api.secretKey, 'GET', `/v1/decisions/${ids[0]}`);
    const override: Override = (path, query) => {
      const data = many.filter(({ why }) => why === query.get('why'));
      if (path === '/v1/shadow-reviews') return { body: { data, has_more: false, next_cursor: null } };
      return path.startsWith('/v1/decisions/') ? { body: decision.json } : null;
    };
    const page = await harness.open('/dashboard/review?view=samples', { override });
    await page.getByText('1 of 300').waitFor();
    const seen: string[] = [];
    for (let n = 1; n <= 10; n++) {
      await page.getByText(`${n} of 300`).waitFor();
      seen.push((await page.locator('.review-head .tag').textContent()) ?? '');
      if (n === 1) await expectReadable(page);
      await page.keyboard.press('j');
    }
    const [passed, stopped] = ['passed, challenger differs', 'stopped, challenger differs'];
    const turn = [passed, passed, passed, stopped, 'sample'];
    expect(seen).toEqual([...turn, ...turn]);
    expectClean(page);
  });

  test('shows hostile text as text', async () => {
    const { json } = await bearer(harness.api.url, harness.api.secretKey, 'GET', `/v1/decisions/${ids[2]}`);
    const page = await harness.open(`/dashboard/review?view=samples&at=${ids[2]}`, {
      override: (path) => (path === `/v1/decisions/${ids[2]}` ? { body: hostileCopy(json) } : null),
    });
    await page.getByRole('article').getByText('⟨U+202E⟩').first().waitFor();
    expect(await page.locator('img').count()).toBe(0);
    await expectReadable(page);
    expectClean(page);
  });
});
