import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

/** Returns the files of `dist/app` that a program imports statically, as `npm test` built them: what a start has to read. */

const APP = fileURLToPath(new URL('../../../dist/app/', import.meta.url));
const IMPORT = /^(?:import|export)\b[^'"();]*?(?:from )?["']([^"']+)["'];$/gm;

interface Closure {
  readonly files: ReadonlySet<string>;
  readonly packages: ReadonlySet<string>;
  readonly text: string;
}

function closureOf(first: string): Closure {
  const files = new Set([first]);
  const packages = new Set<string>();
  let text = '';
  for (const file of files) {
    const source = readFileSync(`${APP}${file}`, 'utf8');
    text += source;
    for (const [, specifier = ''] of source.matchAll(IMPORT)) {
      if (specifier.startsWith('./')) files.add(specifier.slice(2));
      else if (!specifier.startsWith('node:')) packages.add(specifier);
    }
  }
  return { files, packages, text };
}

/** The server's own part, which the command `serve` imports dynamically. */
function serverFile(): string {
  const command = /"\.\/(serve-command-[^"]+)"/.exec(closureOf('main.js').text)?.[1] ?? '';
  return /"\.\/(serve-[^"]+)"/.exec(closureOf(command).text)?.[1] ?? '';
}

test('The command line loads neither the store nor the server before it knows the command', () => {
  const { packages, text } = closureOf('main.js');
  expect([...packages]).toEqual([]);
  expect(text.length).toBeLessThan(300_000);
});

test('The server is bundled into few files, and only packages that need their own files stay outside of them', () => {
  const { files, packages, text } = closureOf(serverFile());
  expect(files.size).toBeLessThan(90);
  expect([...packages].sort()).toEqual(['lmdb', 'msgpackr', 'piscina']);
  // Measured: 1 MB costs 50 ms at a start.
  expect(text.length).toBeLessThan(3_400_000);
});

test('Unused parts of packages are not in the bundle', () => {
  expect(closureOf(serverFile()).text.includes('zod/v4/locales/de')).toBe(false);
  const { text } = closureOf('score.js');
  expect(text.includes('Googlebot')).toBe(true);
  // The exchange of events with other nodes is 30 KB of it.
  expect(text.length).toBeLessThan(1_100_000);
});
