/**
 * Takes the pictures of docs/dashboard-pages.png: every page light, dark, and 320 pixels wide. Needs a running dashboard with traffic and
 * the link that it prints, such as that of `npm run demo -- --keep`, and Debian's Chromium.
 *
 *   node scripts/dashboard-pictures.mjs 'http://127.0.0.1:8080/dashboard#code=…' [folder of the single pictures]
 */
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const [link, folder = mkdtempSync(join(tmpdir(), 'gatehouse-pictures-'))] = process.argv.slice(2);
if (link === undefined) throw new Error("usage: dashboard-pictures.mjs '<link of the dashboard>' [folder]");
const SHEET = 'docs/dashboard-pages.png';
const origin = new URL(link).origin;

const LOOKS = [
  { name: 'Light', scheme: 'light', width: 1_280, height: 900, shownWidth: 500 },
  { name: 'Dark', scheme: 'dark', width: 1_280, height: 900, shownWidth: 500 },
  { name: '320 pixels', scheme: 'light', width: 320, height: 720, shownWidth: 243 },
];

mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env.GATEHOUSE_CHROMIUM ?? '/usr/bin/chromium',
  chromiumSandbox: process.getuid?.() !== 0,
});
const context = await browser.newContext({ reducedMotion: 'reduce', timezoneId: 'Europe/Berlin' });
const page = await context.newPage();
await page.goto(link);
await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();

const read = async (path) => (await page.request.get(`${origin}/dashboard/api/v1${path}`)).json();
const flagged = (await read('/decisions?decision=SOFT_CHALLENGE&limit=1')).data[0];
const address = flagged.links?.find(({ kind }) => kind === 'ip')?.id ?? flagged.ip;
const PAGES = [
  ['Overview', ''],
  ['Decisions', '/decisions'],
  ['One decision', `/decisions/${flagged.request_id}`],
  ['Links of an address', `/links/ip/${encodeURIComponent(address)}`],
  ['Review', '/review'],
  ['Lists', '/lists'],
  ['Rules', '/rules'],
  ['Webhooks', '/webhooks'],
  ['Extractions', '/extractions'],
  ['Try it', '/try'],
  ['Keys & health', '/keys'],
  ['Audit log', '/audit'],
];

const sections = [];
for (const { name, scheme, width, height, shownWidth } of LOOKS) {
  await page.emulateMedia({ colorScheme: scheme });
  await page.setViewportSize({ width, height });
  const figures = [];
  for (const [title, path] of PAGES) {
    await page.goto(`${origin}/dashboard${path}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForFunction(() => document.querySelector('main .skeleton') === null);
    // Charts and maps are drawn after their data have come.
    await page.waitForTimeout(500);
    const file = join(folder, `${name} ${title}.png`.replaceAll(/[ &]+/g, '-').toLowerCase());
    await page.screenshot({ path: file });
    const source = `data:image/png;base64,${readFileSync(file).toString('base64')}`;
    figures.push(`<figure><img src="${source}" width="${shownWidth}"><figcaption>${title}</figcaption></figure>`);
  }
  sections.push(`<h2>${name}</h2><div>${figures.join('')}</div>`);
}

const style =
  'body{margin:0;padding:16px;background:#e9ebef;font:15px sans-serif;color:#222;width:1552px}div{display:flex;flex-wrap:wrap;gap:16px}' +
  'figure{margin:0;background:#fff;border-radius:8px;overflow:hidden}img{display:block}figcaption{padding:6px 10px}';
await page.setViewportSize({ width: 1_584, height: 900 });
await page.emulateMedia({ colorScheme: 'light' });
await page.goto('about:blank');
await page.setContent(`<style>${style}</style>${sections.join('')}`);
writeFileSync(SHEET, await page.screenshot({ fullPage: true }));
await browser.close();
console.log(`${SHEET}; single pictures in ${folder}`);
