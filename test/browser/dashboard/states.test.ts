import type { Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { PAGE_IDS } from '../../support/dashboard-pages.ts';
import {
  expectClean,
  expectReadable,
  type Harness,
  type Override,
  problemBody,
  sharedHarness,
} from '../support/dashboard-harness.ts';
import {
  answering,
  type PageCase,
  pageCases,
  rowsPage,
  type SeededBodies,
  seedPages,
  type Shown,
  type TableState,
} from '../support/page-states.ts';
import type { DarkAt } from '../support/readable.ts';
import { coloursOf, faintMarks } from '../support/seen-colours.ts';

/** Every page in every state that it can have, each in both themes, at three sizes and in forced colours. */

const AS_OF = /As of \d\d:\d\d:\d\d.*\(Not now: unavailable\)/;

let harness: Harness;
let seeded: SeededBodies;

const CASES = pageCases(() => seeded);
const ALL = Object.entries(CASES);

beforeAll(async () => {
  harness = await sharedHarness('sampling');
  seeded = await seedPages(harness.api);
});

/** The pages that have one of the states of a table, with how it is shown. */
function having(state: TableState): readonly (readonly [string, PageCase, Shown])[] {
  return ALL.flatMap(([id, page]) => {
    const shown = page.states[state];
    return typeof shown === 'string' ? [] : [[id, page, shown] as const];
  });
}

const visible = (page: Page, words: string | RegExp): Locator =>
  page.getByText(words).filter({ visible: true }).first();

const withId = (text: string): string => text.replace(':id', seeded.flaggedId);

function open(path: string, override?: Override): Promise<Page> {
  return harness.open(withId(path), override === undefined ? {} : { override });
}

/** Only a page with its data is checked at full width in the dark theme, because its other states have the same parts there. */
async function expectGood(page: Page, darkAt: DarkAt = 'phone'): Promise<void> {
  await expectReadable(page, darkAt);
  await page.emulateMedia({ forcedColors: 'active' });
  expect(await page.evaluate(() => matchMedia('(forced-colors: active)').matches)).toBe(true);
  expect(await page.evaluate(faintMarks)).toEqual([]);
  await page.emulateMedia({ forcedColors: 'none' });
  expectClean(page);
}

async function expectNothingLoads(page: Page): Promise<void> {
  await expect.poll(() => page.locator('main .skeleton').count()).toBe(0);
}

/** When the theme of the system changes, every element gets the colours that it would have had from the start. */
async function expectFreshColours(page: Page): Promise<void> {
  // A row under the mouse has another colour than a new one.
  await page.mouse.move(0, 0);
  const light = await page.evaluate(coloursOf);
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    const { shown, fresh } = await page.evaluate(coloursOf);
    expect(shown).toEqual(fresh);
    expect(shown[0] === light.shown[0]).toBe(colorScheme === 'light');
  }
}

test('Every page has a place in the table of states', () => {
  expect(PAGE_IDS).toEqual(Object.keys(CASES));
});

describe('Each page', () => {
  test.each(ALL)('is readable while it loads, after an error, with data, and with old data: %s', async (_id, one) => {
    const { main, data, retry, stale } = one;
    let now: 'loading' | 'well' | 'stale' = 'loading';
    let fail: () => void = () => undefined;
    const failed = new Promise<void>((done) => (fail = done));
    const page = await open(
      one.path,
      answering(withId(main), (query) => {
        // 403 is not tried again by itself: the button is there until somebody presses it.
        if (now === 'loading') return { ...problemBody(403, 'internal_error', 'Something failed'), after: failed };
        if (now === 'stale' || query.has('cursor')) return problemBody(503, 'unavailable', 'Not now');
        return one.well?.() ?? null;
      }),
    );
    await one.start?.(page);
    await page.locator('main .skeleton-shown[aria-busy="true"]').first().waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await expectGood(page);

    fail();
    const alert = page.getByRole('alert').filter({ hasText: 'Something failed' });
    await alert.getByText('internal_error').waitFor();
    await alert.getByText('req_OFTHETEST').waitFor();
    await expectNothingLoads(page);
    await expectGood(page);

    now = 'well';
    await (retry === undefined ? alert : page).getByRole('button', { name: retry ?? 'Retry' }).click();
    await visible(page, data).waitFor();
    await alert.waitFor({ state: 'detached' });
    await expectNothingLoads(page);
    await expectGood(page, 'all sizes');
    await expectFreshColours(page);

    if (typeof stale === 'string') return;
    now = 'stale';
    await stale(page);
    await visible(page, AS_OF).waitFor();
    await visible(page, /retrying in \d+ s/).waitFor();
    await expectGood(page);
    await visible(page, data).waitFor();
    expect(await page.getByRole('button', { name: 'Retry now' }).first().isVisible()).toBe(true);
  });

  test.each(having('empty'))('says what fills it when it is empty: %s', async (_id, { path, main }, shown) => {
    const { response, query = '', words } = shown;
    const page = await open(`${path}${query}`, response && answering(withId(main), response));
    await visible(page, words).waitFor();
    await expectGood(page);
  });

  test.each(having('no more'))('says at its end how long rows are kept: %s', async (_id, { path, main }, shown) => {
    const { response, query = '', act, words } = shown;
    const page = await open(`${path}${query}`, response && answering(withId(main), response));
    await act?.(page);
    await visible(page, words).waitFor();
    await expectGood(page);
  });

  test.each(having('too much'))('says when not everything was searched: %s', async (_id, { path, main }, shown) => {
    let isOver = false;
    const { response, at = main, query = '', words, after } = shown;
    const page = await open(`${path}${query}`, (...call) => {
      if (call[0] === at && isOver && call[1].has('cursor')) return rowsPage([]);
      return answering(at, () => response?.() ?? null)(...call);
    });
    await visible(page, words).waitFor();
    await expectGood(page);
    if (after === undefined) return;
    isOver = true;
    await page.getByRole('button', { name: 'Continue' }).click();
    await visible(page, after).waitFor();
  });
});

describe('The states', () => {
  test('name the counts of rules that failed, with the rules and the other counts beside them', async () => {
    let isDown = true;
    const page = await open('/dashboard/rules', (path, query) => {
      const days = (Number(query.get('to')) - Number(query.get('from'))) / 86_400;
      return path === '/v1/policy/rules' && days < 2 && isDown ? problemBody(403, 'internal_error', 'No counts') : null;
    });
    const alert = page.getByRole('alert').filter({ hasText: 'No counts' });
    await alert.getByText('req_OFTHETEST').waitFor();
    await page.getByRole('table', { name: 'Rules' }).waitFor();
    isDown = false;
    await alert.getByRole('button', { name: 'Retry' }).click();
    await alert.waitFor({ state: 'detached' });
    expect(await page.getByText('…', { exact: true }).count()).toBe(0);
  });

  test('outline what is loading in forced colours, where backgrounds are taken away', async () => {
    const page = await open(
      '/dashboard/lists',
      answering('/v1/lists', () => ({ body: null, after: new Promise(() => undefined) })),
    );
    await page.emulateMedia({ forcedColors: 'active' });
    const part = page.locator('main .skeleton-shown .skeleton-part').first();
    await part.waitFor();
    expect(await part.evaluate((element) => getComputedStyle(element).borderTopStyle)).toBe('solid');
  });
});
