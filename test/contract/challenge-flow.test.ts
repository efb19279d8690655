import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { sharedServer, type SharedServer } from '../support/shared-server.ts';

/** Runs the login servers of docs/challenge.md as a reader would, and logs in at them as browsers do. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGE = readFileSync(join(ROOT, 'docs/challenge.md'), 'utf8');
const CALM_AGENT =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/149.0.0.0 Safari/537.36';
const HEADLESS_AGENT = CALM_AGENT.replace('Chrome/', 'HeadlessChrome/');

/** Passes everything on to Gatehouse, keeps the outcomes, and can be told to be silent or to fail. */
interface Recorder {
  readonly url: string;
  readonly outcomes: { readonly request_id: string; readonly outcome: string }[];
  readonly decisions: Record<string, unknown>[];
  behaviour: 'pass' | 'silent' | 'fail';
  close(): Promise<void>;
}

async function startRecorder(target: string): Promise<Recorder> {
  const recorder = { outcomes: [], decisions: [], behaviour: 'pass' } as unknown as Recorder;
  const server: Server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
      if (recorder.behaviour === 'silent') return;
      if (recorder.behaviour === 'fail') {
        response.writeHead(429).end('{"code":"overloaded"}');
        return;
      }
      const { host: _host, connection: _connection, ...headers } = request.headers;
      const body = Buffer.concat(chunks);
      const answer = await fetch(target + request.url, {
        method: 'POST',
        headers: headers as Record<string, string>,
        body,
      });
      const text = await answer.text();
      if (request.url === '/v1/outcomes') {
        type Outcome = Recorder['outcomes'][number];
        const sent = JSON.parse(body.toString()) as Outcome | { readonly outcomes: readonly Outcome[] };
        const reported = 'outcomes' in sent ? sent.outcomes : [sent];
        expect([answer.status, JSON.parse(text)]).toEqual([202, { accepted: reported.length, rejected: [] }]);
        recorder.outcomes.push(...reported);
      } else recorder.decisions.push(JSON.parse(text) as Record<string, unknown>);
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text);
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { readonly port: number };
  return Object.assign(recorder, {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

let server: SharedServer;
let folder: string;
beforeAll(async () => {
  server = await sharedServer();
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-login-'));
  const client = join(folder, 'node_modules/@gatehouse/client');
  mkdirSync(client, { recursive: true });
  cpSync(join(ROOT, 'src/client/dist'), join(client, 'dist'), { recursive: true });
  cpSync(join(ROOT, 'src/client/package.json'), join(client, 'package.json'));
  symlinkSync(join(ROOT, 'node_modules/express'), join(folder, 'node_modules/express'));
  cpSync(join(ROOT, 'examples/languages/gatehouse.py'), join(folder, 'gatehouse.py'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let visitors = 0;

/** The first Python with Flask: that of the system, where another one comes first in the path. */
const python = ['python3', '/usr/bin/python3'].find((name) => spawnSync(name, ['-c', 'import flask']).status === 0);
if (python === undefined) console.warn('SKIPPED: Flask is not installed, so login.py of docs/challenge.md was not run');

const LOGINS: [string, string][] = [['login.mjs', process.execPath]];
if (python !== undefined) LOGINS.push(['login.py', python]);

describe.each(LOGINS)('%s of docs/challenge.md', (file, program) => {
  let recorder: Recorder;
  let child: ChildProcess;
  let shop = '';
  let log = '';

  beforeAll(async () => {
    const code = new RegExp(`^\`\`\`\\w+ ${file}\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(PAGE)?.[1];
    if (code === undefined) throw new Error(`docs/challenge.md has no ${file}`);
    writeFileSync(join(folder, file), code);
    recorder = await startRecorder(server.url);
    child = spawn(program, [join(folder, file)], {
      env: {
        PATH: process.env['PATH'],
        GATEHOUSE_URL: recorder.url,
        GATEHOUSE_KEY: server.secretKey,
        PROXIES: '1',
        PORT: '0',
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (log += text));
    for (const until = Date.now() + 20_000; !/^http:\S+$/m.test(log) && Date.now() < until;)
      await new Promise((resolve) => setTimeout(resolve, 50));
    shop = /^http:\S+$/m.exec(log)?.[0] ?? '';
  });
  afterAll(async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    await recorder.close();
  });
  afterEach(() => {
    recorder.behaviour = 'pass';
    recorder.outcomes.length = 0;
    recorder.decisions.length = 0;
  });

  /** A browser with an address of its own. It writes another one into the header, which the shop's proxy appends to. */
  function visitor(agent: string) {
    visitors++;
    const forwarded = `198.51.100.1, 81.2.${64 + (visitors >> 8)}.${1 + (visitors & 255)}`;
    let cookie = '';
    let ticket = '';
    return async (path: string, form?: Readonly<Record<string, string>>): Promise<string> => {
      const response = await fetch(shop + path, {
        method: form === undefined ? 'GET' : 'POST',
        headers: { 'user-agent': agent, 'x-forwarded-for': forwarded, referer: 'https://shop.example/login', cookie },
        ...(form !== undefined && { body: new URLSearchParams({ ticket, ...form }) }),
      });
      cookie = response.headers.get('set-cookie')?.split(';')[0] ?? cookie;
      const page = await response.text();
      ticket = /name="ticket" value="(\w+)"/.exec(page)?.[1] ?? ticket;
      return `${response.status} ${/<h1>(.*)<\/h1>/.exec(page)?.[1] ?? ''}`;
    };
  }
  const RIGHT = { email: 'anna@example.com', password: 'correct horse' };
  const outcomes = (): readonly string[] => recorder.outcomes.map(({ outcome }) => outcome);
  const newestCode = (): string => [...log.matchAll(/code for \S+: (\d{6})/g)].at(-1)?.[1] ?? '';

  test('A login without a challenge reports whether the password was right, once for each decision', async () => {
    const visit = visitor(CALM_AGENT);
    expect(await visit('/')).toBe('200 Log in');
    expect(await visit('/login', { ...RIGHT, password: 'wrong' })).toMatch(/^401 .* wrong/);
    await expect.poll(outcomes).toEqual(['failed']);
    expect(await visit('/login', RIGHT)).toBe('200 Welcome, anna@example.com.');
    await expect.poll(outcomes).toEqual(['failed', 'succeeded']);
    const ids = recorder.decisions.map((decision) => decision['request_id']);
    expect(recorder.outcomes.map((outcome) => outcome.request_id)).toEqual(ids);
    // The visit's own id stands in for the token that no collector wrote.
    expect(recorder.decisions.map((decision) => decision['session_mode'])).toEqual(['unverified', 'unverified']);
    const [first, second] = recorder.decisions.map((decision) => decision['fingerprint_hash']);
    expect(first).toBe(second);
  });

  test('A passed challenge logs in and is reported as challenge_passed and nothing else', async () => {
    const visit = visitor(HEADLESS_AGENT);
    expect(await visit('/login', RIGHT)).toBe('401 Enter the code that we have sent you.');
    const code = newestCode();
    expect(await visit('/code', { code: code === '000000' ? '111111' : '000000' })).toMatch(
      /^401 That is not the code/,
    );
    expect(await visit('/code', { code })).toBe('200 Welcome, anna@example.com.');
    await expect.poll(outcomes).toEqual(['challenge_passed']);
    expect(recorder.outcomes[0]?.request_id).toBe(recorder.decisions[0]?.['request_id']);
    expect(await visit('/code', { code })).toBe('401 Please log in again.');
  });

  test('A challenge after a wrong password looks the same, has no code, and is reported as failed', async () => {
    const visit = visitor(HEADLESS_AGENT);
    const codesBefore = log.split('code for').length;
    expect(await visit('/login', { ...RIGHT, password: 'wrong' })).toBe('401 Enter the code that we have sent you.');
    for (const code of ['000000', '111111'])
      expect(await visit('/code', { code })).toMatch(/^401 That is not the code/);
    expect(await visit('/code', { code: '222222' })).toBe('401 Please log in again.');
    await expect.poll(outcomes).toEqual(['failed']);
    expect(log.split('code for')).toHaveLength(codesBefore);
  });

  test('Three wrong codes after a right password end the challenge as challenge_failed', async () => {
    const visit = visitor(HEADLESS_AGENT);
    await visit('/login', RIGHT);
    const wrong = newestCode() === '000000' ? '111111' : '000000';
    for (let i = 0; i < 3; i++) await visit('/code', { code: wrong });
    await expect.poll(outcomes).toEqual(['challenge_failed']);
    expect(await visit('/code', { code: newestCode() })).toBe('401 Please log in again.');
  });

  test('After BLOCK nobody learns whether the password was right, and no outcome is reported', async () => {
    const visit = visitor(CALM_AGENT);
    await visit('/login', RIGHT);
    await expect.poll(outcomes).toEqual(['succeeded']);
    await fetch(`${server.url}/v1/lists`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.secretKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ fingerprint_hash: recorder.decisions[0]?.['fingerprint_hash'], action: 'block' }),
    });
    for (const password of [RIGHT.password, 'wrong'])
      expect(await visit('/login', { ...RIGHT, password })).toMatch(/^403 You cannot log in here/);
    expect(recorder.decisions.at(-1)).toMatchObject({ decision: 'BLOCK' });
    expect(outcomes()).toEqual(['succeeded']);
  });

  test('After REVIEW the login goes on, and its outcome is reported', async () => {
    const headers = { authorization: `Bearer ${server.secretKey}`, 'content-type': 'application/json' };
    const path = `${server.url}/v1/rules/own_flow`;
    const rule = { when: 'agent.text.startsWith("ReviewMe/1")', decision: 'REVIEW', mode: 'enforce' };
    const put = await fetch(path, { method: 'PUT', headers, body: JSON.stringify(rule) });
    expect([put.status, put.ok ? '' : await put.text()]).toEqual([expect.any(Number), '']);
    const visit = visitor(`ReviewMe/1 ${CALM_AGENT}`);
    expect(await visit('/login', { ...RIGHT, password: 'wrong' })).toMatch(/^401 .* wrong/);
    expect(recorder.decisions).toMatchObject([{ decision: 'REVIEW' }]);
    await expect.poll(outcomes).toEqual(['failed']);
  });

  test.each(['silent', 'fail'] as const)(
    'While Gatehouse is %s people log in with their password alone',
    async (way) => {
      recorder.behaviour = way;
      const visit = visitor(HEADLESS_AGENT);
      const began = performance.now();
      expect(await visit('/login', RIGHT)).toBe('200 Welcome, anna@example.com.');
      expect(performance.now() - began).toBeLessThan(5_000);
      expect(await visit('/login', { ...RIGHT, password: 'wrong' })).toMatch(/^401 .* wrong/);
      expect(log).toMatch(/no deci(?:de|sion): /);
      expect(outcomes()).toEqual([]);
    },
  );
});
