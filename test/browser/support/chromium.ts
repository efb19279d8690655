import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

const COMPLETE = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
/** The same engine without a browser around it. Measured: half of the processor time of the complete one. */
const SHELL = ['/usr/bin/chromium-headless-shell'];

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
 * Starts a headless, complete Chromium with a fresh profile; the caller closes it. `flags` are added to the command line; `without` are
 * flags of playwright's own that are left out.
 *
 * @throws {Error} when no Chromium is installed: tests in a browser never pass without one.
 */
export function startChromium(flags: readonly string[] = [], without: readonly string[] = []): Promise<Browser> {
  return launch(process.env['GATEHOUSE_CHROMIUM'] ?? installed(COMPLETE), flags, without);
}

/**
 * One process for all pages of a context. The next page would start with a process of its own otherwise, which compiles everything again.
 * Measured: 15 instead of 19 s of processor time for 12 tests.
 */
const ONE_RENDERER = ['--renderer-process-limit=1', '--process-per-site'];

let complete: Promise<Browser> | null = null;
let shell: Promise<Browser> | null = null;

/** Returns a browser without further flags that all files of this process use: contexts keep them apart. It ends with the process. */
export function sharedChromium(): Promise<Browser> {
  complete ??= startChromium();
  return complete;
}

/**
 * Like `sharedChromium`, the headless shell of Chromium where it is installed: suitable for tests of what the engine shows and runs, not
 * for tests of what a browser reveals of itself.
 */
export function sharedShell(): Promise<Browser> {
  const path = process.env['GATEHOUSE_CHROMIUM_SHELL'] ?? installed(SHELL);
  shell ??= path === undefined ? sharedChromium() : launch(path, ONE_RENDERER);
  return shell;
}

function installed(paths: readonly string[]): string | undefined {
  return paths.find((path) => existsSync(path));
}

async function launch(
  executablePath: string | undefined,
  flags: readonly string[] = [],
  without: readonly string[] = [],
): Promise<Browser> {
  if (executablePath === undefined) throw new Error('no Chromium: apt-get install chromium, or set GATEHOUSE_CHROMIUM');
  return chromium.launch({
    executablePath,
    // As root, Chromium's sandbox does not start.
    chromiumSandbox: process.getuid?.() !== 0,
    args: [...FLAGS, ...flags],
    ignoreDefaultArgs: [...without],
  });
}
