import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { sharedShell } from './chromium.ts';

/**
 * Pages of one context, which tests use one after the other: a new context costs as much time as most tests, and pages that stay open keep
 * polling. Between two tests a page is blank and without a test's listeners; the context has only the cookies that a test asks for.
 */

/** A response instead of the service's. */
export interface FakeResponse {
  readonly status?: number;
  readonly body: unknown;
  readonly delayMs?: number;
  /** The response waits for it. */
  readonly after?: Promise<void>;
}

/** Decides which requests get another response; null passes the request on. `path` is that of the public API: `/v1/stats`. */
export type Override = (path: string, query: URLSearchParams, method: string, body: string) => FakeResponse | null;

export interface Look {
  readonly width: number;
  readonly height: number;
  readonly theme: 'light' | 'dark';
}

export interface PooledPage {
  readonly page: Page;
  /** Overrides responses of the API of the dashboard at `url` from now on; null: none. */
  readonly intercept: (url: string, override: Override | null) => Promise<void>;
}

const CONTEXT = { reducedMotion: 'reduce', timezoneId: 'Europe/Berlin' } as const;
const API = '/dashboard/api';

let pooled: Promise<BrowserContext> | null = null;
const idle: PooledPage[] = [];

async function newContext(): Promise<BrowserContext> {
  return (await sharedShell()).newContext(CONTEXT);
}

interface Cookie {
  readonly url: string;
  /** `name=value` */
  readonly text: string;
}

/** Returns a blank page whose context has one cookie, until the test ends. */
export async function pageWith(cookie: Cookie, look: Look): Promise<PooledPage> {
  pooled ??= newContext();
  const context = await pooled;
  const found = idle.pop() ?? (await toPooled(await context.newPage()));
  onTestFinished(() => putBack(found));
  await context.clearCookies();
  await setCookie(context, cookie);
  await apply(found.page, look);
  return found;
}

/** Returns a page of a context of its own, until the test ends. */
export async function lonePage(cookie: Cookie | null, look: Look): Promise<PooledPage> {
  const context = await newContext();
  onTestFinished(() => context.close());
  if (cookie !== null) await setCookie(context, cookie);
  const found = await toPooled(await context.newPage());
  await apply(found.page, look);
  return found;
}

async function setCookie(context: BrowserContext, { url, text }: Cookie): Promise<void> {
  const [name = '', value = ''] = text.split(/=(.*)/s);
  await context.addCookies([{ name, value, url }]);
}

async function apply(page: Page, { width, height, theme }: Look): Promise<void> {
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: theme, forcedColors: 'none' });
}

async function putBack(found: PooledPage): Promise<void> {
  const { page } = found;
  for (const event of ['request', 'response', 'console', 'pageerror', 'download'] as const)
    page.removeAllListeners(event);
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  // Ends the polls of the page, and sends what it sends on leaving.
  await page.goto('about:blank');
  await found.intercept('', null);
  idle.push(found);
}

interface Paused {
  readonly requestId: string;
  readonly request: { readonly url: string; readonly method: string; readonly postData?: string };
}

/**
 * Requests of the API alone stop in the browser for an override. `page.route` would stop those for scripts and styles as well, and turn
 * the cache off.
 */
async function toPooled(page: Page): Promise<PooledPage> {
  const session = await page.context().newCDPSession(page);
  let override: Override | null = null;
  session.on('Fetch.requestPaused', (paused: Paused) => {
    // A page that was left meanwhile needs no response.
    respond(session, paused, override).catch(() => undefined);
  });
  return {
    page,
    intercept: async (url, next) => {
      if (next !== null) await session.send('Fetch.enable', { patterns: [{ urlPattern: `${url}${API}/*` }] });
      else if (override !== null) await session.send('Fetch.disable');
      override = next;
    },
  };
}

async function respond(session: CDPSession, { requestId, request }: Paused, override: Override | null): Promise<void> {
  const url = new URL(request.url);
  const path = url.pathname.slice(API.length);
  const fake = override?.(path, url.searchParams, request.method, request.postData ?? '') ?? null;
  if (fake === null) {
    await session.send('Fetch.continueRequest', { requestId });
    return;
  }
  const { status = 200, body, delayMs = 0, after } = fake;
  await after;
  if (delayMs > 0) await new Promise((done) => setTimeout(done, delayMs));
  const type = status < 400 ? 'application/json' : 'application/problem+json';
  await session.send('Fetch.fulfillRequest', {
    requestId,
    responseCode: status,
    responseHeaders: [{ name: 'Content-Type', value: type }],
    body: Buffer.from(JSON.stringify(body)).toString('base64'),
  });
}
