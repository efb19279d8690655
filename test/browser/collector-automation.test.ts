import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { createClient, type Client } from '../../src/client/client.ts';
import { startServer, type RunningServer } from '../support/server.ts';
import { sharedChromium, startChromium } from './support/chromium.ts';
import { decodeToken, openPage, openPages, tokenOf, type CollectorPages } from './support/collector-pages.ts';

let plain: Browser;
let disguised: Browser;
let pages: CollectorPages;
let server: RunningServer;
let client: Client;

beforeAll(async () => {
  [plain, disguised, pages, server] = await Promise.all([
    sharedChromium(),
    startChromium(['--disable-blink-features=AutomationControlled']),
    openPages(),
    startServer(),
  ]);
  client = createClient({ url: server.url, key: server.secretKey });
});
afterAll(async () => {
  await Promise.all([client.close(), disguised.close(), pages.close(), server.stop()]);
});

/** What a disguised browser says it is. */
const DISGUISE: BrowserContextOptions = {
  userAgent: 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36',
};

interface Judged {
  readonly decision: string;
  readonly score: number;
  readonly reasons: readonly string[];
  readonly auto: unknown;
  readonly beat: Record<string, number>;
}

let shoppers = 0;

/** Decides a login with the page's token and the browser's own user agent, as a backend does. */
async function judge(page: Page): Promise<Judged> {
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
}

async function inContext<T>(
  browser: Browser,
  options: BrowserContextOptions,
  work: (page: Page, context: BrowserContext) => Promise<T>,
  init?: () => void,
): Promise<T> {
  const context = await browser.newContext(options);
  try {
    if (init !== undefined) await context.addInitScript(init);
    return await work(await openPage(context, pages, { form: '1' }), context);
  } finally {
    await context.close();
  }
}

/** A window with a frame on a graphics card, so that each test adds its own trace only. */
function likeADesktop(): void {
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

describe('automation', () => {
  test('A headless browser that hides nothing has webdriver, no frame and graphics in software, and is challenged', async () => {
    const judged = await inContext(plain, {}, (page) => judge(page));
    expect(judged.auto).toEqual(['webdriver', 'no_frame', 'soft_gl']);
    expect(judged.reasons).toEqual(expect.arrayContaining(['device_headless', 'device_automation']));
    expect(judged).toMatchObject({ decision: 'SOFT_CHALLENGE', score: 70 });
  });

  test('A headless browser with two flags against detection is still challenged, for two independent traces', async () => {
    const judged = await inContext(disguised, DISGUISE, (page) => judge(page));
    expect(judged.auto).toEqual(['no_frame', 'soft_gl']);
    expect(judged.reasons).toEqual(['device_automation']);
    expect(judged).toMatchObject({ decision: 'SOFT_CHALLENGE', score: 50 });
  });

  test.each<[string, () => void, readonly string[], number]>([
    [
      'a getter on the prototype',
      () => Object.defineProperty(Navigator.prototype, 'webdriver', { get: () => false, configurable: true }),
      ['wd_patched'],
      30,
    ],
    [
      'a property of the navigator',
      () => Object.defineProperty(navigator, 'webdriver', { get: () => false, configurable: true }),
      ['nav_own'],
      30,
    ],
    ['deletion', () => Reflect.deleteProperty(Navigator.prototype, 'webdriver'), ['wd_patched'], 30],
    ['names of chromedriver', () => Object.assign(window, { cdc_adoQpoasnfa76pfcZLmcfl_Array: Array }), ['cdc'], 70],
    ['names of playwright', () => Object.assign(window, { __playwright__binding__: () => null }), ['pw'], 70],
    ['names of selenium', () => Object.assign(document, { __webdriver_script_fn: () => null }), ['selenium'], 30],
    [
      'an empty list of languages',
      () => Object.defineProperty(Navigator.prototype, 'languages', { get: () => [] }),
      ['no_lang'],
      10,
    ],
  ])('The rules notice %s', async (_what, change, codes, score) => {
    const context = await disguised.newContext(DISGUISE);
    await context.addInitScript(likeADesktop);
    await context.addInitScript(change);
    const judged = await judge(await openPage(context, pages, { form: '1' }));
    await context.close();
    expect(judged.auto).toEqual(codes);
    expect(judged.reasons).toEqual(['device_automation']);
    expect(judged.score).toBe(score);
    expect(judged.decision).toBe(score < 30 ? 'ALLOW' : score < 50 ? 'ALLOW_WATCH' : 'SOFT_CHALLENGE');
  });

  test('A desktop browser without traces is allowed with no reason', async () => {
    const judged = await inContext(disguised, DISGUISE, (page) => judge(page), likeADesktop);
    expect(judged).toMatchObject({ decision: 'ALLOW', score: 0, reasons: [], auto: [] });
  });

  test('A worker with another user agent than its page is noticed on request only', async () => {
    const context = await disguised.newContext(DISGUISE);
    await context.addInitScript(likeADesktop);
    await context.addInitScript(() => {
      Object.defineProperty(Navigator.prototype, 'userAgent', {
        get: () => 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/150.0.0.0',
      });
    });
    const page = await openPage(context, pages, { 'data-worker': 'on' });
    await expect.poll(async () => decodeToken(await tokenOf(page)).body.sig['auto']).toEqual(['worker_ua']);
    const without = await openPage(context, pages);
    await without.waitForTimeout(500);
    expect(decodeToken(await tokenOf(without)).body.sig['auto']).toEqual([]);
    await context.close();
  });
});

/** A person's gaps: 78 to 331 ms, a fixed series, so that every run types alike. */
const PERSON_GAPS_MS = [
  132, 98, 187, 143, 110, 331, 95, 121, 164, 78, 205, 139, 112, 90, 248, 131, 104, 176, 87, 152, 118, 290, 101, 144,
  126,
] as const;

describe('the rhythm of keys', () => {
  const type = async (page: Page, gapsMs: readonly number[]): Promise<void> => {
    await page.locator('[name=name]').focus();
    for (const gapMs of gapsMs) {
      await page.keyboard.press('a');
      await page.waitForTimeout(gapMs);
    }
  };

  test.each([
    ['no delay', 0],
    ['a delay of 7 ms', 7],
  ])('Typing by a script with %s is noticed', async (_how, delay) => {
    const judged = await inContext(
      disguised,
      DISGUISE,
      async (page) => {
        await page.locator('[name=name]').pressSequentially('somebody@example.com', { delay });
        return judge(page);
      },
      likeADesktop,
    );
    process.stdout.write(`script, delay ${delay} ms: gap ${judged.beat['gap']} ms ± ${judged.beat['gap_sd']}\n`);
    expect(judged.beat['keys']).toBe(20);
    expect(judged.reasons).toEqual(['device_scripted_input']);
    expect(judged).toMatchObject({ decision: 'ALLOW_WATCH', score: 30 });
  });

  test('Typing like a person fires nothing, and its rhythm is far from that of a script', async () => {
    const judged = await inContext(
      disguised,
      DISGUISE,
      async (page) => {
        await type(page, PERSON_GAPS_MS);
        return judge(page);
      },
      likeADesktop,
    );
    process.stdout.write(`person: gap ${judged.beat['gap']} ms ± ${judged.beat['gap_sd']}\n`);
    expect(judged.beat).toMatchObject({ keys: 25, gaps: 24 });
    expect(judged.beat['gap']).toBeGreaterThan(100);
    expect(judged.beat['gap_sd']).toBeGreaterThan(0.2 * (judged.beat['gap'] ?? 0));
    expect(judged).toMatchObject({ decision: 'ALLOW', reasons: [] });
  });

  test('A key that is held down counts once, and pauses are no gaps', async () => {
    const beat = await inContext(disguised, DISGUISE, async (page) => {
      await page.locator('[name=name]').focus();
      for (let i = 0; i < 30; i++) await page.keyboard.down('a');
      await page.waitForTimeout(2_200);
      await page.keyboard.up('a');
      await page.keyboard.press('b');
      return decodeToken(await tokenOf(page)).body.sig['beat'];
    });
    expect(beat).toMatchObject({ keys: 2, gaps: 0, gap: 0, gap_sd: 0 });
  });

  test('Events that a script makes are synthetic, once there are 8 of them', async () => {
    const auto = await inContext(
      disguised,
      DISGUISE,
      async (page) => {
        const press = (times: number): Promise<void> =>
          page.evaluate((count) => {
            for (let i = 0; i < count; i++)
              document
                .querySelector('[name=name]')
                ?.dispatchEvent(new KeyboardEvent('keydown', { key: 'a', bubbles: true }));
          }, times);
        await press(7);
        const before = decodeToken(await tokenOf(page)).body.sig['auto'];
        await press(1);
        return [before, decodeToken(await tokenOf(page)).body.sig['auto']];
      },
      likeADesktop,
    );
    expect(auto).toEqual([[], ['synthetic']]);
  });

  test('A straight line of a script goes on in one direction, a curve does not', async () => {
    const [line, curve] = await inContext(disguised, DISGUISE, async (page) => {
      await page.mouse.move(10, 10);
      await page.mouse.move(610, 310, { steps: 40 });
      const first = decodeToken(await tokenOf(page)).body.sig['beat'] as Record<string, number>;
      for (let i = 0; i <= 40; i++) await page.mouse.move(300 + 200 * Math.cos(i / 4), 300 + 200 * Math.sin(i / 4));
      return [first, decodeToken(await tokenOf(page)).body.sig['beat'] as Record<string, number>];
    });
    const more = (name: string): number => (curve?.[name] ?? 0) - (line?.[name] ?? 0);
    expect(line?.['moves']).toBeGreaterThan(20);
    expect((line?.['straight'] ?? 0) / (line?.['moves'] ?? 1)).toBeGreaterThan(0.8);
    expect(more('straight') / more('moves')).toBeLessThan(0.3);
  });
});
