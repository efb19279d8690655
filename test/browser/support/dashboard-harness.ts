import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { expect } from 'vitest';
import type { Browser, Page } from 'playwright-core';
import { startServer, type RunningServer } from '../../support/server.ts';
import { startChromium } from './chromium.ts';
import { startDashboard, type DashboardServer } from './dashboard-server.ts';

/** A Gatehouse, its dashboard and a Chromium, as the tests of all pages use them. */

export interface OpenOptions {
  readonly width?: number;
  readonly height?: number;
  readonly theme?: 'light' | 'dark';
  /** Default true. */
  readonly isSignedIn?: boolean;
}

export interface Harness {
  readonly api: RunningServer;
  readonly dashboard: DashboardServer;
  readonly browser: Browser;
  /** Opens a page in a context of its own. Errors of scripts and reports of the CSP are collected for `expectClean`. */
  open(path: string, options?: OpenOptions): Promise<Page>;
  stop(): Promise<void>;
}

const faults = new WeakMap<Page, string[]>();

/** `env`: further settings of the service. Call it in `beforeAll`, and `stop` in `afterAll`. */
export async function startHarness(env: Readonly<Record<string, string>> = {}): Promise<Harness> {
  const [api, browser] = await Promise.all([startServer({ env }), startChromium()]);
  const dashboard = await startDashboard(api.url, api.secretKey);
  return {
    api,
    dashboard,
    browser,
    open: async (path, { width = 1_280, height = 800, theme = 'light', isSignedIn = true } = {}) => {
      const context = await browser.newContext({
        viewport: { width, height },
        colorScheme: theme,
        reducedMotion: 'reduce',
        timezoneId: 'Europe/Berlin',
      });
      if (isSignedIn) await context.addCookies([{ name: 'gh_test', value: '1', url: dashboard.url }]);
      const page = await context.newPage();
      const found: string[] = [];
      faults.set(page, found);
      page.on('pageerror', (error) => found.push(`${error.message}\n${error.stack ?? ''}`));
      page.on('console', (message) => {
        const text = message.text();
        // Chromium reports every response from 400 on; what a page does about one is tested where it matters.
        if (message.type() === 'error' && !text.startsWith('Failed to load resource')) found.push(text);
      });
      await page.goto(`${dashboard.url}${path}`);
      return page;
    },
    stop: async () => {
      await browser.close();
      await dashboard.stop();
      await api.stop();
    },
  };
}

/** No script failed, and nothing was against the Content-Security-Policy, which Chromium reports as an error of the console. */
export function expectClean(page: Page): void {
  expect(faults.get(page)).toEqual([]);
}

/** The page can be read without scrolling to the side. */
export async function expectNoSideScroll(page: Page): Promise<void> {
  const widths = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth] as const);
  expect(widths[0], 'pixels of the content against those of the window').toBeLessThanOrEqual(widths[1]);
}

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** axe-core finds nothing against WCAG 2.2 A and AA. It runs beside the page: the page's own policy would refuse it. */
export async function expectAccessible(page: Page): Promise<void> {
  const source = await readFile(AXE, 'utf8');
  const violations = await page.evaluate(`${source};
    axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }).then(({ violations }) =>
      violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html, failureSummary }) => html.slice(0, 200) + ' ' + failureSummary).join(' | ')))`);
  expect(violations).toEqual([]);
}

/** Text that pages must show as text: markup, a script's URL, direction marks, control characters, and a very long word. */
export const HOSTILE = `<img src=x onerror="alert(1)">javascript:alert(1)\u202Egnp.exe\u0007${'W'.repeat(300)}`;
