import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';

/** Saves a picture of the whole page into the folder that `GATEHOUSE_PICTURES` names, for people to look at; does nothing without it. */
export async function shoot(page: Page, name: string): Promise<void> {
  const folder = process.env['GATEHOUSE_PICTURES'];
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}
