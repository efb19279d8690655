import { beforeAll, describe, expect, test } from 'vitest';
import type { Locator, Page } from 'playwright-core';
import {
  expectAccessible,
  expectClean,
  expectNoSideScroll,
  HOSTILE,
  sharedHarness,
  type Harness,
} from '../support/dashboard-harness.ts';
import { makeFlagged, type MadeDecision } from '../support/dashboard-rows.ts';

/** Everything here is done by the keyboard. */
describe('The command palette', () => {
  let harness: Harness;
  let one: MadeDecision;
  beforeAll(async () => {
    harness = await sharedHarness();
    one = await makeFlagged(harness.api);
  });

  const field = (page: Page): Locator => page.getByRole('combobox', { name: 'Page, value or action' });
  const options = (page: Page): Locator => page.getByRole('dialog').getByRole('option');
  const selected = (page: Page): Locator => page.getByRole('dialog').getByRole('option', { selected: true });

  async function open(page: Page, text = ''): Promise<void> {
    // The page listens to keys only after it has been drawn.
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
    await page.keyboard.press('Control+k');
    await field(page).waitFor();
    if (text !== '') await page.keyboard.type(text);
  }

  const pathOf = (page: Page): string => new URL(page.url()).pathname + new URL(page.url()).search;

  test('goes to pages and values, and searches decisions, without a mouse', async () => {
    const page = await harness.open('/dashboard/keys');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await open(page);
    expect(await field(page).evaluate((input) => input === document.activeElement)).toBe(true);
    await expect.poll(() => options(page).count()).toBeGreaterThan(15);
    await page.keyboard.type('audit');
    await expect.poll(() => selected(page).textContent()).toContain('Audit log');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Audit log' }).waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);

    await open(page, one.request_id);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: /^Decision req_/ }).waitFor();

    await open(page, 'anna@example.com');
    expect(await options(page).count()).toBe(2);
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => selected(page).textContent()).toContain('Search decisions for anna@example.com');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await expect.poll(() => pathOf(page)).toBe('/dashboard/links/entity.email/anna%40example.com');

    await open(page, 'score>70');
    await page.keyboard.press('Enter');
    await expect.poll(() => pathOf(page)).toBe('/dashboard/decisions?q=score%3E70');

    // The dialog of a range of one's own comes when it is asked for, and returns the focus.
    await page.getByLabel('Range of time').selectOption('choose');
    await page.getByRole('dialog', { name: 'Range of time' }).getByLabel('From').waitFor();
    await expectAccessible(page);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expectClean(page);
  });

  test('runs the actions of the present page and of the top bar, and gives the focus to what they open', async () => {
    const page = await harness.open(`/dashboard/decisions/${one.request_id}`);
    await page.getByRole('button', { name: 'Block', exact: true }).waitFor();
    await open(page, 'block the fingerprint');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Block for 30 days' }).waitFor();
    // No palette over a dialog: what it asks comes first.
    await page.keyboard.press('Control+k');
    expect(await field(page).count()).toBe(0);
    await page.keyboard.press('Escape');
    await open(page, 'theme dark');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.evaluate(() => document.documentElement.dataset['theme'])).toBe('dark');
    await open(page, 'search');
    await expect.poll(() => page.getByRole('option', { name: 'Action Search', exact: true }).count()).toBe(1);
    for (let n = 0; n < 20 && !(await selected(page).textContent())?.startsWith('ActionSearch'); n++)
      await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('search');
    // It opens while somebody types, and Esc returns to the field.
    await page.keyboard.type('half a wo');
    await open(page);
    await page.keyboard.press('Escape');
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('search');
    expect(await page.getByRole('searchbox').inputValue()).toBe('half a wo');
    expectClean(page);
  });

  test('says that nothing fits, and shows hostile text as text', async () => {
    const page = await harness.open('/dashboard/audit');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await open(page);
    await field(page).fill(HOSTILE.replace('\u0007', '').slice(0, 150));
    await expect.poll(() => options(page).count()).toBe(1);
    expect(await selected(page).textContent()).toContain('<img src=x onerror=');
    expect(await page.locator('dialog img').count()).toBe(0);
    await expectNoSideScroll(page);
    await field(page).fill('');
    await expect.poll(() => options(page).count()).toBeGreaterThan(15);
    expectClean(page);
  });

  test.each([
    ['light', 1_280],
    ['dark', 320],
  ] as const)('is accessible in the %s theme at %i pixels, and is listed among the keys', async (theme, width) => {
    const page = await harness.open('/dashboard/audit', { theme, width });
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Keys (?)' }).focus();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).getByText('Ctrl+K').waitFor();
    await page.keyboard.press('Escape');
    // Every dialog gives the focus back.
    await expect.poll(() => page.evaluate(() => document.activeElement?.ariaLabel)).toBe('Keys (?)');
    await open(page);
    await expect.poll(() => options(page).count()).toBeGreaterThan(15);
    await expectAccessible(page);
    await expectNoSideScroll(page);
    await page.keyboard.type('no such command, reason:x user:y');
    await expectAccessible(page);
    expectClean(page);
  });
});
