import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Answer } from '../../support/answer.ts';
import { bearer } from '../../support/manage.ts';
import { CALM, decide, gatehouse, newCustomer } from '../../support/requests.ts';
import { type RunningServer, startNode } from '../../support/server.ts';
import { eventually, type Receiver, startReceiver, webhookClient } from '../../support/webhooks.ts';

const ANNA = 'Anna.Ericson@Example.com';
const BERT = 'bert@example.com';
const POLICY = { log_requests: '14d', log_identities: 'plain', log_features_sample: 1, sample_rate: 1 };

describe('the erasure of a person', () => {
  let folder = '';
  let server: RunningServer;
  let receiver: Receiver;
  const decisions: Record<string, string> = {};
  let bertBefore: unknown;
  let erasure: Answer;

  const call = (method: string, path: string, body?: unknown, key = server.secretKey): Promise<Answer> =>
    bearer(server.url, key, method, path, body);
  const env = (): Record<string, string> => ({
    GATEHOUSE_POLICY_FILE: join(folder, 'policy.json'),
    GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8',
  });
  const start = async (): Promise<RunningServer> => startNode({ dataDir: join(folder, 'data'), env: env() });
  const ended = (id: unknown, key: string): Promise<Answer> =>
    eventually('the end of the erasure', async () => {
      const answer = await call('GET', `/v1/privacy/${String(id)}`, undefined, key);
      return answer.json['status'] === 'succeeded' || answer.json['status'] === 'failed' ? answer : null;
    });
  const decisionsOf = async (email: string): Promise<readonly unknown[]> => {
    const found = await call('GET', `/v1/decisions?link=entity.email:${encodeURIComponent(email)}`);
    return found.json['data'] as readonly unknown[];
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gatehouse-erase-'));
    writeFileSync(join(folder, 'policy.json'), JSON.stringify(POLICY));
    receiver = await startReceiver();
    server = await start();
    const webhooks = webhookClient(server.url, server.secretKey);
    await webhooks.create(receiver.url, 'ALLOW', 'ALLOW_WATCH', 'SOFT_CHALLENGE', 'REVIEW', 'BLOCK');
    for (const email of [ANNA, BERT]) {
      const entity_keys = { email };
      const ip = email === ANNA ? '81.2.69.142' : '81.2.69.160';
      for (const event_type of ['login', 'search']) {
        const body = { ...CALM, ip, event_type, entity_keys, session_token: `session of ${email}` };
        decisions[`${email} ${event_type}`] = String(
          (await decide(server.url, server.secretKey, body)).json['request_id'],
        );
      }
      await call('POST', '/v1/lists', { kind: 'email', value: email, action: 'watch', note: 'one to watch' });
      await call('POST', '/v1/lists', { kind: 'entity.email', value: email, action: 'block' });
      const request_id = decisions[`${email} login`];
      await call('POST', '/v1/labels', { request_id, label: 'fraud', note: `called ${email}` });
      await call('POST', `/v1/shadow-reviews/${request_id}`, { note: `wrote to ${email}` });
      await webhooks.ended(`?request_id=${request_id}`);
    }
    await call('PUT', '/v1/named-lists/friends', { kind: 'email' });
    await call('POST', '/v1/named-lists/friends/items', { add: [ANNA, BERT] });
    // The log of requests is written when it is five seconds old.
    await sleep(7_000);
    bertBefore = await decisionsOf(BERT);
    erasure = await call('POST', '/v1/privacy/erase', { 'entity.email': ' anna.ericson@example.com' });
  }, 60_000);
  afterAll(async () => {
    await server.stop();
    await receiver.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('It is answered 202 with an id, and ends with what was found where and what stays', async () => {
    expect([erasure.status, erasure.json]).toEqual([202, { id: expect.stringMatching(/^prv_/), status: 'queued' }]);
    const { status, json } = await ended(erasure.json['id'], server.secretKey);
    expect(status).toBe(200);
    expect(json).toMatchObject({
      id: erasure.json['id'],
      status: 'succeeded',
      subject: 'entity.email',
      keep_blocks: true,
      erased: {
        decisions: 2,
        learning_rows: 2,
        requests: 2,
        notes: 2,
        lists: 1,
        // The item, and the version before it was added.
        named_lists: 2,
      },
    });
    const { erased, kept } = json as {
      erased: Record<string, number>;
      kept: { place: string; ground: string; rows: unknown }[];
    };
    expect(erased['velocity']).toBeGreaterThan(0);
    expect(erased['deliveries']).toBeGreaterThan(0);
    expect(kept).toContainEqual(expect.objectContaining({ place: 'lists', ground: 'keep_blocks', rows: 1 }));
    expect(kept).toContainEqual(expect.objectContaining({ place: 'extractions', ground: 'not_searched' }));
    expect(JSON.stringify(json).toLowerCase()).not.toContain('anna');
  });

  test('A decision keeps its time, decision and reason codes, and loses what is about the person', async () => {
    expect(await decisionsOf(ANNA)).toEqual([]);
    const id = decisions[`${ANNA} login`] ?? '';
    const { status, json } = await call('GET', `/v1/decisions/${id}`);
    expect(status).toBe(200);
    expect(json).toMatchObject({
      request_id: id,
      event_type: 'login',
      ip: null,
      fingerprint_hash: null,
      links: [],
    });
    expect(json['decision']).toEqual(expect.any(String));
    expect(JSON.stringify(json).toLowerCase()).not.toMatch(/anna|81\.2\.69\.142/);
    expect((await call('GET', '/v1/decisions?limit=100')).json['data']).toHaveLength(4);
  });

  test("Another person's decisions, lists and notes are as before", async () => {
    expect(await decisionsOf(BERT)).toEqual(bertBefore);
    expect(bertBefore).toHaveLength(2);
    const lists = await call('GET', '/v1/lists');
    expect((lists.json['data'] as { kind: string }[]).map(({ kind }) => kind).sort()).toEqual([
      'email',
      'entity.email',
      'entity.email',
    ]);
    expect((await call('GET', '/v1/named-lists/friends/items')).json['data']).toMatchObject([{ value: BERT }]);
    const reviews = await call('GET', '/v1/shadow-reviews?queue=all');
    const notes = (reviews.json['data'] as { note: string | null }[]).flatMap(({ note }) => note ?? []);
    expect(notes).toEqual([`wrote to ${BERT}`]);
  });

  test('Neither the audit log nor the file of erasures names the person', async () => {
    const { json } = await call('GET', '/v1/audit?kind=privacy.erase');
    expect(json['data']).toMatchObject([
      { kind: 'privacy.erase', target: erasure.json['id'], after: { subject: 'entity.email', keep_blocks: true } },
    ]);
    const text = readFileSync(join(server.dataDir, 'erasures.log'), 'utf8');
    expect(text).toContain(String(erasure.json['id']));
    expect((text + JSON.stringify(json)).toLowerCase()).not.toContain('ericson');
  });

  test('A second erasure with keep_blocks false removes the entries that block, and finds no more', async () => {
    const again = await call('POST', '/v1/privacy/erase', { 'entity.email': ANNA, keep_blocks: false });
    const { json } = await ended(again.json['id'], server.secretKey);
    expect(json['erased']).toMatchObject({
      lists: 1,
      decisions: 0,
      requests: 0,
      learning_rows: 0,
      velocity: 0,
      notes: 0,
    });
  });

  test('An address is erased too, with the decisions from it', async () => {
    const body = { ...CALM, ip: '81.2.69.150', session_token: 'of an address' };
    await decide(server.url, server.secretKey, body);
    await call('POST', '/v1/lists', { kind: 'ip', value: '81.2.69.150', action: 'watch' });
    const asked = await call('POST', '/v1/privacy/erase', { ip: '81.2.69.150' });
    const { json } = await ended(asked.json['id'], server.secretKey);
    expect(json['erased']).toMatchObject({ decisions: 1, lists: 1 });
    const found = await call('GET', '/v1/decisions?link=ip:81.2.69.150');
    expect(found.json['data']).toEqual([]);
  });

  test('Bodies that name nobody, two people or something else are refused with their place', async () => {
    const refused = async (body: unknown): Promise<unknown> => {
      const { status, json } = await call('POST', '/v1/privacy/erase', body);
      return [status, (json['errors'] as { pointer: string }[])[0]?.pointer];
    };
    expect(await refused({})).toEqual([422, '/ip']);
    expect(await refused({ keep_blocks: true })).toEqual([422, '/ip']);
    expect(await refused({ ip: '81.2.69.142', browser: 'b'.repeat(20) })).toEqual([422, '/browser']);
    expect(await refused({ ip: 'nowhere' })).toEqual([422, '/ip']);
    expect(await refused({ email: ANNA })).toEqual([422, '/email']);
    expect(await refused({ 'entity.email': ANNA, keep_block: false })).toEqual([422, '/keep_block']);
    expect(await refused({ 'entity.email': ANNA, keep_blocks: 'no' })).toEqual([422, '/keep_blocks']);
    expect(await refused({ 'entity.email': 7 })).toEqual([422, '/entity.email']);
  });

  test("Another customer does not find the erasure, and erases nothing of this customer's", async () => {
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    expect((await call('GET', `/v1/privacy/${String(erasure.json['id'])}`, undefined, secretKey)).status).toBe(404);
    const asked = await call('POST', '/v1/privacy/erase', { 'entity.email': BERT }, secretKey);
    const { json } = await ended(asked.json['id'], secretKey);
    expect(Object.values(json['erased'] as Record<string, number>).every((count) => count === 0)).toBe(true);
    expect(await decisionsOf(BERT)).toEqual(bertBefore);
  });

  test('A restart keeps it so, and goes on with an erasure that was interrupted', async () => {
    const key = server.secretKey;
    await decide(server.url, key, { ...CALM, ip: '81.2.69.142', entity_keys: { email: 'carl@example.com' } });
    await sleep(600);
    const asked = await call('POST', '/v1/privacy/erase', { 'entity.email': 'carl@example.com' });
    await server.stop('SIGKILL');
    server = { ...(await start()), secretKey: key };
    const { json } = await ended(asked.json['id'], key);
    expect(json['status']).toBe('succeeded');
    expect(await decisionsOf('carl@example.com')).toEqual([]);
    // The history was saved without the person, so a kill right after the end brings nothing back.
    await server.stop('SIGKILL');
    server = { ...(await start()), secretKey: key };
    const again = await call('POST', '/v1/privacy/erase', { 'entity.email': 'carl@example.com' });
    const repeated = await ended(again.json['id'], key);
    expect(repeated.json['erased']).toMatchObject({ velocity: 0, decisions: 0 });
    expect(await decisionsOf(ANNA)).toEqual([]);
    expect(await decisionsOf(BERT)).toEqual(bertBefore);
  });

  test('A backup from before the erasure is erased when it is restored', async () => {
    const key = server.secretKey;
    await decide(server.url, key, { ...CALM, ip: '81.2.69.142', entity_keys: { email: 'dora@example.com' } });
    await call('POST', '/v1/lists', { kind: 'email', value: 'dora@example.com', action: 'watch' });
    await sleep(600);
    await gatehouse(server.dataDir, 'backup', join(folder, 'backup'));
    const asked = await call('POST', '/v1/privacy/erase', { 'entity.email': 'dora@example.com' });
    await ended(asked.json['id'], key);
    await server.stop();
    const restored = join(folder, 'restored');
    writeFileSync(join(folder, 'erasures.log'), readFileSync(join(folder, 'data', 'erasures.log')));
    const masterKey = readFileSync(join(folder, 'data', 'master.key'));
    const { mkdirSync } = await import('node:fs');
    mkdirSync(restored);
    writeFileSync(join(restored, 'master.key'), masterKey, { mode: 0o600 });
    writeFileSync(join(restored, 'erasures.log'), readFileSync(join(folder, 'erasures.log')));
    await gatehouse(restored, 'restore', join(folder, 'backup'));
    expect(existsSync(join(restored, 'hot', 'data.mdb'))).toBe(true);
    server = { ...(await startNode({ dataDir: restored, env: env() })), secretKey: key };
    const { json } = await ended(asked.json['id'], key);
    expect(json['erased']).toMatchObject({ decisions: 1, lists: 1 });
    expect(await decisionsOf('dora@example.com')).toEqual([]);
    expect(await decisionsOf(BERT)).toEqual(bertBefore);
  }, 60_000);
});
