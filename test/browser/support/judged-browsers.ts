import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { createClient } from '../../../src/client/client.ts';
import { startServer } from '../../support/server.ts';
import { sharedChromium, startChromium } from './chromium.ts';
import { decodeToken, openPage, openPages, tokenOf, type CollectorPages } from './collector-pages.ts';

/** Browsers whose collector tokens a server judges: one that hides nothing, and one that is disguised. */

/** What a disguised browser says it is. */
export const DISGUISE: BrowserContextOptions = {
  userAgent: 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36',
};

export interface Judged {
  readonly decision: string;
  readonly score: number;
  readonly reasons: readonly string[];
  readonly auto: unknown;
  readonly beat: Record<string, number>;
}

export interface JudgedBrowsers {
  readonly plain: Browser;
  readonly disguised: Browser;
  readonly pages: CollectorPages;
  /** Decides a login with the page's token and the browser's own user agent, as a backend does. */
  judge(page: Page): Promise<Judged>;
  /** Opens a page in a new context, calls `work`, and closes the context. `init` runs before the page's scripts. */
  inContext<T>(
    browser: Browser,
    options: BrowserContextOptions,
    work: (page: Page, context: BrowserContext) => Promise<T>,
    init?: () => void,
  ): Promise<T>;
  close(): Promise<void>;
}

/** Call it in `beforeAll`, and `close` in `afterAll`. */
export async function openJudgedBrowsers(): Promise<JudgedBrowsers> {
  const [plain, disguised, pages, server] = await Promise.all([
    sharedChromium(),
    startChromium(['--disable-blink-features=AutomationControlled']),
    openPages(),
    startServer(),
  ]);
  const client = createClient({ url: server.url, key: server.secretKey });
  let shoppers = 0;
  return {
    plain,
    disguised,
    pages,
    async judge(page) {
      const token = await tokenOf(page);
      const answer = await client.decide({
        event_type: 'login',
        // Everybody has an address of their own: the tests are about the browser alone.
        ip: `84.${100 + ++shoppers}.10.20`,
        user_agent: await page.evaluate(() => navigator.userAgent),
        session_token: token,
        entity_keys: { user_id: `shopper-${shoppers}` },
      });
      if (answer.kind !== 'answer' || answer.status !== 200) throw new Error(JSON.stringify(answer));
      const { decision, score, reasons } = answer.body as Judged;
      const { auto, beat } = decodeToken(token).body.sig;
      return { decision, score, reasons, auto, beat: beat as Record<string, number> };
    },
    async inContext(browser, options, work, init) {
      const context = await browser.newContext(options);
      try {
        if (init !== undefined) await context.addInitScript(init);
        return await work(await openPage(context, pages, { form: '1' }), context);
      } finally {
        await context.close();
      }
    },
    async close() {
      await Promise.all([disguised.close(), pages.close(), server.stop()]);
    },
  };
}

/** A window with a frame on a graphics card, so that each test adds its own trace only. */
export function likeADesktop(): void {
  for (const [name, add] of [
    ['outerWidth', 0],
    ['outerHeight', 87],
  ] as const) {
    const inner = name === 'outerWidth' ? 'innerWidth' : 'innerHeight';
    Object.defineProperty(window, name, { get: () => window[inner] + add, configurable: true });
  }
  const getParameter = Reflect.get(WebGLRenderingContext.prototype, 'getParameter') as (name: number) => unknown;
  WebGLRenderingContext.prototype.getParameter = function (name: number): unknown {
    const value: unknown = getParameter.call(this, name);
    return typeof value === 'string' && value.includes('SwiftShader')
      ? 'ANGLE (Intel, Mesa Intel(R) UHD Graphics 620)'
      : value;
  };
}
