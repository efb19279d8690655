import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ListAction } from '../../src/risk/decision.ts';
import { createHash, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bearer, fingerprintOf } from '../support/manage.ts';
import { decide, gatehouse, get, newcomer, newCustomer, send, type Answer } from '../support/requests.ts';
import { NODES_OF_TESTS, SERVERS_IN_TURN, startServer, type RunningServer } from '../support/server.ts';
import { eventually } from '../support/webhooks.ts';

/** Contract, 3 to 6: a test for each sentence that a decision can show. */

const HEADLESS =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/139.0.0.0 Safari/537.36';
const BOT = 'Mozilla/5.0 (compatible; SomeCrawlerBot/1.0; +https://bot.example)';
/** JA3 of Python's requests. */
const TOOL_JA3 = '8d9f7747675e24454cd9b7ed35c58707';

let server: RunningServer;
const ask = (body: unknown): Promise<Answer> => decide(server.url, server.secretKey, body);

beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => {
  await server.stop();
});

function collectorToken(iat: number): string {
  const token = { v: 1, fp: 'ab'.repeat(32), sid: randomUUID(), iat, sig: {} };
  return `st1.${Buffer.from(JSON.stringify(token)).toString('base64url')}`;
}

async function putList(token: string, action: ListAction): Promise<void> {
  const entry = { fingerprint_hash: fingerprintOf(token), action };
  expect([200, 201]).toContain((await bearer(server.url, server.secretKey, 'POST', '/v1/lists', entry)).status);
}

async function importRegistry(token: string, risk: number): Promise<void> {
  const file = join(server.dataDir, 'registry.ndjson');
  writeFileSync(file, `${JSON.stringify({ fingerprint_hash: fingerprintOf(token), risk_score: risk })}\n`);
  await gatehouse(server.dataDir, 'registry', 'import', file);
}

describe('contract, 6: decisions and policy', () => {
  test('A description of a session leads to a decision, a score and the rules that fired', async () => {
    const url = 'https://shop.example/checkout';
    const { json } = await ask({ ...newcomer(), url, user_agent: HEADLESS, event_type: 'checkout' });
    expect(json).toMatchObject({ decision: 'REVIEW', score: 71.5, reasons: ['device_headless', 'journey_direct_hit'] });
  });

  test('The decision is one of five values, and each of them can occur', async () => {
    await putList('blocked-session', 'block');
    const bodies = [
      newcomer(),
      {
        ...newcomer(),
        ip: '10.0.0.1',
        entity_keys: { email: 'xq7rk2vw9zt4@mail.example' },
        headers: { accept: '*/*' },
      },
      { ...newcomer(), user_agent: BOT },
      { ...newcomer(), user_agent: HEADLESS, event_type: 'checkout' },
      { ...newcomer(), session_token: 'blocked-session' },
    ];
    const decisions = [];
    for (const body of bodies) decisions.push((await ask(body)).json['decision']);
    expect(decisions).toEqual(['ALLOW', 'ALLOW_WATCH', 'SOFT_CHALLENGE', 'REVIEW', 'BLOCK']);
  });

  test('The shared registry affects decisions without revealing customers', async () => {
    await importRegistry('known-bad', 90);
    const { json } = await ask({ ...newcomer(), session_token: 'known-bad' });
    expect(json).toMatchObject({ decision: 'SOFT_CHALLENGE', score: 70, reasons: ['registry_known_bad'] });
    expect(JSON.stringify(json)).not.toMatch(/customer/i);
  });

  test('A list entry overrides the registry for its customer and never replaces it', async () => {
    await importRegistry('trusted-here', 90);
    await putList('trusted-here', 'allow');
    const here = await ask({ ...newcomer(), session_token: 'trusted-here' });
    expect(here.json).toMatchObject({ decision: 'ALLOW', score: 0, reasons: ['list_allow'] });
    const other = await newCustomer(server.url, server.dataDir);
    const there = await decide(server.url, other.secretKey, { ...newcomer(), session_token: 'trusted-here' });
    expect(there.json['reasons']).toEqual(['registry_known_bad']);
  });

  test('Each customer’s lists are private', async () => {
    const other = await newCustomer(server.url, server.dataDir);
    await putList('private-block', 'block');
    expect((await ask({ ...newcomer(), session_token: 'private-block' })).json['decision']).toBe('BLOCK');
    const there = await decide(server.url, other.secretKey, { ...newcomer(), session_token: 'private-block' });
    expect(there.json).toMatchObject({ decision: 'ALLOW', reasons: [] });
  });

  test('The action block always denies, and the other rules are still reported', async () => {
    await putList('always-denied', 'block');
    const { json } = await ask({ ...newcomer(), session_token: 'always-denied', user_agent: HEADLESS });
    expect(json).toMatchObject({ decision: 'BLOCK', score: 100, reasons: ['list_block', 'device_headless'] });
  });

  test('The action watch does not change the response', async () => {
    await putList('watched', 'watch');
    const { json } = await ask({ ...newcomer(), session_token: 'watched' });
    expect(json).toMatchObject({ decision: 'ALLOW', score: 0, reasons: [] });
  });

  test('Every later decide request sees a change of a list', async () => {
    for (let round = 0; round < 100; round++) {
      const action = round % 2 === 0 ? 'block' : 'allow';
      await putList('flip', action);
      const decision = async () => (await ask({ ...newcomer(), session_token: 'flip' })).json['decision'];
      const expected = action === 'block' ? 'BLOCK' : 'ALLOW';
      // On another node than that of the change: within milliseconds, not at once.
      if (NODES_OF_TESTS > 0) await expect.poll(decision, { timeout: 1_000, interval: 5 }).toBe(expected);
      else expect(await decision()).toBe(expected);
    }
  });
});

describe('contract, 4.1 and 4.2: the decide request', () => {
  test('A missing ip is not an error and disables everything derived from it', async () => {
    expect((await ask({ ...newcomer(), ip: '192.168.1.9' })).json['reasons']).toEqual(['ip_not_public']);
    const { ip: _ip, ...without } = newcomer();
    const { status, json } = await ask(without);
    expect([status, json['reasons']]).toEqual([200, []]);
  });

  test('An ip that does not parse fires ip_invalid and is not an error', async () => {
    expect((await ask({ ...newcomer(), ip: '1.2.3' })).json['reasons']).toEqual(['ip_invalid']);
  });

  test('An ip may be written as proxies write it: with a port, in brackets, in quotes, with a zone', async () => {
    for (const ip of ['81.2.69.160:51234', '"[2a00:1450::200e]:443"', '[2a00:1450::200e]', 'for=81.2.69.160'])
      expect([ip, (await ask({ ...newcomer(), ip })).json['reasons']]).toEqual([ip, []]);
  });

  test('The user_agent is used by the device rules', async () => {
    expect((await ask({ ...newcomer(), user_agent: BOT })).json['reasons']).toEqual(['device_bot_user_agent']);
    expect((await ask({ ...newcomer(), user_agent: '' })).json['reasons']).toEqual(['device_missing_user_agent']);
    const { user_agent: _agent, ...without } = newcomer();
    expect((await ask(without)).json['reasons']).toEqual([]);
  });

  test('The url and referrer are used by the journey rules and for direct hits', async () => {
    // Each in a separate session: two checkouts within 3 s would be too fast.
    const checkout = () => ({ ...newcomer(), event_type: 'checkout', url: 'https://shop.example/checkout' });
    expect((await ask(checkout())).json['reasons']).toEqual(['journey_direct_hit']);
    expect((await ask({ ...checkout(), event_type: 'login' })).json['reasons']).toEqual([]);
    expect((await ask({ ...checkout(), referrer: 'https://shop.example/' })).json['reasons']).toEqual([]);
    expect((await ask({ ...newcomer(), url: 'https://shop.example/.env' })).json['reasons']).toEqual([
      'journey_probe_url',
    ]);
  });

  test.each([{}, { session_token: '' }, { session_token: ' \t' }, { session_token: null }])(
    'An empty or missing session_token (%o) leads to SOFT_CHALLENGE',
    async (token) => {
      const { session_token: _token, ...without } = newcomer();
      expect((await ask({ ...without, ...token })).json['decision']).toBe('SOFT_CHALLENGE');
    },
  );

  test('entity_keys may have any names, and numbers are treated as text', async () => {
    const { json } = await ask({ ...newcomer(), entity_keys: { whatever: 7, contact: 'a@mailinator.com' } });
    expect(json['reasons']).toEqual(['identity_disposable_email']);
  });

  test('Header names are case-insensitive, and array values are joined', async () => {
    const noLanguage = await ask({ ...newcomer(), headers: { Accept: ['text/html', '*/*'] } });
    expect(noLanguage.json['reasons']).toEqual(['device_missing_accept_language']);
    const tool = await ask({ ...newcomer(), headers: { 'X-SVC-JA3': TOOL_JA3, 'Accept-Language': 'en' } });
    expect(tool.json['reasons']).toContain('device_tls_tool');
  });

  test('The event_type selects thresholds, case-insensitively, and may be any text', async () => {
    const decisionOf = async (eventType: string): Promise<unknown> =>
      (await ask({ ...newcomer(), url: null, user_agent: BOT, event_type: eventType })).json['decision'];
    expect(await decisionOf('login')).toBe('SOFT_CHALLENGE');
    expect(await decisionOf('payment')).toBe('REVIEW');
    expect(await decisionOf('PayMent')).toBe('REVIEW');
    expect(await decisionOf('something else')).toBe('SOFT_CHALLENGE');
  });

  test.each([0, 1, -5, 9_007_199_254_740_991])('The timestamp field is informational only (%d)', async (timestamp) => {
    expect((await ask({ ...newcomer(), timestamp })).json).toMatchObject({ decision: 'ALLOW', score: 0 });
  });
});

describe('contract, 5.1: the decide response', () => {
  test('The request_id is unique per call', async () => {
    const ids = await Promise.all(Array.from({ length: 50 }, async () => (await ask(newcomer())).json['request_id']));
    expect(new Set(ids).size).toBe(50);
  });

  test('The score is between 0 and 100', async () => {
    const worst = {
      ...newcomer(),
      user_agent: HEADLESS,
      url: 'https://shop.example/.env',
      event_type: 'signup',
      entity_keys: { email: 'xq7rk2vw9zt4@mailinator.com' },
    };
    const { json } = await ask(worst);
    expect(json['decision']).toBe('BLOCK');
    expect(json['score']).toBeGreaterThanOrEqual(80);
    expect(json['score']).toBeLessThanOrEqual(100);
  });

  test('The reasons are always an array, without duplicates', async () => {
    expect((await ask(newcomer())).json['reasons']).toEqual([]);
    const { json } = await ask({
      ...newcomer(),
      user_agent: HEADLESS,
      entity_keys: { a: 'x@mailinator.com', b: 'y@mailinator.com' },
    });
    const reasons = json['reasons'] as string[];
    expect(new Set(reasons).size).toBe(reasons.length);
  });

  test('The review_hint is one sentence for decisions that people may review, otherwise empty', async () => {
    expect((await ask(newcomer())).json['review_hint']).toBe('');
    expect((await ask({ ...newcomer(), user_agent: HEADLESS })).json['review_hint']).toMatch(
      /^Strongest evidence: .+\.$/,
    );
  });

  test('The latency_ms is an integer', async () => {
    const latency = Number((await ask(newcomer())).json['latency_ms']);
    expect(Number.isInteger(latency) && latency >= 0).toBe(true);
  });

  test('The session_mode is no_session, unverified or full', async () => {
    const collector = collectorToken(Math.floor(Date.now() / 1000) - 5);
    // On a machine that stands still for 25 ms one of several nodes decides alone, and reports it for a second.
    const mode = (body: unknown): Promise<unknown> =>
      eventually('a decision of all nodes together', async () => {
        const { session_mode: shown } = (await ask(body)).json;
        return shown === 'degraded' ? null : shown;
      });
    expect(await mode({})).toBe('no_session');
    expect(await mode(newcomer())).toBe('unverified');
    expect(await mode({ ...newcomer(), session_token: collector })).toBe('full');
    expect(await mode({ ...newcomer(), session_token: 'st1.garbage' })).toBe('unverified');
  });

  test('shadow_routed is a boolean, and true just below BLOCK', async () => {
    expect(typeof (await ask(newcomer())).json['shadow_routed']).toBe('boolean');
    // 0.70 headless, 0.20 private address, 0.05 old token: 77.2, below the 80 of a login.
    const near = {
      ...newcomer(),
      ip: '10.0.0.1',
      user_agent: HEADLESS,
      event_type: 'login',
      session_token: collectorToken(Math.floor(Date.now() / 1000) - 2 * 86_400),
    };
    const { json } = await ask(near);
    expect(json).toMatchObject({ decision: 'SOFT_CHALLENGE', score: 77.2, shadow_routed: true });
  });
});

describe('contract, 3.9 and 4.3: a missing session token and rate-limit headers', () => {
  test('An empty session_token leads to SOFT_CHALLENGE without scoring, never to BLOCK', async () => {
    const worst = { ip: '10.0.0.1', user_agent: HEADLESS, url: '/.env', session_token: '', event_type: 'payment' };
    const { json } = await ask(worst);
    expect(json).toMatchObject({
      decision: 'SOFT_CHALLENGE',
      score: 50,
      reasons: ['missing_session_token'],
      session_mode: 'no_session',
    });
  });

  test('Lists do not apply without a fingerprint', async () => {
    await putList('', 'block');
    expect((await ask({ ...newcomer(), session_token: '' })).json['decision']).toBe('SOFT_CHALLENGE');
  });

  test('The response has the rate-limit headers', async () => {
    const { headers } = await ask(newcomer());
    for (const name of ['x-svc-rl-limit', 'x-svc-rl-remaining', 'x-svc-rl-reset'])
      expect(headers[name]).toMatch(/^\d+$/);
  });
});

describe('contract, 3: authentication and signing', () => {
  test('A secret key signs with itself, a public key with its SHA-256 digest or that digest in hex', async () => {
    expect((await decide(server.url, server.secretKey)).status).toBe(200);
    expect((await decide(server.url, server.publicKey)).status).toBe(200);
    const { createHmac } = await import('node:crypto');
    const body = JSON.stringify(newcomer());
    const timestamp = String(Math.floor(Date.now() / 1000));
    const requestId = randomUUID();
    const bodyHash = createHash('sha256').update(body).digest('hex');
    const digestHex = createHash('sha256').update(server.publicKey).digest('hex');
    const signature = createHmac('sha256', digestHex)
      .update(['POST', '/v1/decide', timestamp, bodyHash, requestId].join('\n'))
      .digest('hex');
    const answer = await decide(server.url, server.publicKey, body, {
      headers: { 'X-SVC-Ts': timestamp, 'X-SVC-Rid': requestId, 'X-SVC-Sig': signature },
    });
    expect(answer.status).toBe(200);
  });

  test('A wrong signature and an unknown key lead to 401', async () => {
    expect((await decide(server.url, server.secretKey, newcomer(), { signedBody: 'x' })).status).toBe(401);
    expect((await decide(server.url, `sk_live_${'x'.repeat(38)}`)).status).toBe(401);
  });

  test('A changed body of a public-key request is rejected', async () => {
    expect((await decide(server.url, server.publicKey, newcomer(), { signedBody: '{}' })).status).toBe(401);
  });
});

describe('contract, 5.5: status codes', () => {
  test('An error is a problem with type, title, status, code, detail and request_id', async () => {
    const answer = await decide(server.url, server.secretKey, '{');
    expect(answer.headers['content-type']).toBe('application/problem+json');
    expect(Object.keys(answer.json).sort()).toEqual(['code', 'detail', 'request_id', 'status', 'title', 'type']);
  });
});

describe('contract, 3.9 and 16: limits', () => {
  test('Every decide response has the three rate-limit headers, including errors', async () => {
    const answers = [
      await ask(newcomer()),
      await decide(server.url, server.secretKey, '{'),
      await decide(server.url, server.secretKey, newcomer(), { signedBody: 'x' }),
      await decide(server.url, 'unknown'),
      await decide(server.url, server.secretKey, 'x'.repeat(70_000)),
      await send(server.url, server.secretKey, { method: 'GET' }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 400, 401, 401, 413, 405]);
    for (const { headers } of answers) {
      for (const name of ['x-svc-rl-limit', 'x-svc-rl-remaining', 'x-svc-rl-reset', 'ratelimit', 'ratelimit-policy']) {
        expect(headers[name]).toBeDefined();
      }
    }
  });

  test('X-SVC-Rl-Reset is the Unix second at which the window ends, and the remaining number decreases within it', async () => {
    const [first, second] = [await ask(newcomer()), await ask(newcomer())];
    const reset = Number(first.headers['x-svc-rl-reset']);
    const now = Date.now() / 1000;
    expect(reset).toBeGreaterThan(now - 1);
    expect(reset).toBeLessThanOrEqual(now + 60);
    if (second.headers['x-svc-rl-reset'] === first.headers['x-svc-rl-reset']) {
      expect(Number(second.headers['x-svc-rl-remaining'])).toBe(Number(first.headers['x-svc-rl-remaining']) - 1);
    }
  });
});

describe('the table of hosting networks', () => {
  test('Data centres are recognised without a network database, and relays are not taken for them', async () => {
    const { json } = await ask({ ...newcomer(), ip: '52.95.110.1' });
    expect(json['reasons']).toEqual(['ip_hosting']);
    expect((await ask({ ...newcomer(), ip: '2a01:4f8:1:2::3' })).json['reasons']).toEqual(['ip_hosting']);
    expect((await ask({ ...newcomer(), ip: '104.28.1.1' })).json).toMatchObject({ score: 0, reasons: ['ip_relay'] });
  });
});

describe('contract, 1.3: versions', () => {
  test('All paths require the prefix /v1', async () => {
    expect((await send(server.url, server.secretKey, { path: '/decide' })).status).toBe(404);
    expect((await send(server.url, server.secretKey, { path: '/v2/decide' })).status).toBe(404);
  });
});

describe('what an operator sees', () => {
  test('/readyz names the transport, the version and every layer', async () => {
    const { status, json } = await get(server.url, '/readyz');
    expect(status).toBe(200);
    expect(Object.keys(json['layers'] as object).sort()).toEqual(
      [
        'addresses',
        'anonymiser',
        'backups',
        'extraction',
        'geoip_asn',
        'geoip_city',
        'geoip_country',
        'hosting_networks',
        'model',
        'networks',
        'policy',
        'store',
        'webhooks',
        ...(NODES_OF_TESTS > 0 ? ['cluster', 'feed', 'velocity'] : []),
      ].sort(),
    );
    expect(json).toMatchObject({ version: expect.any(String) as string, transport: expect.any(String) as string });
  });

  test('A decision has one canonical log line, and no line contains a key, a token or an identity', async () => {
    // Earlier tests may have used up this second's log lines.
    await new Promise((done) => setTimeout(done, 1_100));
    const { json } = await ask({
      ...newcomer(),
      session_token: 'secret-session-token',
      entity_keys: { email: 'someone@private.example' },
    });
    await expect.poll(() => server.stdout()).toContain(String(json['request_id']));
    expect(server.stdout().split(String(json['request_id']))).toHaveLength(2);
    const output = server.stdout();
    for (const secret of [server.secretKey, server.publicKey, 'secret-session-token', 'someone@private.example']) {
      expect(output).not.toContain(secret);
    }
  });

  test('/metrics counts decisions, rules, rejections, batches and layers', async () => {
    // Each server counts only its own requests.
    const reviewed = { url: 'https://shop.example/checkout', user_agent: HEADLESS, event_type: 'checkout' };
    for (let n = 0; n < SERVERS_IN_TURN; n++) await ask({ ...newcomer(), ...reviewed });
    for (let n = 0; n < SERVERS_IN_TURN; n++) await decide(server.url, server.secretKey, '{');
    const { text } = await get(server.url, '/metrics');
    for (const line of [
      /^gatehouse_decisions_total\{decision="REVIEW"\} [1-9]/m,
      /^gatehouse_rule_hits_total\{rule="device_headless"\} [1-9]/m,
      /^gatehouse_refusals_total\{code="malformed_json"\} [1-9]/m,
      /^gatehouse_decide_seconds_bucket\{le="\+Inf"\} [1-9]/m,
      /^gatehouse_batch_requests_count [1-9]/m,
      /^gatehouse_queue_requests 0$/m,
      /^gatehouse_layer_state\{layer="store"\} 1$/m,
    ]) {
      expect(text).toMatch(line);
    }
  });
});
