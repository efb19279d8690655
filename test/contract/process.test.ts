import { spawn, spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ensureUsable } from '../../src/state/repair/ensure-usable.ts';
import { makeCertificate } from '../support/certificate.ts';
import { CALM, decide, get, newcomer, send, TRANSPORTS } from '../support/requests.ts';
import { startServer, type RunningServer } from '../support/server.ts';
import { decideTo, webhookClient } from '../support/webhooks.ts';

/** Start, stop and restart, as seen by a supervisor. Contract, 15.1, 15.4 and 15.5. */

const MAIN = fileURLToPath(new URL('../../dist/app/main.js', import.meta.url));
let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-process-'));
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

function serve(
  env: Readonly<Record<string, string>>,
  timeout?: number,
  nodeFlags: readonly string[] = [],
): SpawnSyncReturns<string> {
  return spawnSync(process.execPath, [...nodeFlags, MAIN, 'serve'], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], GATEHOUSE_DATA_DIR: dataDir, GATEHOUSE_GEOIP_PACKAGES: '0', ...env },
    killSignal: 'SIGKILL',
    timeout,
  });
}

describe('settings', () => {
  test('All invalid settings are named at once, and the exit code is 78', () => {
    const result = serve({
      GATEHOUSE_PORT: '99999',
      GATEHOUSE_TRANSPORT: 'carrier-pigeon',
      GATEHOUSE_WORKERS: '0',
      GATEHOUSE_TLS_CERT: '/x',
    });
    expect(result.status).toBe(78);
    for (const name of ['GATEHOUSE_PORT', 'GATEHOUSE_TRANSPORT', 'GATEHOUSE_WORKERS', 'GATEHOUSE_TLS_KEY']) {
      expect(result.stderr).toContain(name);
    }
  });

  test('Unusable TLS files and a data directory that cannot be created are named immediately, together with other invalid settings', () => {
    const env = {
      GATEHOUSE_PORT: 'x',
      GATEHOUSE_WORKERS: '0',
      GATEHOUSE_DATA_DIR: '/proc/nope',
      GATEHOUSE_TLS_CERT: join(dataDir, 'none.pem'),
      GATEHOUSE_TLS_KEY: join(dataDir, 'none.key'),
    };
    const result = serve(env, 20_000);
    expect(result.status).toBe(78);
    expect(result.stderr).toContain('GATEHOUSE_PORT');
    expect(result.stderr).toContain('GATEHOUSE_WORKERS');
    expect(result.stderr).toContain('GATEHOUSE_TLS_CERT');
    expect(result.stderr).toMatch(/GATEHOUSE_DATA_DIR cannot be used: \/proc\/nope cannot be made/);
  });

  test.each(TRANSPORTS)('A taken port ends the start over %s before anything is created', async (transport) => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const result = serve({ GATEHOUSE_PORT: String(port), GATEHOUSE_TRANSPORT: transport });
    expect(result.status).toBe(1);
    expect(result.stderr).toContain(`GATEHOUSE_PORT: port ${port} of 127.0.0.1 is taken`);
    expect(readdirSync(dataDir)).toEqual([]);
    taken.close();
  });

  test('A taken port of the dashboard ends the start before anything is created, and the message names its setting', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const result = serve({ GATEHOUSE_PORT: '0', GATEHOUSE_DASHBOARD_PORT: String(port) });
    expect(result.status).toBe(1);
    expect(result.stderr).toContain(`GATEHOUSE_DASHBOARD_PORT: port ${port} of 127.0.0.1 is taken`);
    expect(readdirSync(dataDir)).toEqual([]);
    taken.close();
  });

  test('The demo keys are printed even when a later step of the first start fails', () => {
    mkdirSync(join(dataDir, 'hot'));
    // The journal's folder cannot be created.
    writeFileSync(join(dataDir, 'hot', 'replay'), '');
    const result = serve({ GATEHOUSE_PORT: '0' });
    expect(result.status).toBe(1);
    expect(result.stderr).toMatch(/secret key {2}sk_live_/);
  });
});

/** Each test continues with the server of the previous one. */
describe('one data directory', () => {
  const METRICS_TOKEN = 'a-token-of-some-length';
  const env = {
    GATEHOUSE_METRICS_TOKEN: METRICS_TOKEN,
    GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8',
    GATEHOUSE_MASTER_KEY: 'a'.repeat(64),
  };
  const ids = Array.from({ length: 200 }, () => randomUUID());
  let kept: string;
  let server: RunningServer;
  let secretKey: string;
  beforeAll(async () => {
    kept = mkdtempSync(join(tmpdir(), 'gatehouse-process-'));
    server = await startServer({ dataDir: kept, env });
    ({ secretKey } = server);
  });
  afterAll(async () => {
    await server.stop();
    rmSync(kept, { recursive: true, force: true });
  });

  test('The first start prints the demo keys, outside the log', () => {
    expect(secretKey).toMatch(/^sk_live_[0-9A-Za-z]{38}$/);
    expect(server.publicKey).toMatch(/^pk_live_[0-9A-Za-z]{38}$/);
    expect(server.stderr()).toContain('npm run -s gatehouse -- decide --key');
    expect(server.stdout()).not.toContain(secretKey);
  });

  test('The log line that ends the start names the score workers and the processors for which their number was chosen', () => {
    expect(server.stdout()).toMatch(/"workers":[12],"processors":[1-9]\d*,.*"msg":"serving"/);
  });

  test('The first start prints a command that works unchanged', () => {
    const lines = server.stderr().split('\n');
    const at = lines.findIndex((line) => line.includes('echo '));
    const command = `${lines[at] ?? ''}\n${lines[at + 1] ?? ''}`;
    const result = spawnSync('sh', ['-c', command], {
      encoding: 'utf8',
      cwd: fileURLToPath(new URL('../..', import.meta.url)),
    });
    expect(result.status).toBe(0);
    expect(JSON.parse(result.stdout)).toMatchObject({ decision: expect.any(String) as string });
  });

  test('A second server on the same data directory is rejected', async () => {
    await expect(startServer({ dataDir: kept })).rejects.toThrow(/served by/);
  });

  test('The metrics require the token when one is set', async () => {
    expect((await get(server.url, '/metrics')).status).toBe(401);
    expect((await get(server.url, '/metrics', { authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await get(server.url, '/metrics', { authorization: `Bearer ${METRICS_TOKEN}` })).status).toBe(200);
  });

  test('After a SIGKILL a wrong or missing master key is rejected, and no delivery is lost', async () => {
    const answers = await Promise.all(ids.map((requestId) => decide(server.url, secretKey, CALM, { requestId })));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    await webhookClient(server.url, secretKey).create('http://127.0.0.1:9/hook', 'SOFT_CHALLENGE');
    await decideTo(server.url, secretKey, 'SOFT_CHALLENGE');
    await server.stop('SIGKILL');
    const other = startServer({ dataDir: kept, env: { ...env, GATEHOUSE_MASTER_KEY: 'b'.repeat(64) } });
    await expect(other).rejects.toThrow(/exit code 78[^]*GATEHOUSE_MASTER_KEY is not the key/);
    const none = startServer({ dataDir: kept, env: { GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8' } });
    await expect(none).rejects.toThrow(/exit code 1[^]*master\.key is missing/);
    server = await startServer({ dataDir: kept, env });
    const [row] = await webhookClient(server.url, secretKey).deliveries();
    expect(['pending', 'failed']).toContain(row?.status);
  });

  test('After a SIGKILL the server rejects the request ids that it accepted before, and prints no keys', async () => {
    expect(server.stderr()).not.toContain('sk_live_');
    const again = await Promise.all(ids.map((requestId) => decide(server.url, secretKey, CALM, { requestId })));
    expect(again.map(({ json }) => json['code'])).toEqual(ids.map(() => 'replayed_request'));
    expect((await decide(server.url, secretKey)).status).toBe(200);
  });
});

test('After a SIGKILL the statistics are those of the decisions, each counted once, after a second SIGKILL too', async () => {
  let server = await startServer({ dataDir });
  const { secretKey } = server;
  const total = async (): Promise<{ decisions: number; reasons: unknown }> => {
    const now = Math.floor(Date.now() / 1000);
    const path = `/v1/stats?from=${now - 1_800}&to=${now + 60}&step=3600`;
    const { json } = await send(server.url, secretKey, { method: 'GET', path });
    const points = json['points'] as readonly { decisions: Record<string, number>; reasons: unknown }[];
    const counted = points.flatMap(({ decisions }) => Object.values(decisions));
    return {
      decisions: counted.reduce((sum, count) => sum + count, 0),
      reasons: points.map(({ reasons }) => reasons),
    };
  };
  await expect.poll(total).toMatchObject({ decisions: 0 });
  const scripted = {
    ip: '81.2.69.161',
    user_agent: 'curl/8.0',
    url: 'https://shop.example/login',
    event_type: 'login',
  };
  const bodyOf = (at: number): unknown => (at % 2 === 0 ? newcomer() : scripted);
  for (let n = 0; n < 10; n++)
    await Promise.all(Array.from({ length: 20 }, (_none, at) => decide(server.url, secretKey, bodyOf(at))));
  const before = await total();
  expect(before.decisions).toBe(200);
  // The log is written several times a second.
  await new Promise((done) => setTimeout(done, 700));
  for (let kills = 0; kills < 2; kills++) {
    await server.stop('SIGKILL');
    server = await startServer({ dataDir });
    await expect.poll(total, { timeout: 5_000 }).toEqual(before);
  }
  await decide(server.url, secretKey);
  expect((await total()).decisions).toBe(201);
  await server.stop();
});

describe('SIGTERM', () => {
  test.each(TRANSPORTS)(
    'SIGTERM under load over %s drops no response in flight, and the exit code is 0',
    async (transport) => {
      const server = await startServer({ dataDir, env: { GATEHOUSE_TRANSPORT: transport } });
      let stopping = false;
      let answered = 0;
      const broken: string[] = [];
      const agent = new Agent({ keepAlive: true, maxSockets: 8 });
      const client = async (): Promise<void> => {
        for (;;) {
          try {
            const { status } = await decide(server.url, server.secretKey, CALM, { agent });
            if (status === 200) answered++;
            else broken.push(String(status));
          } catch (error) {
            // After the stop has begun, a new connection may be refused, or reset before it is accepted. On an open connection every
            // request is answered.
            const { code, reusedSocket } = error as NodeJS.ErrnoException & { reusedSocket: boolean };
            if (reusedSocket || !stopping) broken.push(String(code));
            if (stopping) return;
          }
        }
      };
      const clients = Array.from({ length: 8 }, client);
      await expect.poll(() => answered, { timeout: 10_000 }).toBeGreaterThan(200);
      stopping = true;
      const startedAt = performance.now();
      expect(await server.stop('SIGTERM')).toBe(0);
      expect(performance.now() - startedAt).toBeLessThan(10_000);
      await Promise.all(clients);
      expect(broken).toEqual([]);
    },
  );
});

describe('simulated time', () => {
  const env = { GATEHOUSE_SIMULATED_TIME: '1' };

  test('The simulated clock is the newest verified timestamp, runs on and never goes back', async () => {
    const server = await startServer({ dataDir, env });
    const at = (timestampSeconds: number, options: object = {}): ReturnType<typeof decide> =>
      decide(server.url, server.secretKey, CALM, { timestampSeconds, ...options });
    expect((await at(1_700_000_000)).status).toBe(200);
    expect((await at(1_700_000_000 - 300)).status).toBe(200);
    expect((await at(1_700_000_000 - 301)).json['code']).toBe('timestamp_out_of_window');
    // A request that does not verify does not move the clock.
    expect((await at(1_800_000_000, { signedBody: 'x' })).status).toBe(401);
    expect((await at(1_700_000_000)).status).toBe(200);
    // A jump of one day: the old time is then outside the window, and its ids may be used again.
    const requestId = randomUUID();
    expect((await at(1_700_086_400, { requestId })).status).toBe(200);
    expect((await at(1_700_000_000)).json['code']).toBe('timestamp_out_of_window');
    expect((await at(1_700_086_400 + 302, { requestId })).status).toBe(200);
    // A time too large for an expiry does not move the clock, and the service continues.
    expect((await at(99_999_999_999)).json['code']).toBe('timestamp_out_of_window');
    expect((await at(1_700_086_400 + 302)).status).toBe(200);
    expect(server.stdout()).toContain('SIMULATED TIME');
    await server.stop();
    const again = await startServer({ dataDir, env });
    expect((await decide(again.url, server.secretKey, CALM, { timestampSeconds: 1_700_000_000 })).status).toBe(401);
    await again.stop();
  });

  test('Simulated time requires a loopback address and a separate data directory', async () => {
    await expect(startServer({ dataDir, env: { ...env, GATEHOUSE_HOST: '0.0.0.0' } })).rejects.toThrow(/78/);
    await ensureUsable({ dataDir, simulated: false, repair: true, nowMs: Date.now() });
    await expect(startServer({ dataDir, env })).rejects.toThrow(/simulated/);
  });
});

describe('TLS', () => {
  let folder: string;
  let cert: string;
  let key: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'gatehouse-tls-'));
    ({ certFile: cert, keyFile: key } = makeCertificate(folder));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test.each(TRANSPORTS)('The server serves https over %s', async (transport) => {
    const server = await startServer({
      env: { GATEHOUSE_TRANSPORT: transport, GATEHOUSE_TLS_CERT: cert, GATEHOUSE_TLS_KEY: key },
    });
    const { request } = await import('node:https');
    const status = await new Promise((resolve, reject) => {
      request(`${server.url}/healthz`, { rejectUnauthorized: false, agent: false }, (res) => resolve(res.statusCode))
        .on('error', reject)
        .end();
    });
    expect(status).toBe(200);
    await server.stop();
  });
});

test('A SIGTERM that is sent when the log says "serving" stops the server gracefully', () => {
  const preload = join(dataDir, 'preload.cjs');
  writeFileSync(
    preload,
    `const fs = require('node:fs');
    for (const name of ['write', 'writeSync']) {
      const real = fs[name];
      fs[name] = (...words) => {
        if (String(words[1]).includes('"msg":"serving"')) process.kill(process.pid, 'SIGTERM');
        return real(...words);
      };
    }`,
  );
  const { status, stdout } = serve({ GATEHOUSE_PORT: '0' }, 60_000, ['--require', preload]);
  expect(status).toBe(0);
  expect(stdout).toContain('"msg":"stopped"');
});

test('serve ends immediately when it gets SIGTERM during its start', async () => {
  const child = spawn(process.execPath, [MAIN, 'serve'], {
    env: { PATH: process.env['PATH'], GATEHOUSE_DATA_DIR: dataDir, GATEHOUSE_PORT: '0' },
    stdio: 'ignore',
  });
  await new Promise((done) => setTimeout(done, 150));
  child.kill('SIGTERM');
  const code = await new Promise((resolve) => child.once('exit', (exitCode, signal) => resolve(exitCode ?? signal)));
  expect([0, 'SIGTERM']).toContain(code);
});
