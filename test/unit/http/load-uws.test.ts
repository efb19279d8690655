import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadUws } from '../../../src/http/load-uws.ts';

const MODULE = fileURLToPath(new URL('../../../dist/src/http/load-uws.js', import.meta.url));

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-uws-test-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

/** Loads the library in a process that can create folders in the data directory only, as in a container with a read-only root. */
function loadReadOnly(given: string): string {
  const program = `
    import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    const real = fs.mkdtempSync;
    fs.mkdtempSync = (prefix) => {
      if (prefix.startsWith(${JSON.stringify(dataDir)})) return real(prefix);
      throw new Error('EROFS: read-only file system');
    };
    syncBuiltinESMExports();
    const { loadUws } = await import(${JSON.stringify(MODULE)});
    console.log(loadUws(${given}).kind);`;
  return spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' }).stdout.trim();
}

test.skipIf(loadUws().kind !== 'loaded')(
  'Where only the data directory can be written, the copy of uWebSockets.js is loaded from there and removed',
  () => {
    expect(loadReadOnly(JSON.stringify(dataDir))).toBe('loaded');
    expect(readdirSync(dataDir)).toEqual([]);
    expect(loadReadOnly('undefined')).toBe('unavailable');
  },
);
