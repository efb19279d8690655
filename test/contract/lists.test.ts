import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call, fingerprintOf } from '../support/manage.ts';
import { CALM, decide, gatehouse, newCustomer, type Answer } from '../support/requests.ts';
import { type SharedServer, sharedServer } from '../support/shared-server.ts';

/** Contract, 7.1 to 7.3: a test for each sentence. */

const BOT = 'Mozilla/5.0 (compatible; SomeCrawlerBot/1.0; +https://bot.example)';

let server: SharedServer;
beforeAll(async () => {
  server = await sharedServer();
});

const put = (token: string, action: string, note?: string): Promise<Answer> =>
  call(server.url, server.secretKey, 'POST', '/v1/lists', {
    fingerprint_hash: fingerprintOf(token),
    action,
    ...(note !== undefined && { note }),
  });
const ask = (token: string, changes: object = {}): Promise<Answer> =>
  decide(server.url, server.secretKey, { ...CALM, session_token: token, ...changes });
const show = (token: string): Promise<Answer> =>
  bearer(server.url, server.secretKey, 'GET', `/v1/lists/${fingerprintOf(token)}`);

async function importRegistry(token: string, row: object): Promise<void> {
  const file = join(server.dataDir, 'registry.ndjson');
  writeFileSync(file, `${JSON.stringify({ fingerprint_hash: fingerprintOf(token), ...row })}\n`);
  await gatehouse(server.dataDir, 'registry', 'import', file);
}

describe('contract, 7.1 and 7.2: entries and actions', () => {
  test('The fingerprint_hash of a list entry has 64 characters', async () => {
    expect(((await put('entry', 'block')).json['fingerprint_hash'] as string).length).toBe(64);
  });

  test('The action of a list entry is one of block, allow, watch', async () => {
    for (const action of ['block', 'allow', 'watch']) expect((await put('action', action)).status).toBeLessThan(300);
    expect((await put('action', 'deny')).status).toBe(422);
  });

  test('The note of a list entry is the customer’s own', async () => {
    expect((await put('noted', 'watch', 'seen at the till')).json['note']).toBe('seen at the till');
    expect((await show('noted')).json['note']).toBe('seen at the till');
  });

  test('A list entry has a registry part only for a fingerprint in the registry', async () => {
    await put('unknown-to-all', 'watch');
    expect(Object.keys((await show('unknown-to-all')).json)).not.toContain('shared_registry');
    await put('known-to-all', 'watch');
    const yesterday = Math.floor(Date.now() / 1000) - 86_400;
    await importRegistry('known-to-all', { risk_score: 87.4, customers_seen: 12, last_seen: yesterday });
    const entry = await show('known-to-all');
    expect(entry.json['shared_registry']).toEqual({ risk_score: 87, customers_seen: 12 });
    const listed = (await bearer(server.url, server.secretKey, 'GET', '/v1/lists')).json['data'] as unknown[];
    expect(listed).toContainEqual(entry.json);
    expect((await put('known-to-all', 'watch')).json['shared_registry']).toEqual({
      risk_score: 87,
      customers_seen: 12,
    });
  });

  test('The registry part of a list entry is read-only', async () => {
    const shared = { shared_registry: { risk_score: 1, customers_seen: 1 } };
    const entry = { fingerprint_hash: fingerprintOf('written-to'), action: 'watch', ...shared };
    const made = await call(server.url, server.secretKey, 'POST', '/v1/lists', entry);
    expect(made.status).toBe(201);
    expect(Object.keys(made.json)).not.toContain('shared_registry');
  });

  test('The risk of the registry part halves with time, as in decisions', async () => {
    const now = Math.floor(Date.now() / 1000);
    await importRegistry('long-ago', {
      risk_score: 90,
      customers_seen: 3,
      first_seen: 0,
      last_seen: now - 21 * 86_400,
    });
    await put('long-ago', 'watch');
    expect((await show('long-ago')).json['shared_registry']).toEqual({ risk_score: 45, customers_seen: 3 });
  });

  test('The action block always denies, regardless of the registry or anything else about the session', async () => {
    await put('blocked', 'block');
    expect((await ask('blocked')).json).toMatchObject({ decision: 'BLOCK', score: 100, reasons: ['list_block'] });
    for (const event_type of ['search', 'payment']) {
      expect((await ask('blocked', { event_type, user_agent: BOT })).json['decision']).toBe('BLOCK');
    }
  });

  test('The action allow overrides a flag of the registry', async () => {
    await importRegistry('flagged', { risk_score: 99, customers_seen: 40 });
    expect((await ask('flagged')).json).toMatchObject({ decision: 'SOFT_CHALLENGE', reasons: ['registry_known_bad'] });
    await put('flagged', 'allow');
    expect((await ask('flagged')).json).toMatchObject({ decision: 'ALLOW', reasons: ['list_allow'] });
  });

  test('The action watch is only a note and does not affect scoring', async () => {
    const before = (await ask('watched', { user_agent: BOT })).json;
    await put('watched', 'watch');
    const after = (await ask('watched', { user_agent: BOT })).json;
    for (const field of ['decision', 'score', 'reasons', 'review_hint']) expect(after[field]).toEqual(before[field]);
  });
});

describe('contract, 7.3: endpoints', () => {
  test('GET /v1/lists returns the caller’s current entries', async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const entries = ['block', 'allow', 'watch'].map((action) => ({ fingerprint_hash: fingerprintOf(action), action }));
    for (const entry of entries) await bearer(server.url, secretKey, 'POST', '/v1/lists', entry);
    const all = (await bearer(server.url, secretKey, 'GET', '/v1/lists')).json['data'] as { action: string }[];
    expect(all.map(({ action }) => action).sort()).toEqual(['allow', 'block', 'watch']);
    const allowed = (await bearer(server.url, secretKey, 'GET', '/v1/lists?action=allow')).json['data'];
    expect(allowed).toMatchObject([entries[1]]);
  });

  test('POST /v1/lists adds an entry, which every later decide request sees', async () => {
    expect((await ask('added')).json['decision']).toBe('ALLOW');
    expect((await put('added', 'block')).status).toBe(201);
    expect((await ask('added')).json['decision']).toBe('BLOCK');
  });

  test('DELETE /v1/lists removes the caller’s own entry and never the registry’s', async () => {
    await importRegistry('shared', { risk_score: 95, customers_seen: 9 });
    await put('shared', 'allow');
    const path = `/v1/lists/${fingerprintOf('shared')}`;
    expect((await call(server.url, server.secretKey, 'DELETE', path)).status).toBe(204);
    expect((await ask('shared')).json['reasons']).toEqual(['registry_known_bad']);
    expect((await call(server.url, server.secretKey, 'DELETE', path)).status).toBe(404);
  });

  test('A collector’s token is matched by the fingerprint in it', async () => {
    const fp = 'cd'.repeat(32);
    const token = { v: 1, fp, sid: 's1', iat: Math.floor(Date.now() / 1000), sig: {} };
    const sessionToken = `st1.${Buffer.from(JSON.stringify(token)).toString('base64url')}`;
    await call(server.url, server.secretKey, 'POST', '/v1/lists', { fingerprint_hash: fp, action: 'block' });
    expect((await ask(sessionToken)).json['decision']).toBe('BLOCK');
  });
});
