import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../support/layer-folders.ts';
import { bearer } from '../support/manage.ts';
import { decide, get, newcomer } from '../support/requests.ts';
import { startServer, type RunningServer } from '../support/server.ts';

/** Rules of the customer's own in a policy file, and the attributes that they read. */

let folder = '';
let file = '';
let server: RunningServer;
let versions = 0;

function write(policy: unknown): void {
  writeFileSync(`${file}.new`, JSON.stringify(policy));
  renameSync(`${file}.new`, file);
}

async function put(rules: readonly object[]): Promise<void> {
  const version = `v${++versions}`;
  write({ version, rules });
  await until(async () => {
    const { json } = await get(server.url, '/readyz');
    return (json['layers'] as { policy: { version: string } }).policy.version === version;
  });
}

type Decided = Readonly<Record<string, unknown>>;

async function payment(attributes: unknown, key = server.secretKey): Promise<{ status: number; json: Decided }> {
  return await decide(server.url, key, { ...newcomer(), event_type: 'payment', attributes });
}

interface Shown {
  readonly reasons: readonly string[];
  readonly contributions: readonly { readonly reason: string }[];
}

async function logged(requestId: unknown): Promise<Shown> {
  let shown: Shown | null = null;
  await until(async () => {
    const { status, json } = await bearer(server.url, server.secretKey, 'GET', `/v1/decisions/${String(requestId)}`);
    shown = status === 200 ? (json as unknown as Shown) : null;
    return shown !== null;
  });
  if (shown === null) throw new Error('the decision is not in the log');
  return shown;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-own-rules-'));
  file = join(folder, 'policy.json');
  write({ version: 'first' });
  server = await startServer({ env: { GATEHOUSE_POLICY_FILE: file } });
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

const BIG = 'event.type == "payment" && attributes.amount > 5000 && attributes.currency == "EUR"';

describe('rules of the own', () => {
  test('A payment of 99,999 is reviewed by an own rule, with the facts as evidence', async () => {
    await put([
      { code: 'own_big', when: BIG, decision: 'REVIEW', mode: 'enforce' },
      { code: 'own_watched', when: 'attributes.amount > 10', weight: 0.9 },
    ]);
    const big = { amount: 99_999, currency: 'EUR' };
    await until(async () => (await payment(big)).json['decision'] === 'REVIEW');
    const { json } = await payment(big);
    expect(json).toMatchObject({ decision: 'REVIEW' });
    expect(json['reasons']).toContain('own_big');
    expect(json['reasons']).not.toContain('own_watched');
    expect(json['review_hint']).toBe('Strongest evidence: a rule of your own (own_big).');
    const shown = await logged(json['request_id']);
    expect(shown.reasons).toEqual(json['reasons']);
    expect(shown.contributions).toEqual(
      expect.arrayContaining([
        {
          reason: 'own_big',
          family: 'own',
          weight: 0,
          evidence: 'event.type payment, attributes.amount 99999, attributes.currency EUR',
          decision: 'REVIEW',
          counts: expect.any(Boolean),
          without: { score: 10, decision: 'ALLOW' },
        },
        {
          reason: 'own_watched',
          family: 'own',
          weight: 0.9,
          evidence: 'attributes.amount 99999',
          observed: true,
          counts: false,
          without: null,
        },
      ]),
    );
    // Without any other reason the own rule still decides.
    const others = shown.contributions.filter(({ reason }) => !reason.startsWith('own_'));
    for (const one of others) expect(one).toMatchObject({ without: { decision: 'REVIEW' } });
    for (const attributes of [
      { amount: 50, currency: 'EUR' },
      { amount: '99999', currency: 'EUR' },
      { amount: 99_999 },
      undefined,
    ])
      expect((await payment(attributes)).json['reasons']).not.toContain('own_big');
    expect((await payment(big, server.publicKey)).json['reasons']).not.toContain('own_big');
  });

  test.each<readonly [unknown, string]>([
    [{ Amount: 1 }, '/attributes/Amount'],
    [{ amount: { value: 1 } }, '/attributes/amount'],
    [{ plan: 'x'.repeat(257) }, '/attributes/plan'],
    [{ tags: Array.from({ length: 17 }, () => 'a') }, '/attributes/tags'],
    [{ tags: [1] }, '/attributes/tags'],
    [Object.fromEntries(Array.from({ length: 33 }, (_none, n) => [`a${n}`, n])), '/attributes/a32'],
    [[], '/attributes'],
  ])('Attributes %j are refused at %s', async (attributes, pointer) => {
    const { status, json } = await payment(attributes);
    expect(status).toBe(400);
    expect(json).toMatchObject({ code: 'invalid_request', errors: [{ pointer }] });
  });
});

describe('rules over the API', () => {
  const ask = (method: string, code: string, body?: unknown) =>
    bearer(server.url, server.secretKey, method, `/v1/rules/${code}`, body);

  test('A rule decides the next decision, and a deleted one does not, for every worker', async () => {
    await put([]);
    const big = { amount: 99_999, currency: 'EUR' };
    const decisions = async (): Promise<readonly unknown[]> => {
      const all = await Promise.all(Array.from({ length: 8 }, () => payment(big)));
      return [...new Set(all.map(({ json }) => json['decision']))];
    };
    for (let round = 0; round < 5; round++) {
      const rule = { when: BIG, decision: 'BLOCK', mode: 'enforce' };
      expect((await ask('PUT', 'own_api', rule)).status).toBe(201);
      expect(await decisions()).toEqual(['BLOCK']);
      expect((await ask('PATCH', 'own_api', { mode: 'observe' })).status).toBe(200);
      expect(await decisions()).not.toContain('BLOCK');
      expect((await ask('PATCH', 'own_api', { mode: 'enforce' })).status).toBe(200);
      expect(await decisions()).toEqual(['BLOCK']);
      expect((await ask('DELETE', 'own_api')).status).toBe(204);
      expect(await decisions()).not.toContain('BLOCK');
    }
  });

  test('A code of the policy file is 409, and one that the file gets later is shadowed', async () => {
    await put([]);
    expect((await ask('PUT', 'own_api', { when: BIG, decision: 'BLOCK', mode: 'enforce' })).status).toBe(201);
    await put([
      { code: 'own_api', when: 'attributes.amount > 1000000', weight: 0.1, mode: 'enforce' },
      { code: 'own_file', when: BIG, weight: 0.1 },
    ]);
    await until(async () => (await payment({ amount: 99_999, currency: 'EUR' })).json['decision'] !== 'BLOCK');
    const { json } = await bearer(server.url, server.secretKey, 'GET', '/v1/rules');
    expect(json['data']).toMatchObject([
      { code: 'own_api', source: 'policy', shadowed: false, created_at: null },
      { code: 'own_file', source: 'policy' },
      { code: 'own_api', source: 'api', shadowed: true, decision: 'BLOCK' },
    ]);
    for (const [method, code, body] of [
      ['PUT', 'own_file', { when: BIG, weight: 0.1 }],
      ['PATCH', 'own_file', { mode: 'enforce' }],
      ['DELETE', 'own_file'],
      ['PATCH', 'own_api', { mode: 'observe' }],
    ] as const)
      expect(await ask(method, code, body)).toMatchObject({ status: 409, json: { code: 'rule_in_policy' } });
    expect((await ask('GET', 'own_file')).json).toMatchObject({ source: 'policy' });
    expect((await ask('DELETE', 'own_api')).status).toBe(204);
  });

  test('A rule whose attribute is not declared any more does not run and tells why', async () => {
    write({ version: 'declared', attributes: { colour: { type: 'text' } } });
    await until(
      async () =>
        (await ask('PUT', 'own_colour', { when: 'attributes.colour == "red"', decision: 'BLOCK', mode: 'enforce' }))
          .status === 201,
    );
    expect((await payment({ colour: 'red' })).json['decision']).toBe('BLOCK');
    await put([]);
    await until(async () => (await payment({ colour: 'red' })).json['decision'] !== 'BLOCK');
    expect((await ask('GET', 'own_colour')).json).toMatchObject({
      errors: [{ code: 'unknown_fact', line: 1, column: 1 }],
    });
    await ask('DELETE', 'own_colour');
  });
});

test('A rule of the policy file may name a list before it exists: it is unknown until then, and a warning says so', async () => {
  const listed = () =>
    decide(server.url, server.secretKey, { ...newcomer(), entity_keys: { email: 'a@partner.example' } });
  const warnings = async (): Promise<unknown> => {
    const { json } = await bearer(server.url, server.secretKey, 'GET', '/v1/rules/own_partner');
    return json['warnings'];
  };
  const named = (method: string, path: string, body?: object) =>
    bearer(server.url, server.secretKey, method, `/v1/named-lists/partners${path}`, body);
  await put([{ code: 'own_partner', when: 'email.domain in list.partners', decision: 'BLOCK', mode: 'enforce' }]);
  expect((await listed()).json['reasons']).not.toContain('own_partner');
  expect(await warnings()).toMatchObject([{ pointer: '/when', code: 'list_unusable' }]);
  expect((await named('PUT', '', { kind: 'email_domain' })).status).toBe(201);
  expect((await named('POST', '/items', { add: ['partner.example'] })).status).toBe(200);
  expect((await listed()).json).toMatchObject({ decision: 'BLOCK' });
  expect(await warnings()).toEqual([]);
  expect(await named('DELETE', '')).toMatchObject({ status: 409, json: { code: 'in_use' } });
  await put([]);
  expect((await named('DELETE', '')).status).toBe(204);
});

describe('attributes that rules of the service read', () => {
  test('A new account that pays much more than is usual is challenged, with both figures as evidence', async () => {
    const usual = { amount: 20, currency: 'CHF' };
    for (let n = 0; n < 50; n++) expect((await payment(usual)).status).toBe(200);
    const high = { amount: 400, currency: 'CHF' };
    const old = await payment({ ...high, account_created_at: 1_600_000_000 });
    expect(old.json['reasons']).not.toContain('payment_high_new_account');
    const created = { account_created_at: Math.floor(Date.now() / 1_000) - 600 };
    expect((await payment({ ...usual, ...created })).json['reasons']).not.toContain('payment_high_new_account');
    expect((await payment({ ...high, ...created })).json['reasons']).toContain('payment_high_new_account');
  });
});
