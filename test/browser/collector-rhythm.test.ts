import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decodeToken, tokenOf } from './support/collector-pages.ts';
import { DISGUISE, type JudgedBrowsers, likeADesktop, openJudgedBrowsers } from './support/judged-browsers.ts';

let browsers: JudgedBrowsers;

beforeAll(async () => {
  browsers = await openJudgedBrowsers();
});
afterAll(() => browsers.close());

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

  // A script types like a person when the machine stops for 50 ms between two keys, so the test is repeated then.
  test.each([
    ['no delay', 0],
    ['a delay of 7 ms', 7],
  ])('Typing by a script with %s is noticed', { retry: 2 }, async (_how, delay) => {
    const judged = await browsers.inContext(
      browsers.disguised,
      DISGUISE,
      async (page) => {
        await page.locator('[name=name]').pressSequentially('somebody@example.com', { delay });
        return browsers.judge(page);
      },
      likeADesktop,
    );
    process.stdout.write(`script, delay ${delay} ms: gap ${judged.beat['gap']} ms ± ${judged.beat['gap_sd']}\n`);
    expect(judged.beat['keys']).toBe(20);
    expect(judged.reasons).toEqual(['device_scripted_input']);
    expect(judged).toMatchObject({ decision: 'ALLOW_WATCH', score: 30 });
  });

  test('Typing like a person fires nothing, and its rhythm is far from that of a script', async () => {
    const judged = await browsers.inContext(
      browsers.disguised,
      DISGUISE,
      async (page) => {
        await type(page, PERSON_GAPS_MS);
        return browsers.judge(page);
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
    const beat = await browsers.inContext(browsers.disguised, DISGUISE, async (page) => {
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
    const auto = await browsers.inContext(
      browsers.disguised,
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
    const [line, curve] = await browsers.inContext(browsers.disguised, DISGUISE, async (page) => {
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
