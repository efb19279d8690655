import { spawn, type ChildProcess } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Gatehouse } from '../../src/client/gatehouse.ts';
import { books } from '../support/extractions.ts';
import { sharedServer, type SharedServer } from '../support/shared-server.ts';

/** The client in front of a real server, and the programs of docs/client.md. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGE = readFileSync(join(ROOT, 'docs/client.md'), 'utf8');

let server: SharedServer;
let client: Gatehouse;
beforeAll(async () => {
  server = await sharedServer();
  client = new Gatehouse({ url: server.url, key: server.secretKey, timeoutMs: 20_000 });
});

const REQUEST = { event_type: 'login', session_token: 'client-1', ip: '81.2.69.160' } as const;

describe('Gatehouse', () => {
  test('A secret and a public key decide; an outcome is accepted, and one for a made-up decision is not', async () => {
    const decision = await client.decide({ ...REQUEST, entity_keys: { email: 'anna@example.com' } });
    expect(decision).toMatchObject({ failedOpen: false, request_id: expect.stringMatching(/^req_/) as string });
    const open = new Gatehouse({ url: server.url, key: server.publicKey, timeoutMs: 20_000 });
    expect(await open.decide(REQUEST)).toMatchObject({ failedOpen: false });
    expect(await client.outcome(decision, 'succeeded')).toBe(true);
    expect(await client.outcome('req_01M7XWJVNGTMWB6Q2TT84ZKPK0', 'failed')).toBe(false);
  });

  test('A wrong key rejects with its code', async () => {
    const wrong = new Gatehouse({ url: server.url, key: `${server.secretKey}x`, timeoutMs: 20_000 });
    await expect(wrong.decide(REQUEST)).rejects.toMatchObject({ status: 401, code: 'unknown_key' });
    await expect(wrong.lists.list()).rejects.toMatchObject({ status: 401, code: 'unknown_key' });
  });

  test('Lists, rules, decisions and webhooks are written and read', async () => {
    const entry = await client.lists.put({ kind: 'network', value: '203.0.113.0/24', action: 'watch', note: 'client' });
    expect(entry).toMatchObject({ kind: 'network', action: 'watch' });
    expect(await client.lists.get('network', '203.0.113.0/24')).toMatchObject({ note: 'client' });
    expect((await client.lists.list({ kind: 'network' })).data).toHaveLength(1);
    expect(await client.lists.remove('network', '203.0.113.0/24')).toBeUndefined();

    await client.rules.put('own_client', { when: 'event.type == "login"', weight: 0.1 });
    expect((await client.rules.list()).data).toMatchObject([{ code: 'own_client' }]);
    await client.rules.remove('own_client');

    const decision = await client.decide(REQUEST);
    await expect
      .poll(() => client.decisions.get(decision.request_id ?? '').catch(String), { timeout: 20_000 })
      .toMatchObject({ request_id: decision.request_id });

    const webhook = await client.webhooks.create({ url: 'https://shop.example/risk', event_types: ['BLOCK'] });
    expect(await client.webhooks.rotate(webhook.id, {})).toMatchObject({ id: webhook.id });
    await client.webhooks.remove(webhook.id);
    await expect(client.webhooks.get(webhook.id)).rejects.toMatchObject({ status: 404 });
  });

  test('A named list is made, filled, read over all pages and emptied', async () => {
    await client.namedLists.put('partners', { kind: 'email_domain', note: 'client' });
    const names = Array.from({ length: 25 }, (_, n) => `shop-${String(n).padStart(2, '0')}.example`);
    expect(await client.namedLists.add('partners', [...names, 'no domain'])).toMatchObject({ added: 25 });
    const found: string[] = [];
    for await (const { value } of client.namedLists.items('partners', { pageSize: 10 })) found.push(value);
    expect(found.toSorted()).toEqual(names);
    expect(await client.namedLists.removeItems('partners', names.slice(1))).toMatchObject({ removed: 24 });
    expect((await client.namedLists.list()).data).toMatchObject([{ name: 'partners', items: 1 }]);
    await client.namedLists.remove('partners');
    expect((await client.namedLists.list()).data).toEqual([]);
  });

  test('The records of an extraction are read over all pages', async () => {
    const job = await client.extractions.create(books(25) as Parameters<typeof client.extractions.create>[0]);
    const sequence: number[] = [];
    for await (const record of client.extractions.records(job.id, { pageSize: 10 })) sequence.push(record._meta.seq);
    expect(sequence).toEqual(Array.from({ length: 25 }, (_, index) => index + 1));
  });
});

interface Recorder {
  readonly url: string;
  readonly outcomes: string[];
  close(): void;
}

/** Passes everything on to the server and keeps the outcomes. */
async function startRecorder(target: string): Promise<Recorder> {
  const outcomes: string[] = [];
  const proxy = createServer((request, response) => {
    const { host: _host, connection: _connection, ...headers } = request.headers;
    void text(request).then(async (body) => {
      const init = { method: 'POST', headers: headers as Record<string, string>, body };
      const answer = await fetch(target + request.url, init);
      if (request.url === '/v1/outcomes')
        for (const { outcome } of (JSON.parse(body) as { outcomes: { outcome: string }[] }).outcomes)
          outcomes.push(outcome);
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as { readonly port: number };
  return { url: `http://127.0.0.1:${port}`, outcomes, close: () => void proxy.close() };
}

describe('docs/client.md', () => {
  let folder = '';
  let child: ChildProcess | null = null;
  let recorder: Recorder;
  beforeAll(async () => {
    recorder = await startRecorder(server.url);
    folder = mkdtempSync(join(tmpdir(), 'gatehouse-client-'));
    mkdirSync(join(folder, 'node_modules/@gatehouse'), { recursive: true });
    cpSync(join(ROOT, 'src/client/dist'), join(folder, 'node_modules/@gatehouse/client/dist'), { recursive: true });
    cpSync(join(ROOT, 'src/client/package.json'), join(folder, 'node_modules/@gatehouse/client/package.json'));
    symlinkSync(join(ROOT, 'node_modules/express'), join(folder, 'node_modules/express'));
    for (const [, indent = '', name = '', code = ''] of PAGE.matchAll(/^( *)```js (\S+)\n([\s\S]*?)^ *```$/gm))
      writeFileSync(join(folder, name), code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''));
  });
  afterAll(() => {
    child?.kill('SIGKILL');
    recorder.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('The shop of the page decides about its logins and reports how they ended', async () => {
    child = spawn(process.execPath, ['shop.mjs'], {
      cwd: folder,
      env: {
        PATH: process.env['PATH'],
        GATEHOUSE_URL: recorder.url,
        GATEHOUSE_KEY: server.secretKey,
        PROXIES: '1',
        PORT: '0',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await new Promise((resolve) => child?.stdout?.once('data', (data) => resolve([data])))) as [Buffer];
    const shop = String(line).trim();
    const email = `page-${process.pid}@example.com`;
    const login = async (password: string): Promise<string> => {
      const headers = { 'x-forwarded-for': '81.2.69.161' };
      const response = await fetch(`${shop}/login`, {
        method: 'POST',
        headers,
        body: new URLSearchParams({ email, password }),
      });
      return `${response.status} ${await response.text()}`;
    };
    expect(await login('wrong')).toMatch(/^401 The address/);
    expect(await login('correct horse')).toBe(`200 Welcome, ${email}.`);
    await expect.poll(() => recorder.outcomes, { timeout: 20_000 }).toEqual(['failed', 'succeeded']);
    const { data } = await client.decisions.search({ q: '81.2.69.161' });
    expect(data.map(({ event_type: type }) => type)).toEqual(['login', 'login']);
  });

  test('The login of the page without middleware answers a Request', async () => {
    process.env['GATEHOUSE_URL'] = server.url;
    process.env['GATEHOUSE_KEY'] = server.secretKey;
    const { login } = (await import(pathToFileURL(join(folder, 'login.mjs')).href)) as {
      readonly login: (request: Request, check: (email: string, password: string) => boolean) => Promise<Response>;
    };
    const send = async (password: string): Promise<number> => {
      const headers = { 'x-forwarded-for': '81.2.69.162' };
      const body = new URLSearchParams({ email: 'anna@example.com', password });
      const request = new Request('https://shop.example/login', { method: 'POST', headers, body });
      return (await login(request, (_email, given) => given === 'right')).status;
    };
    expect([await send('right'), await send('wrong')]).toEqual([200, 401]);
    delete process.env['GATEHOUSE_URL'];
    delete process.env['GATEHOUSE_KEY'];
  });
});
