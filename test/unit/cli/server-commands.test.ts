import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, request, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { kindFinding } from '../../../src/cli/doctor/data-findings.ts';
import { run } from '../../../src/cli/run.ts';
import { verifyWebhook } from '../../../src/client/verify-webhook.ts';
import { command, commandAsProcess, type Ran } from '../../support/command-line.ts';
import { decide, newcomer } from '../../support/requests.ts';
import { startNode, type RunningServer } from '../../support/server.ts';
import { MASKED_SECRET, NOBODYS_WEBHOOK, WHOLE_SECRET } from '../../support/webhooks.ts';
import { tempFolder } from '../state/support.ts';

/** Commands that ask a running server, with a key and, on its data directory, without one. */

/** What a browser of a script sends: the decision has reasons. */
const HEADLESS =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/126.0.0.0 Safari/537.36';

let server: RunningServer;
beforeAll(async () => {
  server = await startNode({
    env: { GATEHOUSE_TRUSTED_PROXIES: '127.0.0.1/32', GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8' },
  });
  return async () => {
    await server.stop();
  };
});

function cli(words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> {
  return command(['--data-dir', server.dataDir, ...words], { env });
}

async function json(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<[number | null, Json]> {
  const { code, out } = await cli(['--json', ...words], env);
  return [code, JSON.parse(out) as Json];
}
type Json = Readonly<Record<string, unknown>>;

function envOf({ url }: Pick<RunningServer, 'url'>): Record<string, string> {
  return { GATEHOUSE_PORT: new URL(url).port };
}

async function decideOnce(body: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const answer = await decide(server.url, server.secretKey, { ...newcomer(), ...body });
  return String((JSON.parse(answer.text) as Json)['request_id']);
}

async function endedKey(): Promise<string> {
  const { customers } = (await json(['customers', 'list']))[1] as { customers: { customer_id: string }[] };
  const [, keys] = await json(['keys', 'create', '--customer', String(customers[0]?.customer_id)]);
  await json(['keys', 'revoke', String(keys['secret_key'])]);
  return String(keys['secret_key']);
}

/** A command that runs until it is stopped; `lines` are those of standard output so far. */
function running(words: readonly string[]) {
  const lines: string[] = [];
  const errors: string[] = [];
  const stop = new AbortController();
  const stdin = new PassThrough();
  const done = run(['--data-dir', server.dataDir, ...words], {
    env: {},
    stdin,
    stdout: new Writable(),
    write: (file, piece) => void (file === 1 ? lines : errors).push(...piece.split('\n').filter((line) => line !== '')),
    stopSignal: () => stop.signal,
  });
  onTestFinished(() => stop.abort());
  return { lines, errors, stdin, stop: () => stop.abort(), done };
}

async function receiver(statuses: readonly number[] = [204]) {
  const received: { readonly headers: IncomingMessage['headers']; readonly body: string }[] = [];
  const hook = createServer((incoming, response) => {
    void text(incoming).then((body) => {
      received.push({ headers: incoming.headers, body });
      response.writeHead(statuses[Math.min(received.length, statuses.length) - 1] ?? 204).end();
    });
  });
  return { received, url: `${await urlOf(hook)}/hook` };
}

async function urlOf(listening: Server): Promise<string> {
  await once(listening.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    listening.closeAllConnections();
    listening.close();
  });
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
}

describe('health', () => {
  test('A ready server is exit code 0 with the state of each layer, one that does not answer is 1', async () => {
    const [code, value] = await json(['health'], envOf(server));
    expect([code, value]).toEqual([
      0,
      {
        healthy: true,
        status: expect.any(String),
        version: expect.any(String),
        layers: expect.objectContaining({ store: 'ok' }),
      },
    ]);
    expect((await cli(['health', '--url', server.url])).out).toMatch(/^ok|^degraded/);
    const closed = createServer();
    const url = await urlOf(closed);
    closed.close();
    await once(closed, 'close');
    expect(await json(['health', '--url', url])).toEqual([
      1,
      { error: { code: 'unreachable', message: expect.stringContaining('ECONNREFUSED') } },
    ]);
  });

  test('A server that is starting or stopping is exit code 1, and what is no Gatehouse is too', async () => {
    let status = 503;
    const fake = createServer((_request, response) =>
      response
        .writeHead(status)
        .end(status === 503 ? '{"status":"starting","layers":{"store":{"state":"ok"}}}' : 'hello'),
    );
    const url = await urlOf(fake);
    expect(await json(['health', '--url', url])).toMatchObject([1, { healthy: false, status: 'starting' }]);
    status = 200;
    expect(await json(['health', '--url', url])).toMatchObject([1, { error: { code: 'unreachable' } }]);
  });
});

test('A newer key that may not read or write, or that has expired, is not the access of the operator', async () => {
  const { customers } = (await json(['customers', 'list']))[1] as { customers: { customer_id: string }[] };
  const words = ['keys', 'create', '--customer', String(customers[0]?.customer_id)];
  expect((await cli([...words, '--gate'])).code).toBe(0);
  const soon = String(Math.floor(Date.now() / 1_000) + 2);
  expect((await cli([...words, '--scopes', 'read', '--expires', soon])).code).toBe(0);
  await expect.poll(() => Date.now() / 1_000 > Number(soon), { timeout: 5_000 }).toBe(true);
  const id = await decideOnce({ user_agent: HEADLESS });
  expect((await cli(['explain', id])).code).toBe(0);
  expect((await cli([...words, '--scopes', 'read'])).code).toBe(0);
  expect((await cli(['labels', 'add', id, 'fraud'])).code).toBe(0);
});

describe('explain', () => {
  test('A decision is shown with its steps, its rules in words and what each changes, with a key and without one', async () => {
    const id = await decideOnce({ user_agent: HEADLESS });
    const { out, code } = await cli(['explain', id]);
    expect(code).toBe(0);
    expect(out).toContain(`\n${id}  `);
    expect(out).toMatch(/client +█+ +0\.0 → \d/);
    expect(out).toMatch(/ {2}device_headless {2}weight 0\.\d\d, counts; without it \d/);
    expect(out).toContain('found: ');
    expect(out).toContain('Bands: ');
    const byKey = await json(['explain', id, '--key', server.secretKey, '--url', server.url]);
    expect(byKey).toMatchObject([0, { request_id: id, families: expect.any(Array) }]);
  });

  test('An unknown decision, a wrong key and a server that is not there are errors with their codes', async () => {
    expect(await json(['explain', 'req_00000000000000000000000000'])).toMatchObject([
      1,
      { error: { code: 'not_found' } },
    ]);
    expect(await json(['explain', 'x', '--key', 'sk_live_x'])).toMatchObject([1, { error: { code: 'malformed_key' } }]);
    const elsewhere = ['--data-dir', tempFolder(), '--json', 'explain', 'x'];
    expect(JSON.parse((await command(elsewhere)).out)).toMatchObject({ error: { code: 'data_dir_absent' } });
  });
});

describe('tail', () => {
  test('Decisions of before come first and new ones follow, each once, and a filter leaves the others out', async () => {
    const before = await decideOnce({ event_type: 'tailed' });
    const tail = running(['--json', 'tail', '--event-type', 'tailed', '--lines', '1']);
    await expect.poll(() => tail.lines).toHaveLength(1);
    await decideOnce();
    const after = [await decideOnce({ event_type: 'tailed' }), await decideOnce({ event_type: 'tailed' })];
    await expect.poll(() => tail.lines).toHaveLength(3);
    tail.stop();
    expect(await tail.done).toBe(0);
    expect(tail.lines.map((line) => (JSON.parse(line) as Json)['request_id'])).toEqual([before, ...after]);
  });

  test('A line has time, decision, score, id, subject and reasons', async () => {
    const id = await decideOnce({ event_type: 'lined', user_agent: HEADLESS });
    const tail = running(['tail', '--event-type', 'lined']);
    await expect.poll(() => tail.lines).toHaveLength(1);
    tail.stop();
    expect(tail.lines[0]).toMatch(
      /^\d{4}-\S+Z {2}[A-Z_]+ +\d+\.\d {2}req_\w+ {2}81\.2\.\S+ \S+ lined \S+ {2}.*device_headless/,
    );
    expect(tail.lines[0]).toContain(id);
  });

  test('A wrong key ends it with exit code 1', async () => {
    const tail = running(['tail', '--key', server.publicKey, '--url', server.url]);
    expect(await tail.done).toBe(1);
    expect(tail.errors.join()).toContain('not a complete secret key');
  });
});

describe('listen and trigger', () => {
  test('New decisions reach a receiver on this machine, signed with the printed secret, and r sends the last one again', async () => {
    const { received, url } = await receiver([500, 204]);
    const listening = running([
      '--json',
      'listen',
      '--forward-to',
      url,
      '--events',
      'ALLOW,ALLOW_WATCH,SOFT_CHALLENGE,REVIEW,BLOCK',
    ]);
    await expect.poll(() => listening.lines).toHaveLength(1);
    const { secret } = JSON.parse(listening.lines[0] ?? '') as { readonly secret: string };
    listening.stdin.write('r');
    const id = await decideOnce({ user_agent: HEADLESS });
    await expect.poll(() => received).toHaveLength(1);
    await expect.poll(() => listening.lines).toHaveLength(2);
    listening.stdin.write('r');
    await expect.poll(() => listening.lines).toHaveLength(3);
    listening.stdin.write('q');
    expect(await listening.done).toBe(0);
    expect(listening.errors).toEqual(['nothing was sent yet']);
    expect(listening.lines.slice(1).map((line) => (JSON.parse(line) as Json)['status_code'])).toEqual([500, 204]);
    for (const { headers, body } of received) {
      expect(verifyWebhook({ headers, body, secrets: secret })).toMatchObject({ kind: 'verified' });
      expect(verifyWebhook({ headers, body, secrets: secret, scheme: 'body' })).toMatchObject({ kind: 'verified' });
    }
    const [first, second] = received;
    expect(second?.body).toBe(first?.body);
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
    expect(Object.keys(JSON.parse(first?.body ?? '') as Json)).toEqual([
      'event',
      'request_id',
      'decision',
      'score',
      'reasons',
      'timestamp',
    ]);
    expect(JSON.parse(first?.body ?? '')).toMatchObject({
      request_id: id,
      reasons: expect.arrayContaining(['device_headless']),
    });
  });

  test('trigger sends an example of each event to a receiver, and a refusal is exit code 1', async () => {
    const { received, url } = await receiver([204, 500]);
    const [code, sent] = await json(['trigger', 'BLOCK', '--forward-to', url]);
    expect([code, sent]).toMatchObject([0, { event: 'BLOCK', status_code: 204 }]);
    const [{ headers, body } = { headers: {}, body: '' }] = received;
    expect(verifyWebhook({ headers, body, secrets: String(sent['secret']) })).toMatchObject({ kind: 'verified' });
    expect(JSON.parse(body)).toMatchObject({ event: 'BLOCK', decision: 'BLOCK' });
    expect((await json(['trigger', 'REVIEW', '--forward-to', url]))[0]).toBe(1);
  });

  test('trigger makes the decision with a test key, whose webhooks and audit entries are apart, and refuses live keys', async () => {
    const { received, url } = await receiver();
    const { customers } = (await json(['customers', 'list']))[1] as { customers: { customer_id: string }[] };
    const customerId = String(customers[0]?.customer_id);
    const [, keys] = await json(['keys', 'create', '--customer', customerId, '--test']);
    const byKey = ['--key', String(keys['secret_key']), '--url', server.url];
    const [, made] = await json(['webhooks', 'create', url, '--events', 'BLOCK', ...byKey]);
    for (const decision of ['ALLOW', 'ALLOW_WATCH', 'SOFT_CHALLENGE', 'REVIEW', 'BLOCK'])
      expect(await json(['trigger', decision, ...byKey])).toMatchObject([0, { decision }]);
    await expect.poll(() => received).toHaveLength(1);
    expect(JSON.parse(received[0]?.body ?? '')).toMatchObject({ event: 'BLOCK', livemode: false });
    const [, { entries }] = await json(['audit', '--customer', customerId, '--kind', 'webhook.created']);
    expect(entries).toContainEqual(
      expect.objectContaining({ test: true, target: made['id'], customer_id: customerId }),
    );
    expect((await cli(['audit', '--kind', 'webhook.created'])).out).toContain(', test');
    for (const key of [server.secretKey, 'sk_test_x'])
      expect(await json(['trigger', 'BLOCK', '--key', key])).toMatchObject([2, { error: { code: 'malformed_key' } }]);
    expect((await cli(['trigger', 'BLOCK', '--forward-to', url, ...byKey])).code).toBe(2);
  });

  test('listen prints nothing before the server has accepted the key', async () => {
    const revoked = await endedKey();
    const listening = running(['listen', '--forward-to', 'http://localhost:1', '--key', revoked, '--url', server.url]);
    expect(await listening.done).toBe(1);
    expect(listening.lines).toEqual([]);
    expect(listening.errors).toEqual(['error: This API key was revoked.']);
  });

  test('trigger needs a receiver and a decision', async () => {
    expect((await cli(['trigger', 'BLOCK'])).code).toBe(2);
    expect((await cli(['trigger', 'DENY', '--forward-to', 'http://localhost:1'])).code).toBe(2);
  });
});

describe('labels', () => {
  const labelFile = (text: string): string => {
    const path = join(tempFolder(), 'labels.csv');
    writeFileSync(path, text);
    return path;
  };

  test('A file labels the decisions that it names with their sources, and other rows are named with line and reason', async () => {
    const [first, second] = [await decideOnce(), await decideOnce()];
    const unknown = 'req_00000000000000000000000000';
    const labelled = async (): Promise<readonly Json[]> => {
      const { labels } = (await json(['labels', 'list']))[1] as { readonly labels: readonly Json[] };
      return labels.filter((row) => row['request_id'] === first || row['request_id'] === second);
    };
    const text = `Request,Fraud,Source\n${first},yes,chargeback\n${unknown},no,review\n${second},no,\n${second}x,no,\n`;
    const words = ['labels', 'import', labelFile(text)];
    expect(await json([...words, '--dry-run'])).toMatchObject([1, { dry_run: true, labelled: 3, fraud: 1 }]);
    expect(await labelled()).toEqual([]);
    expect(await json(words)).toEqual([
      1,
      {
        dry_run: false,
        columns: { request_id: 'Request', label: 'Fraud', source: 'Source' },
        labelled: 2,
        fraud: 1,
        legitimate: 1,
        rejected: [
          { line: 3, message: `${unknown} is not a decision of this customer` },
          { line: 5, message: `"${second}x" is not a request id` },
        ],
      },
    ]);
    const byKey = ['--source', 'support', '--key', server.secretKey, '--url', server.url];
    expect(await json(['labels', 'import', labelFile(`id,label\n${second},bad\n`), ...byKey])).toMatchObject([0, {}]);
    expect(await labelled()).toEqual([
      { request_id: second, label: 'fraud', note: 'support', created_at: expect.any(Number) },
      { request_id: first, label: 'fraud', note: 'chargeback', created_at: expect.any(Number) },
    ]);
    expect((await json(['labels', 'list', '--limit', '1']))[1]['labels']).toMatchObject([{ request_id: second }]);
  });

  test('One decision is labelled with a note, and what cannot be labelled is an error with its code', async () => {
    const id = await decideOnce();
    expect(await json(['labels', 'add', id, 'legitimate', '--note', 'called'])).toMatchObject([
      0,
      { request_id: id, label: 'legitimate', note: 'called' },
    ]);
    expect(await json(['labels', 'add', 'req_00000000000000000000000000', 'fraud'])).toMatchObject([
      1,
      { error: { code: 'not_found' } },
    ]);
    expect((await cli(['labels', 'add', id, 'perhaps'])).code).toBe(2);
    expect(await json(['labels', 'import', labelFile('a,b\n1,2\n')])).toMatchObject([
      2,
      { error: { code: 'unknown_columns' } },
    ]);
    expect(await json(['labels', 'import', '/nowhere.csv'])).toMatchObject([1, { error: { code: 'unreadable_file' } }]);
  });

  test('A limit that ends by itself is waited for, and another error stops the import with the number of labels', async () => {
    const statuses = [429, 201, 403];
    const fake = createServer((incoming, response) => {
      incoming.resume();
      const status = statuses.shift() ?? 500;
      response.writeHead(status).end(JSON.stringify({ code: status === 429 ? 'rate_limited' : 'key_not_allowed' }));
    });
    const words = ['--key', server.secretKey, '--url', await urlOf(fake)];
    const ids = ['0', '1'].map((end) => `req_0000000000000000000000000${end}`);
    const one = labelFile(`id,label\n${ids[0]},bad\n`);
    expect(await json(['labels', 'import', one, ...words])).toMatchObject([0, { labelled: 1 }]);
    expect(await json(['labels', 'import', labelFile(`id,label\n${ids[1]},bad\n`), ...words])).toMatchObject([
      1,
      { error: { code: 'key_not_allowed', message: expect.stringContaining('0 decisions of 1 labelled') } },
    ]);
  });
});

describe('webhooks', () => {
  test('A webhook is made, shown, changed, tested, rotated and deleted, and its deliveries are shown and sent again', async () => {
    const { received, url } = await receiver([204, 500]);
    const [code, made] = await json(['webhooks', 'create', url, '--events', 'block,review', '--description', 'desk']);
    expect([code, made]).toMatchObject([0, { url, event_types: ['REVIEW', 'BLOCK'], description: 'desk' }]);
    expect(made['secret']).toMatch(WHOLE_SECRET);
    const id = String(made['id']);
    const tested = await json(['webhooks', 'test', id]);
    expect(tested).toMatchObject([0, { webhook_id: id, status: 'succeeded', last_status_code: 204 }]);
    expect(verifyWebhook({ ...(received[0] ?? { headers: {}, body: '' }), secrets: String(made['secret']) }).kind).toBe(
      'verified',
    );
    expect(await json(['webhooks', 'test', id])).toMatchObject([1, { status: 'failed', last_status_code: 500 }]);
    const byKey = ['--key', server.secretKey, '--url', server.url];
    const changes = ['--events', 'block,rule.tripped', '--description', '', '--filter', 'score > 90', '--disable'];
    expect(await json(['webhooks', 'update', id, ...changes, ...byKey])).toMatchObject([
      0,
      { event_types: ['BLOCK'], events: ['rule.tripped'], description: null, filter: 'score > 90', disabled: true },
    ]);
    expect(await json(['webhooks', 'update', id, '--enable', '--filter', ''])).toMatchObject([
      0,
      { filter: null, disabled: false },
    ]);
    expect((await json(['webhooks', 'show', id]))[1]['secret']).toMatch(MASKED_SECRET);
    expect((await json(['webhooks', 'rotate', id, '--grace', '60']))[1]['secret']).not.toBe(made['secret']);
    expect((await cli(['webhooks', 'list'])).out).toContain(url);
    const [, { deliveries }] = await json(['webhooks', 'deliveries', '--webhook', id, '--status', 'failed']);
    expect(deliveries).toMatchObject([{ webhook_id: id, attempt_count: 1 }]);
    const failed = String((deliveries as readonly Json[])[0]?.['id']);
    expect((await cli(['webhooks', 'deliveries', failed])).out).toMatch(/failed .*\n {2}1 {2}\S+ {2}500 {2}\d+ ms/);
    expect(await json(['webhooks', 'retry', failed])).toMatchObject([0, { trigger: 'manual', webhook_id: id }]);
    await expect.poll(() => received.length).toBeGreaterThan(2);
    expect(await json(['webhooks', 'recover', id, '--since', '2026-01-01'])).toEqual([
      0,
      { id, queued: 0, left: 0, known_since: null },
    ]);
    expect((await cli(['webhooks', 'recover', id, '--since', 'yesterday'])).err).toContain('Unix seconds, or a date');
    expect(await json(['webhooks', 'delete', id])).toEqual([0, { id, deleted: true }]);
    expect(await json(['webhooks', 'show', id])).toMatchObject([1, { error: { code: 'not_found' } }]);
  });

  test('A refused target and a wrong filter are errors that name the field, and nothing to change is wrong usage', async () => {
    const words = ['webhooks', 'create', 'ftp://shop.example/', '--events', 'BLOCK'];
    expect(await json(words)).toMatchObject([1, { error: { errors: [{ pointer: '/url' }] } }]);
    expect(await json(['webhooks', 'update', NOBODYS_WEBHOOK, '--filter', 'colour = 1'])).toMatchObject([
      1,
      { error: { code: 'validation_failed', errors: [{ pointer: '/filter' }] } },
    ]);
    expect(await json(['webhooks', 'update', NOBODYS_WEBHOOK])).toMatchObject([
      2,
      { error: { code: 'nothing_given' } },
    ]);
    expect((await cli(['webhooks', 'create', 'https://shop.example/', '--events', 'DENY'])).code).toBe(2);
    expect((await cli(['webhooks', 'update', NOBODYS_WEBHOOK, '--enable', '--disable'])).code).toBe(2);
  });
});

describe('customers rename and suspend', () => {
  test('All keys of a suspended customer are refused with the next request, and count again after --lift', async () => {
    const [, made] = await json(['customers', 'create', 'shop']);
    const id = String(made['customer_id']);
    const [, keys] = await json(['keys', 'create', '--customer', id]);
    const statuses = async (): Promise<readonly number[]> =>
      Promise.all(
        ['secret_key', 'public_key'].map(async (name) => (await decide(server.url, String(keys[name]))).status),
      );
    expect(await statuses()).toEqual([200, 200]);
    expect(await json(['customers', 'suspend', id])).toEqual([
      0,
      { customer_id: id, name: 'shop', suspended_at: expect.any(Number) },
    ]);
    expect(await statuses()).toEqual([401, 401]);
    expect((await decide(server.url, server.secretKey)).status).toBe(200);
    const [, more] = await json(['keys', 'create', '--customer', id]);
    expect((await decide(server.url, String(more['secret_key']))).status).toBe(401);
    expect(await json(['customers', 'suspend', id, '--lift'])).toMatchObject([0, { suspended_at: null }]);
    expect(await statuses()).toEqual([200, 200]);
  });

  test('A renamed customer keeps its id and its keys, and the audit log has both names', async () => {
    const [, made] = await json(['customers', 'create', 'before']);
    const id = String(made['customer_id']);
    expect(await json(['customers', 'rename', id, ' after '])).toMatchObject([0, { customer_id: id, name: 'after' }]);
    const [, audit] = await json(['audit', '--customer', id, '--kind', 'customer.changed']);
    expect(audit['entries']).toMatchObject([
      { before: { name: 'before' }, after: { name: 'after', suspended: false } },
    ]);
    expect(await json(['customers', 'rename', id, ' '])).toMatchObject([1, { error: { code: 'invalid_name' } }]);
    const unknown = 'cus_00000000000000000000000000';
    expect(await json(['customers', 'suspend', unknown])).toMatchObject([1, { error: { code: 'unknown_customer' } }]);
  });
});

describe('doctor', () => {
  type Findings = readonly { readonly check: string; readonly state: string; readonly todo?: string }[];
  async function findingsOf(
    words: readonly string[],
    env: Readonly<Record<string, string>>,
  ): Promise<[number | null, Findings]> {
    const [code, value] = await json(['doctor', ...words], env);
    return [code, value['findings'] as Findings];
  }
  const stateOf = (findings: Findings, name: string): string | undefined =>
    findings.find(({ check }) => check === name)?.state;

  test('A healthy installation passes every check, and each that does not pass says what to do', async () => {
    const [code, findings] = await findingsOf([], envOf(server));
    expect(findings.filter(({ state }) => state === 'fail')).toEqual([]);
    expect(code).toBe(0);
    expect(findings.map(({ check }) => check)).toEqual(
      expect.arrayContaining([
        'settings',
        'clock',
        'glibc',
        'transport',
        'port',
        'TLS',
        'data directory',
        'disk',
        'policy',
        'GeoIP',
        'master key',
        'keys',
        'layers',
        'proxy',
      ]),
    );
    for (const { state, todo } of findings) expect(state === 'ok').toBe(todo === undefined);
    expect((await cli(['doctor'], envOf(server))).out).toMatch(/^ok +port +Gatehouse \S+ answers on 127\.0\.0\.1:\d+/m);
  });

  test('A key is named with its rights, and one that is refused fails with the reason', async () => {
    const keyOf = async (...words: readonly string[]) =>
      (await findingsOf(words, envOf(server)))[1].find(({ check }) => check === 'key');
    expect(await keyOf()).toBeUndefined();
    expect(await keyOf('--key', server.secretKey)).toMatchObject({
      state: 'ok',
      detail: expect.stringMatching(/accepts it, a live key of .*: decide, read/),
    });
    expect(await keyOf('--key', await endedKey(), '--url', server.url)).toMatchObject({
      state: 'fail',
      detail: expect.stringContaining('This API key was revoked.'),
    });
    expect((await cli(['doctor', '--key', server.publicKey])).code).toBe(2);
  });

  test('A port of another process, a faulty policy and wrong settings fail', async () => {
    const other = createServer((_request, response) => response.end('x'));
    const { port } = new URL(await urlOf(other));
    const env = { GATEHOUSE_PORT: port, GATEHOUSE_POLICY_FILE: '/nowhere/policy.json', GATEHOUSE_COLOUR: 'red' };
    const [code, findings] = await findingsOf([], env);
    expect(code).toBe(1);
    expect([stateOf(findings, 'port'), stateOf(findings, 'policy'), stateOf(findings, 'settings')]).toEqual([
      'fail',
      'fail',
      'warn',
    ]);
    const [, faulty] = await findingsOf([], { GATEHOUSE_PORT: 'x' });
    expect(faulty[0]).toMatchObject({
      check: 'settings',
      state: 'fail',
      detail: expect.stringContaining('GATEHOUSE_PORT'),
    });
  });

  test('A proxy that passes on what clients write fails, and one that appends the address of its peer does not', async () => {
    let appends = true;
    const proxy = createServer((incoming, response) => {
      const given = incoming.headers['x-forwarded-for'];
      const address = '81.2.69.160';
      const forwarded = given === undefined ? address : appends ? `${String(given)}, ${address}` : given;
      const headers = { ...incoming.headers, 'x-forwarded-for': forwarded };
      request(`${server.url}${incoming.url ?? ''}`, { headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      }).end();
    });
    const words = ['--url', await urlOf(proxy)];
    const proxyStates = async () => stateOf((await findingsOf(words, envOf(server)))[1], 'proxy');
    expect(await proxyStates()).toBe('ok');
    appends = false;
    expect(await proxyStates()).toBe('fail');
  });

  test('A data directory on a network file system fails, one in memory or in the layer of a container warns', () => {
    expect(
      [0x6969, 0xff53_4d42, 0x0102_1994, 0x794c_7630, 0xef53].map((type) => kindFinding('/data', type).state),
    ).toEqual(['fail', 'fail', 'warn', 'warn', 'ok']);
  });
});

describe('completion', () => {
  /** Returns what bash proposes for the last word. */
  function proposed(script: string, words: readonly string[]): readonly string[] {
    const line = words.map((word) => `'${word}'`).join(' ');
    const program = `${script}\nCOMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}; _gatehouse; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', program], { encoding: 'utf8' });
    expect(stderr).toBe('');
    return stdout.split('\n').filter((word) => word !== '');
  }

  test('bash completes commands, options and the values of options', async () => {
    const { out, code } = await commandAsProcess(['completion', 'bash']);
    expect(code).toBe(0);
    expect(proposed(out, ['gatehouse', ''])).toEqual(
      expect.arrayContaining(['serve', 'lists', 'doctor', '--json', '--help']),
    );
    expect(proposed(out, ['gatehouse', 'cust'])).toEqual(['customers']);
    expect(proposed(out, ['gatehouse', '--json', 'customers', ''])).toEqual(
      expect.arrayContaining(['create', 'rename', 'suspend']),
    );
    expect(proposed(out, ['gatehouse', 'lists', 'add', '--action', ''])).toEqual(['block', 'allow', 'watch']);
    expect(proposed(out, ['gatehouse', 'tail', '--dec'])).toEqual(['--decision']);
    expect(proposed(out, ['gatehouse', 'trigger', 'B'])).toEqual(['BLOCK']);
    expect(proposed(out, ['gatehouse', 'completion', ''])).toEqual(expect.arrayContaining(['bash', 'zsh', 'fish']));
  });

  test('The scripts for zsh and fish name every command, and another shell is a usage error', async () => {
    const [, bash] = await json(['completion', 'bash']);
    for (const shell of ['zsh', 'fish']) {
      const [code, { script }] = await json(['completion', shell]);
      expect(code).toBe(0);
      const names = [...String(bash['script']).matchAll(/^ {4}'([a-z -]+)'\) COMPREPLY/gm)].map(
        ([, path = '']) => path,
      );
      expect(names.length).toBeGreaterThan(40);
      for (const name of names) expect(String(script)).toContain(`'${name}'`);
    }
    expect((await cli(['completion', 'tcsh'])).code).toBe(2);
  });
});
