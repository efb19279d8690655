import type axe from 'axe-core';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';

/** What everybody must be able to read: WCAG 2.2 AA in both themes, without scrolling to the side on a phone and at 200 % zoom. */

/** Minified: half of the text to send and to compile in each page. */
const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** Choice: a page that stays too wide fails soon. */
const SETTLING_MS = 3_000;

/** The page can be read without scrolling to the side. Parts that have just come may be wider for a moment. */
export async function expectNoSideScroll(page: Page): Promise<void> {
  const wideParts = (): Promise<string[]> =>
    page.evaluate(() => {
      const { scrollWidth } = document.documentElement;
      if (scrollWidth <= window.innerWidth) return [];
      const wide = [...document.querySelectorAll('body *')].filter(
        (element) => element.getBoundingClientRect().left + element.scrollWidth > window.innerWidth + 0.5,
      );
      return [
        `${scrollWidth} of ${window.innerWidth} pixels`,
        ...wide.slice(0, 12).map(({ outerHTML }) => outerHTML.slice(0, 120)),
      ];
    });
  if ((await wideParts()).length === 0) return;
  await expect.poll(wideParts, { message: 'wider than the window', timeout: SETTLING_MS }).toEqual([]);
}

/** No word of the element is broken over two lines: a column that is too narrow shows a few letters a line. */
export async function expectWholeWords(element: Locator): Promise<void> {
  const broken = await element.evaluate((root) => {
    const found: string[] = [];
    const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
      if (node.parentElement?.closest('.hidden-text') !== null) continue;
      for (const { index, 0: word } of (node.nodeValue ?? '').matchAll(/[\p{L}\p{N}]+/gu)) {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
        if (lines.size > 1) found.push(word);
      }
    }
    return found;
  });
  expect(broken, 'words broken over lines').toEqual([]);
}

/** What axe-core checks: WCAG 2.2 A and AA, and good practice. */
const ALL_RULES = {
  type: 'tag',
  values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
} as const;
/** The rules whose result can be another one in the other theme, which has the same elements at the same places. */
const COLOUR_RULES = { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } as const;

/** axe-core finds nothing against its rules. It runs beside the page: the page's own policy would refuse it. */
export async function expectAccessible(
  page: Page,
  runOnly: typeof ALL_RULES | typeof COLOUR_RULES = ALL_RULES,
): Promise<void> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(AXE);
  const violations = await page.evaluate(async ({ type, values }) => {
    const runner = (window as unknown as { readonly axe: typeof axe }).axe;
    const runOnly = { type, values: [...values] };
    // Only rules that are off here, about media and orientation, need what would be preloaded.
    const { violations } = await runner.run(document, { runOnly, resultTypes: ['violations'], preload: false });
    return violations.map(({ id, nodes }) => {
      const found = nodes.map(({ html, failureSummary }) => `${html.slice(0, 200)} ${failureSummary ?? ''}`);
      return `${id}: ${found.join(' | ')}`;
    });
  }, runOnly);
  expect(violations).toEqual([]);
}

/** Where the dark theme is checked. `phone` is for pages whose wide parts are checked in another state. */
export type DarkAt = 'all sizes' | 'phone';

/**
 * The page can be read in both themes, at its present size, at 200 % zoom of a window of 1,280 by 800 pixels, and on a phone. Leaves it
 * at its present size in the light theme.
 */
export async function expectReadable(page: Page, darkAt: DarkAt = 'all sizes'): Promise<void> {
  const size = page.viewportSize() ?? { width: 1_280, height: 800 };
  await expectNoSideScroll(page);
  await expectAccessible(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  if (darkAt === 'all sizes') await expectAccessible(page, COLOUR_RULES);
  await page.setViewportSize({ width: 640, height: 400 });
  await expectNoSideScroll(page);
  await page.setViewportSize({ width: 320, height: 640 });
  await expectNoSideScroll(page);
  await expectAccessible(page);
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize(size);
}
