import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LINKS_PURPOSE } from '../../../src/app/installation.ts';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import { LinkHasher } from '../../../src/risk/decision-links.ts';
import { LIST_VALUES_PURPOSE, ListKeys } from '../../../src/risk/lists/list-key.ts';
import { deriveKey, openMasterKey } from '../../../src/state/repair/master-key.ts';
import { bearer } from '../../support/manage.ts';
import { CALM, decide } from '../../support/requests.ts';
import { type RunningServer, startNode } from '../../support/server.ts';
import { eventually, type Receiver, startReceiver, webhookClient } from '../../support/webhooks.ts';

const ANNA = 'anna.ericson@example.com';
const BERT = 'bert.berntsen@example.com';
const POLICY = { log_requests: '14d', log_identities: 'plain', log_features_sample: 1, sample_rate: 1 };
/** The customer of the first start. */
const CUSTOMER = 1 as CustomerNumber;

/** The journal keeps outbox entries for 301 s, which the response of an erasure says. */
const EXPIRING = /^hot\/replay\//;

/** Returns the files of a data directory that contain some bytes. */
function filesWith(dataDir: string, needle: Buffer): readonly string[] {
  return readdirSync(dataDir, { recursive: true, encoding: 'utf8' })
    .filter((name) => !EXPIRING.test(name) && statSync(join(dataDir, name)).isFile())
    .filter((name) => readFileSync(join(dataDir, name)).includes(needle))
    .sort();
}

describe('the files of a data directory', () => {
  let folder = '';
  let server: RunningServer;
  let receiver: Receiver;
  let before: Record<string, readonly string[]> = {};
  const needles: Record<string, Record<string, Buffer>> = {};

  /** The value and the hashes under which tables hold an e-mail address, as bytes and as text. */
  function needlesOf(email: string): Record<string, Buffer> {
    const opened = openMasterKey(join(folder, 'data'), undefined);
    if (opened.kind === 'fault') throw new Error(opened.detail);
    const links = new LinkHasher(deriveKey(opened.key, LINKS_PURPOSE));
    const link = Buffer.alloc(8);
    links.updateEntity(CUSTOMER, 'email', email);
    links.write(link, 0);
    const key = new ListKeys(deriveKey(opened.key, LIST_VALUES_PURPOSE)).keyOf(CUSTOMER, {
      kind: 'email',
      value: email,
    });
    const hash = Buffer.from(key, 'hex').subarray(16);
    return {
      value: Buffer.from(email),
      'hash of links': link,
      'hash of links as text': Buffer.from(link.toString('hex')),
      'hash of lists': hash,
      'hash of lists as text': Buffer.from(hash.toString('hex')),
    };
  }
  const found = (email: string): Record<string, readonly string[]> =>
    Object.fromEntries(
      Object.entries(needles[email] ?? {}).map(([name, needle]) => [name, filesWith(join(folder, 'data'), needle)]),
    );

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gatehouse-trace-'));
    writeFileSync(join(folder, 'policy.json'), JSON.stringify(POLICY));
    receiver = await startReceiver();
    const env = { GATEHOUSE_POLICY_FILE: join(folder, 'policy.json'), GATEHOUSE_EGRESS_ALLOW: '127.0.0.0/8' };
    server = await startNode({ dataDir: join(folder, 'data'), env });
    const call = (method: string, path: string, body?: unknown): ReturnType<typeof bearer> =>
      bearer(server.url, server.secretKey, method, path, body);
    for (const email of [ANNA, BERT]) needles[email] = needlesOf(email);
    const webhooks = webhookClient(server.url, server.secretKey);
    await webhooks.create(receiver.url, 'ALLOW', 'ALLOW_WATCH', 'SOFT_CHALLENGE', 'REVIEW', 'BLOCK');
    await call('PUT', '/v1/named-lists/friends', { kind: 'email' });
    for (const email of [ANNA, BERT]) {
      const body = { ...CALM, event_type: 'login', entity_keys: { email }, session_token: `session of ${email}` };
      for (let n = 0; n < 20; n++) {
        const request_id = (await decide(server.url, server.secretKey, body)).json['request_id'];
        await call('POST', '/v1/labels', { request_id, label: 'fraud', note: `called ${email}` });
        await call('POST', `/v1/shadow-reviews/${String(request_id)}`, { note: `wrote to ${email}` });
      }
      await call('POST', '/v1/lists', { kind: 'email', value: email, action: 'watch', note: `${email} again` });
      await call('POST', '/v1/named-lists/friends/items', { add: [email] });
      await call('POST', '/v1/named-lists/friends/items', { remove: [email] });
      await call('POST', '/v1/named-lists/friends/items', { add: [email] });
    }
    // The log of requests is written when it is five seconds old.
    await sleep(7_000);
    before = found(ANNA);
    const asked = await call('POST', '/v1/privacy/erase', { 'entity.email': ANNA, keep_blocks: false });
    await eventually('the end of the erasure', async () => {
      const { json } = await call('GET', `/v1/privacy/${String(asked.json['id'])}`);
      return json['status'] === 'succeeded' ? json : null;
    });
  }, 90_000);
  afterAll(async () => {
    await server.stop();
    await receiver.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const NOWHERE = {
    value: [],
    'hash of links': [],
    'hash of links as text': [],
    'hash of lists': [],
    'hash of lists as text': [],
  };

  test('They hold neither the value nor a hash of an erased person, in live rows and in freed pages', () => {
    expect(before['value']).toContain('state/data.mdb');
    expect(before['hash of links']).toContain('hot/data.mdb');
    expect(before['hash of lists']).toContain('state/data.mdb');
    expect(found(ANNA)).toEqual(NOWHERE);
    const others = found(BERT);
    expect(others['value']).toContain('state/data.mdb');
    expect(others['hash of links']).toContain('hot/data.mdb');
  });

  test('A shutdown, which saves what was in memory, brings nothing back', async () => {
    await server.stop();
    expect(found(ANNA)).toEqual(NOWHERE);
  });
});
