import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Children, lineOf } from '../webhooks/children.ts';
import { usageOf, type ProcessUsage } from './usage.ts';

/** Crawlee is not a dependency of the project: a bench that needs it installs it into a separate folder. */

const PACKAGE = '@crawlee/cheerio';
/** The version that the published figures were measured with. */
const VERSION = '3.18.1';
const INSTALL_MS_MAX = 300_000;

export interface CrawleeRun {
  readonly pages: number;
  readonly ms: number;
  readonly usage: ProcessUsage;
}

/** Returns the package folder, or null when the package is missing and cannot be installed. */
export async function findCrawlee(folder: string): Promise<string | null> {
  const place = join(folder, 'node_modules', PACKAGE);
  if (existsSync(join(place, 'package.json'))) return place;
  console.log(`installing ${PACKAGE} ${VERSION} into ${folder}`);
  mkdirSync(folder, { recursive: true });
  const words = ['install', '--prefix', folder, '--no-audit', '--no-fund', `${PACKAGE}@${VERSION}`];
  const npm = spawn('npm', words, { cwd: folder, stdio: 'ignore', timeout: INSTALL_MS_MAX });
  const code = await once(npm, 'exit').then(
    ([code]) => code as number | null,
    () => null,
  );
  if (code === 0 && existsSync(join(place, 'package.json'))) return place;
  console.log(`${PACKAGE} could not be installed; only the service is measured`);
  return null;
}

/** Runs one crawl in a separate process. The time excludes the start of the process. */
export async function runCrawlee(
  children: Children,
  place: string,
  storage: string,
  { url, concurrency }: { readonly url: string; readonly concurrency: number },
): Promise<CrawleeRun> {
  const child = children.spawn(
    new URL('./crawlee-child.js', import.meta.url),
    join(place, 'index.mjs'),
    storage,
    url,
    String(concurrency),
  );
  const line = await lineOf(child, (text) => text.startsWith('{"crawled"'));
  const usage = usageOf(child.pid);
  child.disconnect();
  const { crawled, ms } = JSON.parse(line) as { crawled: number; ms: number };
  return { pages: crawled, ms, usage };
}
