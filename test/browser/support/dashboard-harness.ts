import axe from 'axe-core';
import { expect } from 'vitest';
import type { Browser, BrowserContext, Page, Route } from 'playwright-core';
import { startServer, type RunningServer } from '../../support/server.ts';
import { startChromium } from './chromium.ts';

/** A Gatehouse, its dashboard and a Chromium, as the tests of all pages use them. */

/** A response instead of the service's. */
export interface FakeResponse {
  readonly status?: number;
  readonly body: unknown;
  readonly delayMs?: number;
}

/** Decides which requests get another response; null passes the request on. `path` is that of the public API: `/v1/stats`. */
export type Override = (path: string, query: URLSearchParams, method: string, body: string) => FakeResponse | null;

export interface OpenOptions {
  readonly width?: number;
  readonly height?: number;
  readonly theme?: 'light' | 'dark';
  /** Default true. */
  readonly isSignedIn?: boolean;
  /** For states that a test cannot bring about: faults, delays, hostile text in every field. */
  readonly override?: Override;
}

export interface Harness {
  readonly api: RunningServer;
  readonly browser: Browser;
  /** Opens a page in a context of its own. Errors of scripts and reports of the CSP are collected for `expectClean`. */
  open(path: string, options?: OpenOptions): Promise<Page>;
  stop(): Promise<void>;
}

const faults = new WeakMap<Page, string[]>();

/** `env`: further settings of the service. Call it in `beforeAll`, and `stop` in `afterAll`. */
export async function startHarness(env: Readonly<Record<string, string>> = {}): Promise<Harness> {
  const [api, browser] = await Promise.all([startServer({ env }), startChromium()]);
  return {
    api,
    browser,
    open: async (path, { width = 1_280, height = 800, theme = 'light', isSignedIn = true, override } = {}) => {
      const context = await browser.newContext({
        viewport: { width, height },
        colorScheme: theme,
        reducedMotion: 'reduce',
        timezoneId: 'Europe/Berlin',
      });
      if (isSignedIn) await signIn(context, api);
      const page = await context.newPage();
      if (override !== undefined) await page.route(`${api.url}/dashboard/api/**`, (route) => respond(route, override));
      const found: string[] = [];
      faults.set(page, found);
      page.on('pageerror', (error) => found.push(`${error.message}\n${error.stack ?? ''}`));
      page.on('console', (message) => {
        const text = message.text();
        // Chromium reports every response from 400 on; what a page does about one is tested where it matters.
        if (message.type() === 'error' && !text.startsWith('Failed to load resource')) found.push(text);
      });
      await page.goto(`${api.url}${path}`);
      return page;
    },
    stop: async () => {
      await browser.close();
      await api.stop();
    },
  };
}

async function signIn(context: BrowserContext, { url, secretKey }: RunningServer): Promise<void> {
  const response = await context.request.post(`${url}/dashboard/session`, {
    data: { key: secretKey },
    headers: { 'X-Gatehouse': '1', Origin: url },
  });
  if (response.status() !== 204) throw new Error(`signing in got ${response.status()}: ${await response.text()}`);
}

async function respond(route: Route, override: Override): Promise<void> {
  const request = route.request();
  const url = new URL(request.url());
  const path = url.pathname.slice('/dashboard/api'.length);
  const fake = override(path, url.searchParams, request.method(), request.postData() ?? '');
  if (fake === null) return route.fallback();
  if (fake.delayMs !== undefined) await new Promise((done) => setTimeout(done, fake.delayMs));
  const { status = 200, body } = fake;
  const contentType = status < 400 ? 'application/json' : 'application/problem+json';
  // A page that was closed meanwhile needs no response.
  return route.fulfill({ status, contentType, body: JSON.stringify(body) }).catch(() => undefined);
}

/** Returns the body of a problem response, for `override`. */
export function problemBody(status: number, code: string, title: string): FakeResponse {
  const body = { type: `urn:gatehouse:error:${code}`, title, status, code, detail: '', request_id: 'req_OFTHETEST' };
  return { status, body };
}

/** No script failed, and nothing was against the Content-Security-Policy, which Chromium reports as an error of the console. */
export function expectClean(page: Page): void {
  expect(faults.get(page)).toEqual([]);
}

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
  await expect.poll(wideParts, { message: 'wider than the window', timeout: SETTLING_MS }).toEqual([]);
}

/** axe-core finds nothing against WCAG 2.2 A and AA. It runs beside the page: the page's own policy would refuse it. */
export async function expectAccessible(page: Page): Promise<void> {
  const violations = await page.evaluate(`${axe.source};
    axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }).then(({ violations }) =>
      violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html, failureSummary }) => html.slice(0, 200) + ' ' + failureSummary).join(' | ')))`);
  expect(violations).toEqual([]);
}

/** Text that pages must show as text: markup, a script's URL, direction marks, control characters, and a very long word. */
export const HOSTILE = `<img src=x onerror="alert(1)">javascript:alert(1)\u202Egnp.exe\u0007${'W'.repeat(300)}`;
