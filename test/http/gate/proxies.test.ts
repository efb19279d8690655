import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { type AddressInfo, createServer as createSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { bearer } from '../../support/manage.ts';
import { gatehouse } from '../../support/requests.ts';
import { type RunningServer, startServer } from '../../support/server.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const DOCUMENT = readFileSync(join(ROOT, 'docs/gate.md'), 'utf8');
const BROWSER =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36';

interface Proxy {
  readonly name: string;
  readonly program: string;
  /** The language of its block in docs/gate.md. */
  readonly language: string;
  /** The file of its settings, from the block. */
  readonly settings: (block: string, folder: string) => string;
  readonly words: (file: string, folder: string) => readonly string[];
}

const PROXIES: readonly Proxy[] = [
  {
    name: 'nginx',
    program: '/usr/sbin/nginx',
    language: 'nginx',
    settings: (block, folder) => `daemon off;
pid ${folder}/nginx.pid;
error_log stderr;
worker_processes 1;
events {}
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
${block}
}`,
    words: (file, folder) => ['-p', folder, '-e', 'stderr', '-c', file],
  },
  {
    name: 'Caddy',
    program: '/usr/bin/caddy',
    language: 'caddyfile',
    settings: (block) => `{\n\tadmin off\n\tauto_https off\n}\n${block}`,
    words: (file) => ['run', '--adapter', 'caddyfile', '--config', file],
  },
  {
    name: 'HAProxy',
    program: '/usr/sbin/haproxy',
    language: 'haproxy',
    settings: (block) => block.replace('/etc/haproxy/haproxy-gate.lua', join(ROOT, 'deploy/haproxy-gate.lua')),
    words: (file) => ['-db', '-f', file],
  },
];

/** Returns the block of docs/gate.md with the addresses and the key of this test. */
function blockOf(language: string, ports: Readonly<Record<'own' | 'gate' | 'app', number>>, key: string): string {
  const block = new RegExp(`\`\`\`${language}\n(.*?)\n\`\`\``, 's').exec(DOCUMENT)?.[1] ?? '';
  return block
    .replaceAll('127.0.0.1:8080', `127.0.0.1:${ports.gate}`)
    .replaceAll('127.0.0.1:3000', `127.0.0.1:${ports.app}`)
    .replace('sk_live_...', key)
    .replace(/^(?<before>:|  listen |  bind :)80\b/m, `$<before>${ports.own}`);
}

async function freePort(): Promise<number> {
  const socket = createSocket();
  await new Promise<void>((done) => socket.listen(0, '127.0.0.1', done));
  const { port } = socket.address() as AddressInfo;
  await new Promise((done) => socket.close(done));
  return port;
}

describe.each(PROXIES)('The settings of docs/gate.md for $name', ({ program, language, settings, words }) => {
  describe.skipIf(!existsSync(program))('with the program', () => {
    let server: RunningServer;
    let app: Server;
    let proxy: ChildProcess;
    let folder: string;
    let base: string;
    let output = '';
    const arrived: IncomingHttpHeaders[] = [];

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'gatehouse-proxy-'));
      const policy = join(folder, 'policy.json');
      const rule = (type: string, decision: string) => ({
        code: `own_${type}`,
        when: `event.type == "${type}"`,
        decision,
        mode: 'enforce',
      });
      const rules = [rule('blocked', 'BLOCK'), rule('asked', 'SOFT_CHALLENGE')];
      const gate = { challenge_url: '/challenge', paths: { '/blocked': 'blocked', '/asked': 'asked' } };
      await writeFile(policy, JSON.stringify({ gate, rules }));
      server = await startServer({
        env: { GATEHOUSE_TRUSTED_PROXIES: '127.0.0.1', GATEHOUSE_POLICY_FILE: policy },
      });
      app = createServer((request, response) => {
        arrived.push(request.headers);
        response.end(`app ${String(request.url)}`);
      });
      await new Promise<void>((done) => app.listen(0, '127.0.0.1', done));
      const { customer_id: customer } = (await bearer(server.url, server.secretKey, 'GET', '/v1/me')).json;
      const made = await gatehouse(server.dataDir, 'keys', 'create', '--customer', String(customer), '--gate');
      const key = String(made['secret_key']);
      const own = await freePort();
      const ports = { own, gate: Number(new URL(server.url).port), app: (app.address() as AddressInfo).port };
      const file = join(folder, 'settings');
      await writeFile(file, `${settings(blockOf(language, ports, key), folder)}\n`);
      proxy = spawn(program, words(file, folder), {
        env: { ...process.env, GATEHOUSE_URL: server.url, GATEHOUSE_GATE_KEY: key, HOME: folder },
      });
      proxy.stdout?.on('data', (text: Buffer) => (output += text.toString()));
      proxy.stderr?.on('data', (text: Buffer) => (output += text.toString()));
      base = `http://127.0.0.1:${own}`;
      const serves = async (): Promise<void> => {
        if ((await visit('/robots.txt')).status !== 200) throw new Error(output);
      };
      await vi.waitFor(serves, { timeout: 10_000, interval: 100 });
    }, 60_000);

    afterAll(async () => {
      proxy.kill('SIGTERM');
      await server.stop();
      app.close();
      await rm(folder, { recursive: true, force: true });
    });

    async function visit(path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') {
      const response = await fetch(base + path, {
        method,
        redirect: 'manual',
        headers: { 'user-agent': BROWSER, 'accept-language': 'de', ...headers },
      });
      const { status } = response;
      const cookie = response.headers.getSetCookie().find((line) => line.startsWith('gh_gate=')) ?? null;
      return { status, cookie, location: response.headers.get('location'), text: await response.text() };
    }

    test('A visitor passes, and keeps its session by the cookie', async () => {
      const first = await visit('/shoes?size=42');
      expect(first).toMatchObject({
        status: 200,
        text: 'app /shoes?size=42',
        cookie: expect.stringContaining('HttpOnly'),
      });
      const again = await visit('/hats', { cookie: `a=b; ${String(first.cookie).split(';')[0]}` });
      expect(again).toMatchObject({ status: 200, text: 'app /hats', cookie: null });
      const posted = await visit('/form', { cookie: String(first.cookie).split(';')[0] ?? '' }, 'POST');
      expect(posted).toMatchObject({ status: 200, cookie: null });
      const { json } = await bearer(server.url, server.secretKey, 'GET', '/v1/decisions?limit=3');
      const hashes = (json['data'] as Record<string, unknown>[]).map((row) => row['fingerprint_hash']);
      expect(new Set(hashes).size).toBe(1);
    });

    test('A blocked visitor is refused, and one that is challenged is sent there', async () => {
      expect((await visit('/blocked')).status).toBe(403);
      const asked = await visit('/asked');
      expect([asked.status, asked.location]).toMatchObject([302, expect.stringMatching(/\/challenge$/)]);
      expect((await visit('/challenge')).text).toBe('app /challenge');
    });

    test('Headers that a visitor writes change nothing', async () => {
      const forged = {
        'x-forwarded-for': '8.8.8.8',
        'x-forwarded-uri': '/healthz',
        'x-original-uri': '/healthz',
        'x-original-url': 'http://a/healthz',
        'x-forwarded-method': 'OPTIONS',
        'x-forwarded-host': 'a',
        'x-gatehouse-cookie': 'a=b',
        'x-gatehouse-decision': 'ALLOW',
        authorization: 'Bearer x',
      };
      expect((await visit('/blocked', forged)).status).toBe(403);
      expect((await visit('/blocked/../healthz')).text).toMatch(/^app \/(?:healthz|blocked\/\.\.\/healthz)$/);
      const passed = await visit('/shoes', forged);
      expect([passed.status, passed.cookie]).toEqual([200, expect.stringContaining('gh_gate=')]);
      const { json } = await bearer(server.url, server.secretKey, 'GET', '/v1/decisions?limit=1');
      expect(json['data']).toMatchObject([{ ip: '127.0.0.1', event_type: 'gate' }]);
      expect(arrived.some((headers) => headers['authorization']?.includes('sk_live_') === true)).toBe(false);
    });

    test('With Gatehouse killed visitors pass', async () => {
      process.kill(server.pid, 'SIGKILL');
      await expect.poll(async () => (await visit('/blocked')).status, { timeout: 10_000 }).toBe(200);
      expect((await visit('/shoes')).text).toBe('app /shoes');
      expect(await visit('/form', {}, 'POST')).toMatchObject({ status: 200, text: 'app /form' });
    });
  });
});
