import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

/** What a start has to read: the files of `dist/app` that a program imports at once, as `npm test` built them. */

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

/** The server's own part, which the command `serve` loads late. */
function serverFile(): string {
  const command = /"\.\/(serve-[^"]+)"/.exec(closureOf('main.js').text)?.[1] ?? '';
  return /"\.\/(main-[^"]+)"/.exec(closureOf(command).text)?.[1] ?? '';
}

test('the command line loads neither the store nor the server before it knows the command', () => {
  const { packages, text } = closureOf('main.js');
  expect([...packages]).toEqual([]);
  expect(text.length).toBeLessThan(300_000);
});

test('the server is in few files, and only packages that need their own files are outside of them', () => {
  const { files, packages, text } = closureOf(serverFile());
  expect(files.size).toBeLessThan(60);
  expect([...packages].sort()).toEqual(['lmdb', 'msgpackr', 'piscina']);
  // Measured: 1 MB costs 50 ms at a start.
  expect(text.length).toBeLessThan(2_500_000);
});

test('parts of packages that nothing uses are left out of the bundle', () => {
  expect(closureOf(serverFile()).text.includes('zod/v4/locales/de')).toBe(false);
  const { text } = closureOf('score.js');
  expect(text.includes('Googlebot')).toBe(true);
  expect(text.length).toBeLessThan(1_000_000);
});
