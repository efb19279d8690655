import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { bearer, call, fingerprintOf, nthHash } from '../../support/manage.ts';
import { CALM, decide } from '../../support/requests.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

describe('POST /v1/lists answers 201', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });

  test('a new entry is 201, with all of its fields and no others', async () => {
    const before = Math.floor(Date.now() / 1000);
    const answer = await call(server.url, server.secretKey, 'POST', '/v1/lists', {
      fingerprint_hash: 'AB'.repeat(32),
      action: 'block',
      note: 'a note',
      something: 'else',
    });
    expect(answer.status).toBe(201);
    const { created_at: created } = answer.json;
    expect(created).toBeGreaterThanOrEqual(before);
    expect(answer.json).toEqual({
      fingerprint_hash: 'ab'.repeat(32),
      kind: 'fingerprint',
      value: 'ab'.repeat(32),
      action: 'block',
      note: 'a note',
      created_at: created,
      updated_at: created,
      expires_at: null,
      usage: { sessions_24h: 0, identities_24h: 0, flagged_24h: 0 },
      warnings: [{ pointer: '/something', code: 'unknown_field' }],
    });
  });

  test('the note of an entry is null if there is none, and otherwise as given', async () => {
    const noteOf = async (n: number, note?: unknown): Promise<unknown> => {
      const entry = { fingerprint_hash: nthHash(n), action: 'watch', ...(note !== undefined && { note }) };
      return (await bearer(server.url, server.secretKey, 'POST', '/v1/lists', entry)).json['note'];
    };
    expect(await noteOf(1)).toBeNull();
    expect(await noteOf(2, null)).toBeNull();
    expect(await noteOf(3, '')).toBe('');
    expect(await noteOf(4, '😀'.repeat(500))).toBe('😀'.repeat(500));
  });

  test('an entry for a fingerprint whose entry has expired is 201, and until then the old entry applies', async () => {
    const token = 'a-session-for-a-while';
    const hash = fingerprintOf(token);
    const expires = Math.floor(Date.now() / 1000) + 2;
    const entry = { fingerprint_hash: hash, action: 'block', expires_at: expires };
    const made = await bearer(server.url, server.secretKey, 'POST', '/v1/lists', entry);
    expect([made.status, made.json['expires_at']]).toEqual([201, expires]);
    const ask = async (): Promise<unknown> =>
      (await decide(server.url, server.secretKey, { ...CALM, session_token: token })).json['decision'];
    expect(await ask()).toBe('BLOCK');
    await sleep(expires * 1000 - Date.now() + 20);
    expect(await ask()).toBe('ALLOW');
    expect((await bearer(server.url, server.secretKey, 'GET', `/v1/lists/${hash}`)).status).toBe(404);
    const listed = await bearer(server.url, server.secretKey, 'GET', '/v1/lists?action=block');
    expect(JSON.stringify(listed.json)).not.toContain(hash);
    const again = await bearer(server.url, server.secretKey, 'POST', '/v1/lists', { ...entry, expires_at: null });
    expect(again.status).toBe(201);
    expect(again.json['created_at']).toBeGreaterThanOrEqual(expires);
  });
});
