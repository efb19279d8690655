import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

/** `npm start` as called by users and supervisors, in a copy of the project that is already built. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const NPM_ENV = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|GATEHOUSE_)/i.test(name)));

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-npm-'));
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
  manifest.scripts['build'] = 'true';
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  cpSync(join(ROOT, '.npmrc'), join(folder, '.npmrc'));
  symlinkSync(join(ROOT, 'dist'), join(folder, 'dist'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('npm start', () => {
  // A supervisor sends SIGTERM to npm only; Ctrl-C reaches npm, its shell and the server.
  test.each([
    ['SIGTERM to npm', 'SIGTERM', (pid: number) => pid],
    ['Ctrl-C', 'SIGINT', (pid: number) => -pid],
  ] as const)(
    '%s stops the server of npm start gracefully, and leaves no process behind',
    async (_name, signal, target) => {
      const npm = spawn('npm', ['start'], {
        cwd: folder,
        env: {
          ...NPM_ENV,
          GATEHOUSE_PORT: '0',
          GATEHOUSE_DATA_DIR: join(folder, 'data'),
          GATEHOUSE_VELOCITY_MB: '16',
          GATEHOUSE_GEOIP_PACKAGES: '0',
        },
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let out = '';
      let err = '';
      npm.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
      npm.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
      const ended = once(npm, 'exit');
      const pid = npm.pid ?? 0;
      try {
        await expect.poll(() => out, { timeout: 60_000 }).toContain('"msg":"serving"');
        process.kill(target(pid), signal);
        await ended;
        // The exit of npm may be seen before the last lines of the server are read.
        await expect.poll(() => out).toContain('"msg":"stopped"');
        await expect.poll(() => isAlive(-pid)).toBe(false);
        expect(err).not.toContain('npm warn Unknown project config');
      } finally {
        if (isAlive(-pid)) process.kill(-pid, 'SIGKILL');
      }
    },
  );
});

test('npm installs packages without running install scripts, which would download files', () => {
  expect(readFileSync(join(ROOT, '.npmrc'), 'utf8')).toMatch(/^ignore-scripts=true$/m);
});
