import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ENDPOINTS } from '../../../src/contract/endpoints.ts';
import { type Person, signIn } from '../../support/dashboard.ts';
import { books, extractionClient, startSource, type SourceServer } from '../../support/extractions.ts';
import { bearer, fingerprintOf } from '../../support/manage.ts';
import { type Answer, decide, gatehouse, newCustomer } from '../../support/requests.ts';
import { type RunningServer, startServer } from '../../support/server.ts';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually, startReceiver, type Receiver, webhookClient } from '../../support/webhooks.ts';

/** Two customers side by side: every id of one in every endpoint of the other, through the dashboard. */

/** Endpoints whose ids name things of one customer. The catalogue of connectors is the same for all. */
const WITH_ID = Object.entries(ENDPOINTS).filter(
  // PUT writes a rule or a list of the caller's own, whatever others have.
  ([id, { access, params, tag }]) =>
    access === 'secret' && params !== undefined && tag !== 'connectors' && !['putRule', 'putNamedList'].includes(id),
);

const TOKEN = 'a-session-of-one-customer';
const HASH = fingerprintOf(TOKEN);

/** A body that the endpoint accepts for its own ids. */
const BODIES: Readonly<Record<string, unknown>> = {
  judgeShadowReview: { verdict: 'fraud' },
  changeWebhook: { description: 'mine now' },
  rotateSecret: { grace_seconds: 60 },
  recoverDeliveries: { since: 0 },
  changeRule: { note: 'mine now' },
  changeNamedItems: { add: ['mine.example'] },
  restoreNamedList: { version: 1 },
  changeWatch: { name: 'mine now' },
};

let server: RunningServer;
let source: SourceServer;
let receiver: Receiver;
let owner: Person;
let other: Person;
/** Signed in with a test key of the owner's customer. */
let tester: Person;
let folder: string;
/** The ids of the owner's things by tag, and by endpoint where a tag has several kinds. */
const ids: Record<string, string> = {};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-policy-'));
  writeFileSync(join(folder, 'policy.json'), JSON.stringify({ sample_rate: 1 }));
  [source, receiver] = await Promise.all([startSource(), startReceiver()]);
  server = await startServer({
    env: {
      GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8',
      GATEHOUSE_CONNECTOR_BASE_OPENLIBRARY: source.url,
      GATEHOUSE_EXTRACT_HOST_GAP_MS: '0',
      GATEHOUSE_POLICY_FILE: join(folder, 'policy.json'),
    },
  });
  const { url, secretKey: key } = server;
  owner = await signIn(url, { key });
  const { secretKey } = await newCustomer(url, server.dataDir);
  other = await signIn(url, { key: secretKey });
  const { customer_id: customerId } = (await bearer(url, key, 'GET', '/v1/me')).json;
  const made = await gatehouse(server.dataDir, 'keys', 'create', '--customer', String(customerId), '--test');
  tester = await signIn(url, { key: String(made['secret_key']) });
  const webhooks = webhookClient(url, key);
  ids['webhooks'] = (
    await webhooks.create(receiver.url, 'ALLOW', 'ALLOW_WATCH', 'SOFT_CHALLENGE', 'REVIEW', 'BLOCK')
  ).id;
  const decided = await decide(url, key, { session_token: TOKEN, ip: '86.1.1.1', event_type: 'login' });
  ids['decisions'] = String(decided.json['request_id']);
  ids['reviews'] = ids['decisions'];
  ids['findFingerprint'] = HASH;
  ids['lists'] = HASH;
  await owner.call('POST', '/v1/lists', { fingerprint_hash: HASH, action: 'watch' });
  for (const id of ['findValueEntry', 'removeValueEntry']) ids[id] = 'country/DE';
  await owner.call('POST', '/v1/lists', { kind: 'country', value: 'DE', action: 'watch' });
  const rule = { when: 'event.type == "login"', decision: 'REVIEW' };
  for (const id of ['findRule', 'changeRule', 'deleteRule']) ids[id] = 'own_one';
  await owner.call('PUT', '/v1/rules/own_one', rule);
  for (const id of ['listNamedItems', 'changeNamedItems', 'deleteNamedList', 'listNamedVersions', 'restoreNamedList'])
    ids[id] = 'partners';
  await owner.call('PUT', '/v1/named-lists/partners', { kind: 'text' });
  for (const id of ['rotateKey', 'revokeKey']) ids[id] = key.slice(0, 12);
  const backtest = await owner.call('POST', '/v1/policy/backtest', { rules: [{ ...rule, code: 'own_one' }], since: 0 });
  for (const id of ['findBacktest', 'cancelBacktest']) ids[id] = String(backtest.json['id']);
  const erasure = await owner.call('POST', '/v1/privacy/erase', { 'entity.email': 'nobody@shop.example' });
  ids['privacy'] = String(erasure.json['id']);
  const exported = await owner.call('POST', '/v1/privacy/export', { 'entity.email': 'nobody@shop.example' });
  ids['readPersonExport'] = String(exported.json['id']);
  const delivery = await webhooks.ended(`?request_id=${ids['decisions']}`);
  ids['findDelivery'] = delivery.id;
  ids['retryDelivery'] = delivery.id;
  const watch = await owner.call('POST', '/v1/watches', { extraction: books(3), every: '1h', key: ['id'] });
  ids['watches'] = String(watch.json['id']);
  const session = await owner.call('POST', '/v1/sessions', { host: 'books.example', headers: { 'x-a': 'b' } });
  ids['sessions'] = String(session.json['id']);
  const { ask } = extractionClient(url, key);
  ids['extractions'] = String((await ask('POST', '/v1/extractions', books(3))).json['id']);
  await eventually('the end of the extraction', async () => {
    const { json } = await owner.call('GET', `/v1/extractions/${ids['extractions']}`);
    return json['status'] === 'succeeded' ? json : null;
  });
  await eventually('the row of the review', async () => {
    const { json } = await owner.call('GET', '/v1/shadow-reviews');
    return JSON.stringify(json).includes(ids['reviews'] ?? '?') ? json : null;
  });
});
afterAll(async () => {
  await server.stop();
  await source.close();
  await receiver.close();
  rmSync(folder, { recursive: true });
});

function targetOf(id: string): string {
  const { path, tag } = ENDPOINTS[id as keyof typeof ENDPOINTS];
  const own = ids[id] ?? ids[tag];
  if (own === undefined)
    throw new Error(`add to ids, in beforeAll, something of the owner that ${id} names in its path`);
  return path.replace(/\{.*\}/, own);
}

const ask = (person: Person, id: string): Promise<Answer> => {
  const { method } = ENDPOINTS[id as keyof typeof ENDPOINTS];
  return person.call(method, targetOf(id), method === 'GET' || method === 'DELETE' ? undefined : (BODIES[id] ?? {}));
};

describe('two customers side by side', () => {
  test.each(WITH_ID)('%s gives the other customer 404 for an id of the first', async (id) => {
    const { status, json, text } = await ask(other, id);
    expect([status, json['code']]).toEqual([404, 'not_found']);
    expect(text).not.toContain('cus_');
  });

  test.each(WITH_ID)('%s gives a test key of the first customer 404 for an id of its live data', async (id) => {
    const { status, json } = await ask(tester, id);
    expect([status, json['code']]).toEqual([404, 'not_found']);
  });

  test.each(WITH_ID.filter(([, { method }]) => method === 'GET'))('%s gives the first customer its own', async (id) => {
    expect((await ask(owner, id)).status).toBe(200);
  });

  test('No write of the other customer changed anything', async () => {
    expect((await owner.call('GET', `/v1/lists/${HASH}`)).json['action']).toBe('watch');
    expect((await owner.call('GET', targetOf('findWebhook'))).json).not.toMatchObject({ description: 'mine now' });
    expect((await owner.call('GET', '/v1/shadow-reviews?verdict=none')).json['data']).toHaveLength(1);
  });

  test('Lists of the other customer are empty, and a cursor of the first is refused', async () => {
    for (const path of [
      '/v1/decisions',
      '/v1/lists',
      '/v1/webhooks',
      '/v1/webhooks/deliveries',
      '/v1/extractions',
      '/v1/sessions',
    ]) {
      for (const person of [other, tester])
        expect([path, (await person.call('GET', path)).json['data']]).toEqual([path, []]);
      expect([path, (await owner.call('GET', path)).json['data']]).not.toEqual([path, []]);
    }
    await owner.call('POST', '/v1/lists', { fingerprint_hash: 'ff'.repeat(32), action: 'watch' });
    const page = await owner.call('GET', '/v1/lists?limit=1');
    const foreign = await other.call('GET', `/v1/lists?limit=1&cursor=${String(page.json['next_cursor'])}`);
    expect([foreign.status, foreign.json['code']]).toEqual([400, 'invalid_request']);
  });

  test('A revoked key of one customer ends its own sessions only', async () => {
    await gatehouse(server.dataDir, 'keys', 'revoke', '--yes', server.secretKey);
    expect((await owner.call('GET', '/v1/lists')).status).toBe(401);
    expect((await other.call('GET', '/v1/lists')).status).toBe(200);
  });
});
