import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { signIn } from '../../support/dashboard.ts';
import { type RunningServer, startServer } from '../../support/server.ts';
import { sharedSamplingServer, sharedServer, type SharedServer } from '../../support/shared-server.ts';
import { lonePage, type Override, pageWith } from './page-pool.ts';

/** A Gatehouse, its dashboard and a Chromium, as the tests of all pages use them. */

export type { FakeResponse, Override } from './page-pool.ts';
export { expectAccessible, expectNoSideScroll, expectReadable, expectWholeWords } from './readable.ts';

export interface OpenOptions {
  readonly width?: number;
  readonly height?: number;
  readonly theme?: 'light' | 'dark';
  /** Default true. */
  readonly isSignedIn?: boolean;
  /** The page's clock can be moved: `page.clock.fastForward`. */
  readonly hasClock?: boolean;
  /** For states that a test cannot bring about: faults, delays, hostile text in every field. */
  readonly override?: Override;
}

export interface Harness<Server extends SharedServer = SharedServer> {
  readonly api: Server;
  /** Opens a page until the test ends. Errors of scripts and reports of the CSP are collected for `expectClean`. */
  open(path: string, options?: OpenOptions): Promise<Page>;
  stop(): Promise<unknown>;
}

const faults = new WeakMap<Page, string[]>();

/** Returns a harness with a new customer of a server that other files use too. Call it in `beforeAll`. */
export async function sharedHarness(form: 'plain' | 'sampling' = 'plain'): Promise<Harness> {
  return toHarness(await (form === 'plain' ? sharedServer() : sharedSamplingServer()), () => Promise.resolve());
}

/** Starts a server with further settings. Call it in `beforeAll`, and `stop` in `afterAll`. */
export async function startHarness(env: Readonly<Record<string, string>> = {}): Promise<Harness<RunningServer>> {
  const api = await startServer({ env });
  return toHarness(api, () => api.stop());
}

async function toHarness<Server extends SharedServer>(api: Server, stop: Harness['stop']): Promise<Harness<Server>> {
  const { url, secretKey: key } = api;
  const { cookie } = await signIn(url, { key });
  return {
    api,
    open: async (path, options = {}) => {
      const { width = 1_280, height = 800, theme = 'light', override = null } = options;
      const { isSignedIn = true, hasClock = false } = options;
      const look = { width, height, theme };
      const session = isSignedIn ? { url, text: cookie } : null;
      const { page, intercept } = await (session === null || hasClock
        ? lonePage(session, look)
        : pageWith(session, look));
      if (hasClock) await page.clock.install();
      await intercept(url, override);
      collectFaults(page);
      await page.goto(`${url}${path}`);
      return page;
    },
    stop,
  };
}

function collectFaults(page: Page): void {
  const found: string[] = [];
  faults.set(page, found);
  page.on('pageerror', (error) => found.push(`${error.message}\n${error.stack ?? ''}`));
  page.on('console', (message) => {
    const text = message.text();
    // Chromium reports every response from 400 on; what a page does about one is tested where it matters.
    if (message.type() === 'error' && !text.startsWith('Failed to load resource')) found.push(text);
  });
}

/** Returns the body of a problem response, for `override`. */
export function problemBody(
  status: number,
  code: string,
  title: string,
): { readonly status: number; readonly body: object } {
  const body = { type: `urn:gatehouse:error:${code}`, title, status, code, detail: '', request_id: 'req_OFTHETEST' };
  return { status, body };
}

/** No script failed, and nothing was against the Content-Security-Policy, which Chromium reports as an error of the console. */
export function expectClean(page: Page): void {
  expect(faults.get(page)).toEqual([]);
}

/** Text that pages must show as text: markup, a script's URL, direction marks, control characters, and a very long word. */
export const HOSTILE = `<img src=x onerror="alert(1)">javascript:alert(1)\u202Egnp.exe\u0007${'W'.repeat(300)}`;
