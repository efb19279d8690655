import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { dashboardBuild } from '../../../src/app/dashboard-build.ts';
import type { SiteBuild } from '../../../src/http/site-pages.ts';
import { createLog, type Log } from '../../../src/observe/log.ts';

function read(files: Readonly<Record<string, string>>): { build: () => SiteBuild | null; warnings: unknown[] } {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-site-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const warnings: unknown[] = [];
  const log = Object.assign(createLog('silent'), { warn: (fields: unknown) => void warnings.push(fields) }) as Log;
  return { build: dashboardBuild(pathToFileURL(`${folder}/`), log), warnings };
}

const TYPE = 'text/javascript; charset=utf-8';
const manifest = (...assets: readonly object[]): string => JSON.stringify({ index: 'index.html', assets });

describe('the build of the dashboard', () => {
  test('The build is read by its manifest, and files only when they are asked for', () => {
    const { build } = read({
      'index.html': '<html data-theme="system">',
      'manifest.json': manifest({ file: 'main-A1.js', type: TYPE }, { file: 'gone-A1.js', type: TYPE }),
      'main-A1.js': 'js',
      'main-A1.js.br': 'br',
      'main-A1.js.gz': 'gz',
    });
    const built = build();
    expect(built?.index).toBe('<html data-theme="system">');
    const [main, gone] = built?.assets ?? [];
    expect(main).toMatchObject({ file: 'main-A1.js', contentType: TYPE });
    const bytes = Object.entries(main?.load() ?? {}).map(([coding, content]) => [coding, String(content)]);
    expect(Object.fromEntries(bytes)).toEqual({ identity: 'js', br: 'br', gzip: 'gz' });
    expect(() => gone?.load()).toThrow('ENOENT');
  });

  test('A file without compressed forms is sent as it is', () => {
    const { build } = read({
      'index.html': '',
      'manifest.json': manifest({ file: 'a.png', type: 'image/png' }),
      'a.png': 'x',
    });
    expect(build()?.assets[0]?.load()).toMatchObject({ br: null, gzip: null });
  });

  test.each([
    ['no manifest', {}],
    ['a manifest that is not JSON', { 'manifest.json': '{' }],
    ['a manifest without a page', { 'manifest.json': manifest() }],
    ['a page outside the folder', { 'manifest.json': JSON.stringify({ index: '../x', assets: [] }) }],
    ['a file outside the folder', { 'manifest.json': manifest({ file: '../a.js', type: TYPE }), 'index.html': '' }],
    [
      'a type with a line break',
      { 'manifest.json': manifest({ file: 'a.js', type: 'a/b\r\nX: y' }), 'index.html': '' },
    ],
  ])('%s counts as no build, which is logged once', (_case, files) => {
    const { build, warnings } = read(files);
    expect([build(), build(), build()]).toEqual([null, null, null]);
    expect(warnings).toHaveLength(1);
  });
});
