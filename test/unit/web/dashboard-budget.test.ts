import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { PAGE_IDS } from '../../support/dashboard-pages.ts';

/** How large the built pages are. Requires a build, as `npm test` does. */

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const DIST = join(ROOT, 'dist/web/dashboard');
const KB = 1_024;

function read(file: string): string {
  return readFileSync(join(DIST, file), 'utf8');
}

/** Returns a script and everything that it imports before it runs. */
function closureOf(file: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(file)) return found;
  found.add(file);
  for (const [, name = ''] of read(file).matchAll(/(?:from|import)\s*"(?:\/dashboard\/assets\/|\.\/)([\w-]+\.js)"/g))
    closureOf(name, found);
  return found;
}

/** Returns what a script imports while it runs, without pages. */
function laterPartsOf(file: string): string[] {
  const parts = [...read(file).matchAll(/import\("(?:\/dashboard\/assets\/|\.\/)([\w-]+\.js)"\)/g)].map(
    ([, name = '']) => name,
  );
  return parts.filter((name) => !/-page-\w+\.js$/.test(name));
}

function gzipped(files: Iterable<string>): number {
  return [...files].reduce((bytes, file) => bytes + gzipSync(readFileSync(join(DIST, file)), { level: 9 }).length, 0);
}

describe('The built dashboard', () => {
  const files = existsSync(DIST) ? readdirSync(DIST) : [];
  const page = files.includes('index.html') ? read('index.html') : '';
  const entry = /src="\/dashboard\/assets\/([^"]+)"/.exec(page)?.[1] ?? '';
  const style = /href="\/dashboard\/assets\/([^"]+\.css)"/.exec(page)?.[1] ?? '';
  const scriptOf = (id: string): string => files.find((file) => new RegExp(`^${id}-page-\\w+\\.js$`).test(file)) ?? '';

  const first =
    files.length === 0 ? new Set<string>() : new Set([...closureOf(entry), ...closureOf(scriptOf('overview'))]);

  test('loads at most 61 KB of scripts and 8 KB of styles, gzipped, for its first page', () => {
    expect(first.size).toBeGreaterThan(2);
    expect(gzipped(first)).toBeLessThanOrEqual(61 * KB);
    expect(gzipped([style])).toBeLessThanOrEqual(8 * KB);
  });

  test.each(PAGE_IDS)('loads at most 35 KB more for the page %s, and for each part that it loads later', (id) => {
    const page = new Set([...first, ...closureOf(scriptOf(id))]);
    const more = gzipped(page) - gzipped(first);
    const parts = [...page]
      .flatMap(laterPartsOf)
      .map((part) => gzipped(closureOf(part, new Set(page))) - gzipped(page));
    for (const bytes of [more, ...parts]) expect(bytes).toBeLessThanOrEqual(35 * KB);
  });

  test('takes at most 566 KB, without the compressed forms of its files', () => {
    const plain = files.filter((file) => !/\.(?:br|gz)$/.test(file));
    expect(plain.length).toBeGreaterThan(3);
    expect(plain.reduce((bytes, file) => bytes + statSync(join(DIST, file)).size, 0)).toBeLessThanOrEqual(566 * KB);
  });

  test('is built in at most 4 s of processor time', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bundle-'));
    try {
      for (const name of ['src', 'node_modules', 'tsconfig.json', 'package.json'])
        symlinkSync(join(ROOT, name), join(folder, name));
      const script = join(ROOT, 'dist/scripts/bundle-web.js');
      const { stdout, status } = spawnSync('bash', ['-c', '"$0" "$1" && times', process.execPath, script], {
        cwd: folder,
        encoding: 'utf8',
        env: { ...process.env, LC_ALL: 'C' },
      });
      expect(status).toBe(0);
      // The second line is that of the shell's children: user and system time.
      const [, children = ''] = stdout.trim().split('\n');
      const seconds = [...children.matchAll(/(\d+)m([\d.]+)s/g)].map(
        ([, minutes, rest]) => Number(minutes) * 60 + Number(rest),
      );
      expect(seconds).toHaveLength(2);
      expect(seconds.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(4);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test('has no inline script and no inline style, which its policy would refuse', () => {
    expect(page).not.toMatch(/<script(?![^>]*src=)|<style|\sstyle=|\son\w+=/);
  });
});
