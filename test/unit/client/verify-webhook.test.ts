import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { verifyWebhookWeb } from '../../../src/client/verify-webhook-web.ts';
import { verifyWebhook } from '../../../src/client/verify-webhook.ts';
import type { VerifyInput } from '../../../src/client/webhook-check.ts';
import { signedHeaders } from '../../../src/webhooks/sign-delivery.ts';

interface Vector {
  readonly name: string;
  readonly secret: string;
  readonly previous_secret: string | null;
  readonly timestamp: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

const read = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
const VECTORS = JSON.parse(read('test/contract/webhook-vectors.json')) as readonly Vector[];

/** A delivery as it reaches a receiver, and whether each signature is valid. Header names are in lower case. */
interface Case {
  readonly name: string;
  readonly secrets: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly now: number;
  /** Whether `webhook-signature` is valid, with its time. */
  readonly standard: boolean;
  /** Whether `X-SVC-Webhook-Signature` is valid, without a check of any time. */
  readonly bodyOnly: boolean;
}

const OTHER = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;

/** Returns one vector as sent, and with everything that can go wrong with it. */
function casesOf(vector: Vector): Case[] {
  const headers = Object.fromEntries(
    Object.entries(vector.headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const signature = headers['webhook-signature'] ?? '';
  const inFirst = vector.previous_secret ?? vector.secret;
  const sent = {
    secrets: [inFirst],
    headers,
    body: vector.body,
    now: vector.timestamp,
    standard: true,
    bodyOnly: true,
  };
  const changed = (name: string, values: Record<string, string>) => ({
    ...sent,
    name,
    headers: { ...headers, ...values },
    standard: false,
  });
  const list: Case[] = [
    { ...sent, name: 'as sent' },
    { ...sent, name: 'with the new secret', secrets: [vector.secret], bodyOnly: inFirst === vector.secret },
    { ...sent, name: 'with the secret among others', secrets: [OTHER, inFirst] },
    { ...sent, name: 'with another secret', secrets: [OTHER], standard: false, bodyOnly: false },
    { ...sent, name: 'without a secret', secrets: [], standard: false, bodyOnly: false },
    { ...sent, name: 'with another body', body: `${vector.body} `, standard: false, bodyOnly: false },
    { ...sent, name: 'at the end of the window', now: vector.timestamp + 300 },
    { ...sent, name: 'at the start of the window', now: vector.timestamp - 300 },
    { ...sent, name: 'after the window', now: vector.timestamp + 301, standard: false },
    { ...sent, name: 'before the window', now: vector.timestamp - 301, standard: false },
    {
      ...changed('with a signature of another version in front', { 'webhook-signature': `v2,xyz ${signature}` }),
      standard: true,
    },
    { ...changed('with a wrong signature in front', { 'webhook-signature': `v1,AAAA ${signature}` }), standard: true },
    changed('with another id', { 'webhook-id': 'dlv_2' }),
    changed('with another time', { 'webhook-timestamp': String(vector.timestamp + 1) }),
    changed('with a time that is not a number', { 'webhook-timestamp': `${vector.timestamp}x` }),
    changed('with a time with a sign', { 'webhook-timestamp': `+${vector.timestamp}` }),
    changed('with a time of hundreds of digits', { 'webhook-timestamp': '1'.repeat(500) }),
    changed('an id, a time and a signature that are empty', {
      'webhook-id': '',
      'webhook-timestamp': '',
      'webhook-signature': '',
    }),
    changed('with a signature of another version only', { 'webhook-signature': signature.replaceAll('v1,', 'v1a,') }),
    changed('with a truncated signature', { 'webhook-signature': signature.slice(0, 46) }),
    changed('with a signature without its version', { 'webhook-signature': signature.replaceAll('v1,', '') }),
    changed('with a signature that is not ASCII', { 'webhook-signature': 'v1,ÿÿÿÿ' }),
    {
      ...changed('with a wrong body signature', { 'x-svc-webhook-signature': '0'.repeat(64) }),
      standard: true,
      bodyOnly: false,
    },
    { ...changed('without a body signature', { 'x-svc-webhook-signature': '' }), standard: true, bodyOnly: false },
  ];
  return list.map((one) => ({ ...one, name: `${vector.name}: ${one.name}` }));
}

const CASES = VECTORS.flatMap(casesOf);

/** Returns our own verifier's result in the terms of a case. */
function judge(given: Case, scheme: 'standard' | 'body'): boolean {
  const { headers, body, secrets, now } = given;
  return verifyWebhook({ headers, body: Buffer.from(body), secrets, scheme, nowMs: now * 1_000 }).kind === 'verified';
}

const FIRST = VECTORS[0] as Vector;

function check(overrides: Partial<VerifyInput> = {}): unknown {
  return verifyWebhook({
    headers: FIRST.headers,
    body: FIRST.body,
    secrets: FIRST.secret,
    nowMs: FIRST.timestamp * 1_000,
    ...overrides,
  });
}

const without = (...names: readonly string[]): Record<string, string> =>
  Object.fromEntries(Object.entries(FIRST.headers).filter(([name]) => !names.includes(name)));

const refused = (reason: string): object => ({ kind: 'refused', reason });
const BY_STANDARD = {
  kind: 'verified',
  scheme: 'standard',
  id: 'dlv_01KB2R4T01AAAAAAAAAAAAAAAA',
  timestampSeconds: 1_795_996_800,
};
const BY_BODY = { ...BY_STANDARD, scheme: 'body', id: null };

describe('verifyWebhook', () => {
  test.each(CASES)('$name', (given) => {
    expect(judge(given, 'standard')).toBe(given.standard);
    // The verifier also checks the time of the body signature, though nothing authenticates that time.
    const isFresh = Math.abs(given.now - Number(given.headers['x-svc-webhook-ts'])) <= 300;
    expect(judge(given, 'body')).toBe(given.bodyOnly && isFresh);
  });

  test.each(CASES)('With WebCrypto the result is the same: $name', async ({ headers, body, secrets, now }) => {
    for (const scheme of ['standard', 'body'] as const) {
      const input = { headers, body, secrets, scheme, nowMs: now * 1_000 };
      expect(await verifyWebhookWeb(input)).toEqual(verifyWebhook(input));
    }
  });

  test('The verifier returns what it verified, from bytes or text, and uses the preferred signature by default', () => {
    expect(check()).toEqual(BY_STANDARD);
    expect(check({ body: Buffer.from(FIRST.body) })).toEqual(BY_STANDARD);
    expect(check({ body: new Uint8Array(Buffer.from(FIRST.body)) })).toEqual(BY_STANDARD);
    expect(check({ scheme: 'body' })).toEqual(BY_BODY);
  });

  test('The verifier accepts headers in any case, as arrays of one, and as fetch Headers', () => {
    const upper = Object.fromEntries(Object.entries(FIRST.headers).map(([name, value]) => [name.toUpperCase(), value]));
    const arrays = Object.fromEntries(Object.entries(FIRST.headers).map(([name, value]) => [name, [value]]));
    for (const headers of [upper, arrays, new Headers(FIRST.headers)]) {
      expect(check({ headers })).toEqual(BY_STANDARD);
      expect(check({ headers, scheme: 'body' })).toEqual(BY_BODY);
    }
  });

  test('The verifier accepts the hex signature in either case', () => {
    const signature = FIRST.headers['X-SVC-Webhook-Signature'] ?? '';
    const headers = { ...FIRST.headers, 'X-SVC-Webhook-Signature': signature.toUpperCase() };
    expect(check({ headers, scheme: 'body' })).toEqual(BY_BODY);
  });

  test('With `any` the verifier requires the preferred signature if it is present, and otherwise uses the other one', () => {
    expect(check({ scheme: 'any' })).toEqual(BY_STANDARD);
    expect(check({ scheme: 'any', headers: without('webhook-signature') })).toEqual(BY_BODY);
    const wrong = { ...FIRST.headers, 'webhook-signature': 'v1,AAAA' };
    expect(check({ scheme: 'any', headers: wrong })).toEqual(refused('signature_mismatch'));
  });

  test('The verifier never falls back to the weaker signature unless asked to', () => {
    expect(check({ headers: without('webhook-signature') })).toEqual(refused('missing_header'));
  });

  test.each([
    ['webhook-id', 'standard'],
    ['webhook-timestamp', 'standard'],
    ['webhook-signature', 'standard'],
    ['X-SVC-Webhook-Signature', 'body'],
    ['X-SVC-Webhook-Ts', 'body'],
  ] as const)('The verifier reports %s for %s as missing when it is absent, empty or present twice', (name, scheme) => {
    const value = FIRST.headers[name] ?? '';
    const twice = { ...FIRST.headers, [name]: [value, value] };
    const alsoTwice = { ...FIRST.headers, [name.toUpperCase()]: value, [name]: value, [name.toLowerCase()]: value };
    for (const headers of [without(name), { ...FIRST.headers, [name]: '' }, twice, alsoTwice])
      expect(check({ headers, scheme })).toEqual(refused('missing_header'));
  });

  test.each([
    ['webhook-timestamp', 'standard', '1795996800.5'],
    ['webhook-timestamp', 'standard', '1795996800000'],
    ['webhook-signature', 'standard', 'v2,abc'],
    ['X-SVC-Webhook-Ts', 'body', 'now'],
    ['X-SVC-Webhook-Signature', 'body', 'abc'],
    ['X-SVC-Webhook-Signature', 'body', 'g'.repeat(64)],
  ] as const)('The verifier reports %s for %s as malformed when it is %s', (name, scheme, value) => {
    expect(check({ headers: { ...FIRST.headers, [name]: value }, scheme })).toEqual(refused('malformed_header'));
  });

  test('The verifier reports whether the time is too old or too new, and takes another tolerance', () => {
    const at = (seconds: number, toleranceSeconds?: number) =>
      check({
        nowMs: (FIRST.timestamp + seconds) * 1_000,
        ...(toleranceSeconds === undefined ? {} : { toleranceSeconds }),
      });
    expect(at(301)).toEqual(refused('timestamp_too_old'));
    expect(at(-301)).toEqual(refused('timestamp_too_new'));
    expect(at(11, 10)).toEqual(refused('timestamp_too_old'));
    expect(at(10, 10)).toEqual(BY_STANDARD);
    expect(at(86_400, 86_400)).toEqual(BY_STANDARD);
    expect(at(0, Number.NaN)).toEqual(refused('timestamp_too_old'));
  });

  test('The verifier uses the system clock by default', () => {
    const { nowMs: _, ...input } = { headers: FIRST.headers, body: FIRST.body, secrets: FIRST.secret, nowMs: 0 };
    const ageSeconds = Math.floor(Date.now() / 1_000) - FIRST.timestamp;
    const reason = ageSeconds < 0 ? 'timestamp_too_new' : 'timestamp_too_old';
    expect(verifyWebhook(input)).toEqual(Math.abs(ageSeconds) <= 300 ? BY_STANDARD : refused(reason));
  });

  test('The verifier reports a wrong signature before a wrong time, so that a sender without the secret learns nothing about the clock', () => {
    expect(check({ body: 'x', nowMs: 0 })).toEqual(refused('signature_mismatch'));
  });

  test.each([
    ['none', []],
    ['an empty text', ''],
    ['the prefix only', 'whsec_'],
    ['a short secret', `whsec_${Buffer.alloc(23, 1).toString('base64')}`],
    ['a secret without its prefix', FIRST.secret.slice(6)],
    ['a masked secret', 'whsec_****************HyA='],
    ['a valid secret beside an empty one', [FIRST.secret, '']],
    ['undefined, as from a missing setting', undefined as unknown as string],
  ])('The verifier refuses every delivery when its secret is %s', (_, secrets) => {
    expect(check({ secrets })).toEqual(refused('invalid_secret'));
    expect(check({ secrets, scheme: 'body' })).toEqual(refused('invalid_secret'));
  });

  test('The verifier refuses a body that is already parsed', () => {
    const body = JSON.parse(FIRST.body) as string;
    expect(check({ body })).toEqual(refused('body_not_raw'));
  });

  test('The verifier verifies a body that is not UTF-8 by its bytes', () => {
    const body = Buffer.from([0xff, 0xfe, 0x00, 0x80]);
    expect(check({ body })).toEqual(refused('signature_mismatch'));
  });

  test('The verifier checks only the first 16 signatures of a header', () => {
    const right = FIRST.headers['webhook-signature'] ?? '';
    const behind = (n: number) => [...Array.from({ length: n }, () => 'v1,AAAA'), right].join(' ');
    const at = (n: number) => check({ headers: { ...FIRST.headers, 'webhook-signature': behind(n) } });
    expect(at(15)).toEqual(BY_STANDARD);
    expect(at(16)).toEqual(refused('signature_mismatch'));
  });

  test('The verifier throws for no input that a sender can choose', () => {
    for (let i = 0; i < 500; i++) {
      const noise = () => randomBytes(i % 90).toString('latin1');
      const headers = Object.fromEntries(Object.keys(FIRST.headers).map((name) => [name, noise()]));
      for (const scheme of ['standard', 'body', 'any'] as const)
        expect(check({ headers, body: noise(), scheme })).toMatchObject({ kind: 'refused' });
    }
  });
});

const PAGE = read('docs/webhooks.md');
const example = (language: string): string => PAGE.split(`\`\`\`${language}\n`)[1]?.split('```')[0] ?? '';
const isThere = (program: string, ...args: readonly string[]): boolean => spawnSync(program, args).status === 0;

const PYTHON = `
import json, sys
def judge(case):
    body = case["body"].encode()
    by_body = [verify_body(secret, case["headers"], body) for secret in case["secrets"]]
    return [verify(case["secrets"], case["headers"], body, case["now"]), any(by_body)]
print(json.dumps([judge(case) for case in json.load(sys.stdin)]))
`;

const PHP = `
$judge = function (array $case): array {
    $byBody = false;
    foreach ($case['secrets'] as $secret) {
        $byBody = verify_body($secret, $case['headers'], $case['body']) || $byBody;
    }
    return [verify($case['secrets'], $case['headers'], $case['body'], $case['now']), $byBody];
};
echo json_encode(array_map($judge, json_decode(stream_get_contents(STDIN), true)));
`;

const GO = `package main

import (
	"encoding/json"
	"net/http"
	"os"
	"time"
)

type testCase struct {
	Secrets []string          \`json:"secrets"\`
	Headers map[string]string \`json:"headers"\`
	Body    string            \`json:"body"\`
	Now     int64             \`json:"now"\`
}

func main() {
	var cases []testCase
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		panic(err)
	}
	judged := [][2]bool{}
	for _, c := range cases {
		header, byBody := http.Header{}, false
		for name, value := range c.Headers {
			header.Set(name, value)
		}
		for _, secret := range c.Secrets {
			byBody = VerifyBody(secret, header, []byte(c.Body)) || byBody
		}
		byStandard := Verify(c.Secrets, header, []byte(c.Body), time.Unix(c.Now, 0), 300*time.Second)
		judged = append(judged, [2]bool{byStandard, byBody})
	}
	json.NewEncoder(os.Stdout).Encode(judged)
}
`;

function run(program: string, args: readonly string[], cwd?: string): unknown {
  const { status, stdout, stderr } = spawnSync(program, args, { input: JSON.stringify(CASES), encoding: 'utf8', cwd });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return JSON.parse(stdout);
}

/** Starts the documented receiver for Node.js as a process and returns where it listens. The build must be present. */
async function startDocumentedReceiver(secret: string): Promise<{ readonly url: string; readonly port: number }> {
  const code = example('js');
  const listen = '.listen(8081)';
  expect(code).toContain(listen);
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-receiver-'));
  const file = join(folder, 'receiver.js');
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  copyFileSync(new URL('../../../src/client/dist/receivers.mjs', import.meta.url), join(folder, 'receivers.mjs'));
  writeFileSync(
    file,
    code.replace(listen, ".listen(0, '127.0.0.1', function () { console.log(`port ${this.address().port}`); })"),
  );
  const child = spawn(process.execPath, [file], {
    env: { ...process.env, WEBHOOK_SECRET: secret },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const port = Number(/port (\d+)/.exec(String(line))?.[1]);
  return { url: `http://127.0.0.1:${port}/`, port };
}

describe('docs/webhooks.md', () => {
  test('No body ends the documented Node.js receiver: truncated, too long, or not a delivery', async () => {
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    const { url, port } = await startDocumentedReceiver(secret);
    const send = async (body: string, by = secret): Promise<number> => {
      const sent = { deliveryId: 'dlv_1', body: Buffer.from(body), nowMs: Date.now() };
      const headers = signedHeaders({ ...sent, secrets: { current: by, previous: [] } });
      return (await fetch(url, { method: 'POST', headers, body })).status;
    };
    expect(await send('{}')).toBe(204);
    for (const end of ['end', 'resetAndDestroy'] as const) {
      const socket = connect(port, '127.0.0.1')
        .on('error', () => {})
        .resume();
      socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{"event"');
      await new Promise((resume) => setTimeout(resume, 100));
      socket[end]();
      await once(socket, 'close');
      expect(await send('{}')).toBe(204);
    }
    expect(await send('{}', OTHER)).toBe(401);
    expect(await send('no JSON')).toBe(204);
    expect(await send(`"${'x'.repeat(1_048_576)}"`)).toBe(400);
    expect(await send(`"${'x'.repeat(1_048_574)}"`)).toBe(204);
  });

  const judged = CASES.map(({ standard, bodyOnly }) => [standard, bodyOnly]);

  test('The documented Python verifiers judge every case correctly', () => {
    expect(run('python3', ['-c', example('python') + PYTHON])).toEqual(judged);
  });

  test('The documented Python verifiers refuse an empty secret, which would let anybody sign', () => {
    const code = `${example('python')}
verify([""], {"webhook-id": "a", "webhook-timestamp": "1"}, b"", 1)`;
    const { status, stderr } = spawnSync('python3', ['-c', code], { encoding: 'utf8' });
    expect(status).toBe(1);
    expect(stderr).toContain('ValueError: this is no webhook secret');
  });

  test('The documented PHP verifiers judge every case correctly', (context) => {
    if (!isThere('php', '--version')) context.skip('PHP is not installed');
    expect(run('php', ['-r', example('php') + PHP])).toEqual(judged);
  });

  test('The documented Go verifiers judge every case correctly', { timeout: 120_000 }, (context) => {
    if (!isThere('go', 'version')) context.skip('Go is not installed');
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-go-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, 'verify.go'), example('go'));
    writeFileSync(join(folder, 'main.go'), GO);
    expect(run('go', ['run', 'verify.go', 'main.go'], folder)).toEqual(judged);
  });

  test.each(VECTORS.filter((vector, i) => i === 0 || vector.previous_secret !== null))(
    'The page shows the vector "$name"',
    ({ secret, previous_secret: previous, body, headers }) => {
      for (const text of [secret, previous ?? secret, body, ...Object.values(headers)]) expect(PAGE).toContain(text);
    },
  );

  test('The page names every reason of the verifier', () => {
    const source = read('src/client/webhook-check.ts');
    const reasons = [...new Set([...source.matchAll(/refused\(.*?'(\w+)'/g)].map((match) => match[1] ?? ''))];
    expect(reasons.length).toBeGreaterThanOrEqual(6);
    for (const reason of reasons) expect(PAGE).toContain(`\`${reason}\``);
  });
});
