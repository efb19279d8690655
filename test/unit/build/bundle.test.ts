import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

/** What `npm test` built: the files that the command line imports statically, and the programs of the server with what they share. */

const APP = fileURLToPath(new URL('../../../dist/app/', import.meta.url));
const IMPORT = /^(?:import|export)\b[^'"();]*?(?:from )?["']([^"']+)["'];$/gm;

interface Closure {
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
  return { packages, text };
}

test('The command line loads neither the store nor the server before it knows the command', () => {
  const { packages, text } = closureOf('main.js');
  expect([...packages]).toEqual([]);
  expect(text.length).toBeLessThan(300_000);
});

test('The health check of a container loads no package and nothing of the store or the server', () => {
  const file = readdirSync(APP).find((name) => /^health-command-\w+\.js$/.test(name)) ?? '';
  const { packages, text } = closureOf(file);
  expect([...packages]).toEqual([]);
  expect(text).toContain('/readyz');
  // Measured: 1.6 times the processor time of a Node.js process that does nothing.
  expect(text.length).toBeLessThan(20_000);
});

test('The server and what it loads at its start have no package outside but the one that starts its own files', () => {
  const file = readdirSync(APP).find((name) => /^serve-\w+\.js$/.test(name)) ?? '';
  const { packages, text } = closureOf(file);
  // `module` is Node's own, as msgpackr names it.
  expect([...packages].sort()).toEqual(['module', 'piscina']);
  expect(text).not.toContain('RedisSocket = class');
  // Measured: 1 MB costs 50 ms at a start. The language of own rules (its parser and RE2) is 400 KB of it, lists, the request log and the
  // jobs of backtests some 80 KB, named lists some 40 KB, rights of keys and the gate some 50 KB, the lists of imports of
  // the shared parts 110 KB, CSS selectors with the fields that they choose some 80 KB, the
  // connectors of code hosts, registries and networks of people some 80 KB.
  expect(text.length).toBeLessThan(5_400_000);
});

test('Unused parts of packages are not in the bundle', () => {
  for (const name of readdirSync(APP).filter((one) => one.endsWith('.js'))) {
    expect(readFileSync(`${APP}${name}`, 'utf8').includes('zod/v4/locales/de')).toBe(false);
  }
  const { text } = closureOf('score.js');
  expect(text.includes('Googlebot')).toBe(true);
  // The exchange of events with other nodes is 30 KB of it, the language of own rules 400 KB, LMDB and the public suffix list 500 KB.
  expect(text.length).toBeLessThan(2_450_000);
});
