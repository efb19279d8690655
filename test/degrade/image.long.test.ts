import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';

/**
 * The steps of deploy/Dockerfile in a clean folder, without Docker: packages and build are links to those of this folder, and what follows
 * them runs as written. The result then runs as the image's user on a read-only tree, in a separate mount namespace.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DOCKERFILE = readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8');
const USER = 10_001;

/** Why the image cannot run here; '' if it can. */
function hindrance(): string {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'needs root on Linux, for the user of the image';
  const tried = spawnSync('unshare', [
    '--mount',
    '--propagation',
    'private',
    'setpriv',
    `--reuid=${USER}`,
    '--clear-groups',
    'true',
  ]);
  return tried.status === 0 ? '' : 'needs unshare and setpriv, and the right to make a mount namespace';
}
const HINDRANCE = hindrance();
if (HINDRANCE !== '') console.log(`the image is not tested: it ${HINDRANCE}`);

function linesOf(instruction: string): readonly string[] {
  return [...DOCKERFILE.matchAll(new RegExp(`^${instruction} (.*)$`, 'gm'))].map(([, rest = '']) => rest);
}

/** Copies as links, so that nothing is read. Deleting a link deletes nothing else. */
function link(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  expect(spawnSync('cp', ['-al', from, to]).status).toBe(0);
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await once(probe.listen(0, '127.0.0.1'), 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  return port;
}

test.skipIf(HINDRANCE !== '')(
  'The image serves as its user on a read-only tree, is healthy, and stops with its signal',
  async () => {
    // On the disk of this folder, for links. The image's user sees it in a place that it may reach.
    const folder = mkdtempSync(join(ROOT, '.image-'));
    const open = mkdtempSync('/tmp/gatehouse-image-');
    onTestFinished(() => {
      for (const path of [folder, open]) rmSync(path, { recursive: true, force: true });
    });
    chmodSync(open, 0o755);
    const place = join(open, 'app');
    mkdirSync(place);
    const build = join(folder, 'build');
    for (const name of ['node_modules', 'dist']) link(join(ROOT, name), join(build, name));
    for (const name of ['package.json', 'package-lock.json', 'LICENSE', 'scripts']) {
      cpSync(join(ROOT, name), join(build, name), { recursive: true });
    }
    // npm writes this file in place, which would change the one of this folder.
    rmSync(join(build, 'node_modules/.package-lock.json'), { force: true });
    const [install, compile, ...after] = linesOf('RUN').slice(0, -2);
    expect([install, compile]).toEqual(['npm ci', 'npm run -s build']);
    for (const step of after) {
      const ran = spawnSync('sh', ['-c', step], {
        cwd: build,
        encoding: 'utf8',
        env: { ...process.env, npm_config_offline: 'true' },
      });
      expect([step, ran.status, ran.stderr]).toEqual([step, 0, expect.any(String)]);
    }
    expect(existsSync(join(build, 'node_modules/vitest'))).toBe(false);
    expect(existsSync(join(build, 'node_modules/onnxruntime-node/bin/napi-v6/win32/x64'))).toBe(false);
    expect(existsSync(join(ROOT, 'node_modules/onnxruntime-node/bin/napi-v6/win32/x64'))).toBe(true);

    const app = join(folder, 'app');
    for (const copied of linesOf('COPY --from=build')) {
      const words = copied.split(' ');
      const target = words.at(-1) ?? '';
      for (const source of words.slice(0, -1)) {
        const from = join(build, source.replace(/^\/app\//, ''));
        link(from, join(app, target.endsWith('/') ? source.replace(/^\/app\//, '') : target));
      }
    }
    const data = join(open, 'data');
    mkdirSync(data, { mode: 0o700 });
    chownSync(data, USER, USER);

    const env = {
      PATH: process.env['PATH'] ?? '',
      GATEHOUSE_PORT: String(await freePort()),
      GATEHOUSE_DATA_DIR: data,
      GATEHOUSE_VELOCITY_MB: '16',
    };
    const commandOf = (instruction: RegExp): readonly string[] =>
      JSON.parse(instruction.exec(DOCKERFILE)?.[1] ?? '[]') as readonly string[];
    const asUser = ['setpriv', `--reuid=${USER}`, `--regid=${USER}`, '--clear-groups', '--no-new-privs'];
    const readOnly = `mount --bind ${app} ${place} && mount -o remount,ro,bind ${place} && cd ${place} && ! touch x 2>&- && exec "$@"`;
    const words = [
      '--mount',
      '--propagation',
      'private',
      'sh',
      '-c',
      readOnly,
      'sh',
      ...asUser,
      ...commandOf(/^CMD (\[.*\])$/m),
    ];
    const server = spawn('unshare', words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    onTestFinished(() => void server.kill('SIGKILL'));
    const output = Promise.all([text(server.stdout), text(server.stderr)]);
    const exited = once(server, 'exit');

    const [program = '', ...check] = commandOf(/^HEALTHCHECK .* CMD (\[.*\])$/m);
    const health = () => spawnSync(program, check, { cwd: app, env, encoding: 'utf8' });
    await expect.poll(() => health().status, { timeout: 60_000, interval: 1_000 }).toBe(0);
    expect(health().stdout).toMatch(/^ok|^degraded/);
    const owner = spawnSync('stat', ['-c', '%u', join(data, 'gatehouse.json')], { encoding: 'utf8' }).stdout.trim();
    expect(owner).toBe(String(USER));
    server.kill(linesOf('STOPSIGNAL')[0] as NodeJS.Signals);
    const [code] = await exited;
    const [stdout, stderr] = await output;
    expect([code, stdout, stderr]).toEqual([
      0,
      expect.stringContaining('serving'),
      expect.stringContaining('secret key'),
    ]);
    expect(health().status).toBe(1);
  },
);
