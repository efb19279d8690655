import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Browser, Page } from 'playwright-core';
import { startChromium } from './support/chromium.ts';

const DEMO = fileURLToPath(new URL('../../dist/scripts/demo-shop.js', import.meta.url));
const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

/** Choice: a start takes a second, but longer on a machine that tests at the same time. */
const START_MS = 90_000;

let browser: Browser;
let demo: ChildProcess;
let url = '';

beforeAll(async () => {
  browser = await startChromium(['--disable-blink-features=AutomationControlled']);
  demo = spawn(process.execPath, [DEMO, '--port', '0'], { stdio: ['ignore', 'ignore', 'pipe'] });
  let greeting = '';
  demo.stderr?.setEncoding('utf8').on('data', (text: string) => (greeting += text));
  for (const until = Date.now() + START_MS; url === '' && Date.now() < until;) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    url = /http:\/\/localhost:\d+/.exec(greeting)?.[0] ?? '';
  }
  if (url === '') throw new Error(`the demo did not start\n${greeting}`);
});
afterAll(async () => {
  await browser.close();
  demo.kill('SIGTERM');
  if (demo.exitCode === null) await once(demo, 'exit');
});

const AGENT = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36';

async function open(
  path: string,
  options: {
    readonly colorScheme?: 'light' | 'dark';
    readonly width?: number;
    readonly javaScriptEnabled?: boolean;
  } = {},
): Promise<Page> {
  const { colorScheme = 'light', width = 1_180, javaScriptEnabled = true } = options;
  const viewport = { width, height: 800 };
  const context = await browser.newContext({ colorScheme, viewport, userAgent: AGENT, javaScriptEnabled });
  const page = await context.newPage();
  await page.goto(`${url}/${path}`);
  return page;
}

const resultOf = async (page: Page): Promise<string> => {
  await page.waitForSelector('.badge');
  return page.locator('#result').innerText();
};

describe('the shop of the demo', () => {
  test('A form that a person sends brings a decision with a token that has a grant', async () => {
    const errors: string[] = [];
    const page = await open('login.html');
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
    await page.locator('[name=email]').pressSequentially('anna@example.com', { delay: 60 });
    await page.fill('[name=password]', 'secret of anna');
    await page.click('form button:not([type])');
    expect(await resultOf(page)).toMatch(/SOFT_CHALLENGE\s+50 of 100/);
    await page.click('summary >> nth=0');
    const token = JSON.parse(await page.locator('pre').first().innerText()) as Record<string, unknown>;
    expect(token).toMatchObject({ aud: url, seq: 1 });
    await page.click('summary >> nth=1');
    const sent = await page.locator('pre').nth(1).innerText();
    expect(sent).toContain('"session_token": "st2.');
    expect(sent).not.toContain('secret of anna');
    await page.fill('#result [name=code]', '246810');
    await page.click('#result button');
    await page.getByText('Reported outcome: challenge_passed').waitFor();
    expect(errors).toEqual([]);
    await page.context().close();
  });

  test('A form that a script fills in has more reasons, and the page never sends the card number', async () => {
    const page = await open('checkout.html');
    const bodies: string[] = [];
    page.on('request', (request) => bodies.push(request.postData() ?? ''));
    await page.click('[data-robot]');
    const result = await resultOf(page);
    expect(result).toContain('device_scripted_input');
    expect(result).toContain('synthetic');
    expect(bodies.join(' ')).toContain('"card":');
    expect(bodies.join(' ')).not.toContain('4000');
    await page.context().close();
  });

  test('Without JavaScript the result is a page, challenges can be passed, and the session id of the shop is the token', async () => {
    const page = await open('checkout.html', { javaScriptEnabled: false });
    await page.fill('[name=email]', 'ben@example.com');
    await page.fill('[name=card]', '4000 0000 0000 0002');
    await page.click('form button:not([type])');
    expect(await page.locator('h1').innerText()).toBe('You are in');
    expect(await page.locator('main').innerText()).toMatch(/ALLOW[\s\S]*Reported outcome: succeeded/);
    // The robot's user agent is challenged, with and without a script.
    const robot = await browser.newContext({
      javaScriptEnabled: false,
      userAgent: AGENT.replace('Chrome/', 'HeadlessChrome/'),
    });
    const challenged = await robot.newPage();
    for (const [code, title, outcome] of [
      ['246810', 'You are in', 'challenge_passed'],
      ['000000', 'You cannot go on here', 'challenge_failed'],
    ] as const) {
      await challenged.goto(`${url}/login.html`);
      await challenged.fill('[name=email]', 'eve@example.com');
      await challenged.fill('[name=password]', 'secret of eve');
      await challenged.click('form button:not([type])');
      expect(await challenged.locator('h1').innerText()).toBe('One more proof');
      expect(await challenged.locator('main').innerText()).not.toContain('missing_session_token');
      await challenged.fill('[name=code]', code);
      await challenged.click('button');
      expect(await challenged.locator('h1').innerText()).toBe(title);
      expect(await challenged.locator('main').innerText()).toContain(`Reported outcome: ${outcome}`);
    }
    await robot.close();
    await page.context().close();
  });

  test.each([
    ['login.html', 'light', 1_180],
    ['signup.html', 'dark', 1_180],
    ['checkout.html', 'light', 320],
    ['checkout.html', 'dark', 320],
  ] as const)('%s is accessible in %s at %i pixels, before and after a decision', async (path, colorScheme, width) => {
    const page = await open(path, { colorScheme, width });
    const violations = async (): Promise<unknown> => {
      await page.evaluate(AXE);
      return page.evaluate(async () => {
        const { axe } = window as unknown as {
          axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
        };
        return (await axe.run()).violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
      });
    };
    expect(await violations()).toEqual([]);
    await page.click('[data-robot]');
    await resultOf(page);
    for (const at of [0, 1]) await page.click(`summary >> nth=${at}`);
    expect(await violations()).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    await page.context().close();
  });
});
