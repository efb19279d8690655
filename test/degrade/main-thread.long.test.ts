import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { endlessDatabase } from '../support/geo-databases.ts';
import { get } from '../support/requests.ts';
import { type RunningServer, startNode } from '../support/server.ts';

/** What would keep the main thread of a server for ever. */

let server: RunningServer | null = null;
afterEach(async () => {
  await server?.stop('SIGKILL');
  server = null;
});

function isRunning({ pid }: RunningServer): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('the main thread', () => {
  test('A server answers while it checks a GeoIP file that never ends, refuses it, and starts with it', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-test-'));
    onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
    server = await startNode({ dataDir, env: { GATEHOUSE_GEOIP_DIR: '' } });
    const folder = join(dataDir, 'geoip');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'city.new'), endlessDatabase());
    renameSync(join(folder, 'city.new'), join(folder, 'city.mmdb'));
    const slowest = { ms: 0 };
    while (!server.stdout().includes('GeoIP file refused')) {
      const before = performance.now();
      expect((await get(server.url, '/healthz')).status).toBe(200);
      slowest.ms = Math.max(slowest.ms, performance.now() - before);
      await wait(100);
    }
    expect(slowest.ms).toBeLessThan(3_000);
    expect(server.stdout()).toMatch(/reading it (?:took longer than 10000 ms|ended the process)/);
    await server.stop('SIGTERM');
    server = await startNode({ dataDir, env: { GATEHOUSE_GEOIP_DIR: '' } });
    expect((await get(server.url, '/readyz')).text).toContain('city.mmdb was refused');
  });

  test('A server whose main thread hangs ends itself after 30 s, with a line in the log', async () => {
    const trap = 'process.on("SIGUSR2",()=>{for(;;);})';
    server = await startNode({ nodeFlags: ['--import', `data:text/javascript,${trap}`] });
    process.kill(server.pid, 'SIGUSR2');
    const before = performance.now();
    while (isRunning(server) && performance.now() - before < 120_000) await wait(200);
    expect(isRunning(server)).toBe(false);
    expect(performance.now() - before).toBeGreaterThan(25_000);
    expect(server.stdout()).toContain('"msg":"the main thread is stuck; exiting for a restart by the supervisor"');
  });
});
