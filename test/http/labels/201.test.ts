import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { REQUESTS_PURPOSE } from '../../../src/app/installation.ts';
import { type KeyKind, ProvenIds } from '../../../src/kernel/ids.ts';
import { deriveKey, openMasterKey } from '../../../src/state/repair/master-key.ts';
import { openStore } from '../../../src/state/feed/open-store.ts';
import { CALM, decide } from '../../support/requests.ts';
import { bearer, call } from '../../support/manage.ts';
import { decided } from '../../support/reviews.ts';
import { sharedServer, type SharedServer } from '../../support/shared-server.ts';

describe('POST /v1/labels answers 201', () => {
  let server: SharedServer;
  beforeAll(async () => {
    server = await sharedServer();
  });

  test('a label right after its decision is 201, with all of its fields and no others', async () => {
    const before = Math.floor(Date.now() / 1000);
    const requestId = await decided(server.url, server.secretKey);
    const body = { request_id: requestId, label: 'fraud', note: 'chargeback', something: 'else' };
    const answer = await call(server.url, server.secretKey, 'POST', '/v1/labels', body);
    expect(answer.status).toBe(201);
    const { created_at: created } = answer.json;
    expect(created).toBeGreaterThanOrEqual(before);
    expect(answer.json).toEqual({
      request_id: requestId,
      label: 'fraud',
      note: 'chargeback',
      created_at: created,
      warnings: [{ pointer: '/something', code: 'unknown_field' }],
    });
  });

  test('the feature row of a decision is kept for learning when it gets a label', async () => {
    const answer = await decide(server.url, server.secretKey, {
      ...CALM,
      user_agent: 'python-requests/2.32',
      ip: '127.0.0.1',
      session_token: randomUUID(),
    });
    expect(answer.json['decision']).not.toBe('ALLOW');
    const requestId = String(answer.json['request_id']);
    const body = { request_id: requestId, label: 'fraud' };
    expect((await bearer(server.url, server.secretKey, 'POST', '/v1/labels', body)).status).toBe(201);
    const opened = openStore({ dataDir: server.dataDir, readOnly: false });
    if (opened.kind === 'fault') throw new Error(opened.detail);
    const { store } = opened;
    const kept = (): readonly string[] => {
      const ids: string[] = [];
      store.hot?.resetReadTxn();
      const reading = store.learningRows?.read(null, Date.now(), (_customer, row) =>
        ids.push(`${row.requestId} ${row.kept}`),
      );
      for (const _slice of reading ?? []) continue;
      return ids;
    };
    await expect.poll(kept).toContain(`${requestId} label`);
    await store.close();
  });

  test('a label that replaces another one is 201, for a decision of a public key too', async () => {
    const requestId = await decided(server.url, server.publicKey);
    for (const label of ['fraud', 'legitimate', 'fraud']) {
      const body = { request_id: requestId, label };
      const answer = await bearer(server.url, server.secretKey, 'POST', '/v1/labels', body);
      expect([answer.status, answer.json['label'], answer.json['note']]).toEqual([201, label, null]);
    }
  });

  test('a label for a decision that is not in the log is 201 if its id proves it, for 400 days', async () => {
    const master = openMasterKey(server.dataDir, undefined);
    if (master.kind === 'fault') throw new Error(master.detail);
    const ids = new ProvenIds(deriveKey(master.key, REQUESTS_PURPOSE));
    const made = await decided(server.url, server.secretKey);
    // Customers of a shared server have small numbers.
    const customer = Array.from({ length: 1_000 }, (_none, n) => n).find((n) => ids.prove(n, made) === 'secret') ?? -1;
    expect(ids.prove(customer, await decided(server.url, server.publicKey))).toBe('public');
    const dayMs = 86_400_000;
    const labelled = async (kind: KeyKind, ageMs: number, of = customer): Promise<number> => {
      const body = { request_id: ids.create(of, kind, Date.now() - ageMs), label: 'fraud', note: null };
      return (await call(server.url, server.secretKey, 'POST', '/v1/labels', body)).status;
    };
    expect(await labelled('secret', 40 * dayMs)).toBe(201);
    expect(await labelled('public', 399 * dayMs)).toBe(201);
    expect(await labelled('secret', 401 * dayMs)).toBe(404);
    expect(await labelled('secret', -dayMs)).toBe(404);
    expect(await labelled('secret', dayMs, customer + 1)).toBe(404);
  });

  test('the note of a label may have 500 characters, and be empty or null', async () => {
    const requestId = await decided(server.url, server.secretKey);
    for (const note of ['😀'.repeat(500), '', null]) {
      const body = { request_id: requestId, label: 'fraud', note };
      const answer = await bearer(server.url, server.secretKey, 'POST', '/v1/labels', body);
      expect([answer.status, answer.json['note']]).toEqual([201, note]);
    }
  });
});
