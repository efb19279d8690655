import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

const CANDIDATES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Keeps the browser off the network: it looks up hosts of its maker at every start otherwise. */
const FLAGS = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/**
 * Starts a headless Chromium with a fresh profile; the caller closes it. `flags` are added to the command line; `without` are flags of
 * playwright's own that are left out.
 *
 * @throws {Error} when no Chromium is installed: tests in a browser never pass without one.
 */
export async function startChromium(flags: readonly string[] = [], without: readonly string[] = []): Promise<Browser> {
  const executablePath = process.env['GATEHOUSE_CHROMIUM'] ?? CANDIDATES.find((path) => existsSync(path));
  if (executablePath === undefined) throw new Error('no Chromium: apt-get install chromium, or set GATEHOUSE_CHROMIUM');
  return chromium.launch({
    executablePath,
    // As root, Chromium's sandbox does not start.
    chromiumSandbox: process.getuid?.() !== 0,
    args: [...FLAGS, ...flags],
    ignoreDefaultArgs: [...without],
  });
}

let shared: Promise<Browser> | null = null;

/** Returns a browser without further flags that all files of this process use: contexts keep them apart. It ends with the process. */
export function sharedChromium(): Promise<Browser> {
  shared ??= startChromium();
  return shared;
}
