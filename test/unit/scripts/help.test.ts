import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

/** The programs of `scripts` and `bench` that people call, the former by file, the latter by name. All others are their child processes. */

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const NO_PROGRAM = new Set(['usage.js', 'facts-table.js', 'rooms.js', 'delivery-schemas.js', 'client-types.js']);
const BENCHES = [
  'check',
  'check/prove',
  'cluster',
  'decide',
  'demo-learning',
  'extract',
  'isolation',
  'micro',
  'open-loop',
  'webhooks',
];

const scripts = readdirSync(join(ROOT, 'dist/scripts')).filter((name) => name.endsWith('.js') && !NO_PROGRAM.has(name));
const PROGRAMS = [
  ...scripts.map((name) => [process.execPath, join(ROOT, 'dist/scripts', name)] as const),
  ...BENCHES.map((name) => [process.execPath, join(ROOT, 'dist/bench', `${name}.js`)] as const),
  ...readdirSync(join(ROOT, 'scripts'))
    .filter((name) => name.endsWith('.sh'))
    .map((name) => ['bash', join(ROOT, 'scripts', name)] as const),
];

test('--help prints how a program is called, and creates no file', async () => {
  expect(PROGRAMS.length).toBeGreaterThan(10);
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-help-'));
  const ran = await Promise.all(
    PROGRAMS.map(async ([command, file]) => {
      const child = spawn(command, [file, '--help'], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
      const code = new Promise<number | null>((resolve) => {
        child.on('close', resolve);
      });
      const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
      return { file, code: await code, out, err };
    }),
  );
  for (const { file, code, out, err } of ran) {
    expect({ file, code, err, isHelp: out.includes('\n') }).toEqual({ file, code: 0, err: '', isHelp: true });
  }
  expect(readdirSync(folder)).toEqual([]);
  rmSync(folder, { recursive: true });
});
