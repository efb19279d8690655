import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decodeToken, openPage, tokenOf } from './support/collector-pages.ts';
import { DISGUISE, type JudgedBrowsers, likeADesktop, openJudgedBrowsers } from './support/judged-browsers.ts';

let browsers: JudgedBrowsers;

beforeAll(async () => {
  browsers = await openJudgedBrowsers();
});
afterAll(() => browsers.close());

describe('automation', () => {
  test('A headless browser that hides nothing has webdriver, no frame and graphics in software, and is challenged', async () => {
    const judged = await browsers.inContext(browsers.plain, {}, (page) => browsers.judge(page));
    expect(judged.auto).toEqual(['webdriver', 'no_frame', 'soft_gl']);
    expect(judged.reasons).toEqual(expect.arrayContaining(['device_headless', 'device_automation']));
    expect(judged).toMatchObject({ decision: 'SOFT_CHALLENGE', score: 70 });
  });

  test('A headless browser with two flags against detection is still challenged, for two independent traces', async () => {
    const judged = await browsers.inContext(browsers.disguised, DISGUISE, (page) => browsers.judge(page));
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
    const context = await browsers.disguised.newContext(DISGUISE);
    await context.addInitScript(likeADesktop);
    await context.addInitScript(change);
    const judged = await browsers.judge(await openPage(context, browsers.pages, { form: '1' }));
    await context.close();
    expect(judged.auto).toEqual(codes);
    expect(judged.reasons).toEqual(['device_automation']);
    expect(judged.score).toBe(score);
    expect(judged.decision).toBe(score < 30 ? 'ALLOW' : score < 50 ? 'ALLOW_WATCH' : 'SOFT_CHALLENGE');
  });

  test('A desktop browser without traces is allowed with no reason', async () => {
    const judged = await browsers.inContext(browsers.disguised, DISGUISE, (page) => browsers.judge(page), likeADesktop);
    expect(judged).toMatchObject({ decision: 'ALLOW', score: 0, reasons: [], auto: [] });
  });

  test('A worker with another user agent than its page is noticed on request only', async () => {
    const context = await browsers.disguised.newContext(DISGUISE);
    await context.addInitScript(likeADesktop);
    await context.addInitScript(() => {
      Object.defineProperty(Navigator.prototype, 'userAgent', {
        get: () => 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/150.0.0.0',
      });
    });
    const page = await openPage(context, browsers.pages, { 'data-worker': 'on' });
    await expect.poll(async () => decodeToken(await tokenOf(page)).body.sig['auto']).toEqual(['worker_ua']);
    const without = await openPage(context, browsers.pages);
    await without.waitForTimeout(500);
    expect(decodeToken(await tokenOf(without)).body.sig['auto']).toEqual([]);
    await context.close();
  });
});
