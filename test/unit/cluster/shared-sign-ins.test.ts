import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { DashboardSessions } from '../../../src/auth/dashboard-sessions.ts';
import { EncryptedValues } from '../../../src/cluster/encrypted-values.ts';
import { SharedSignIns } from '../../../src/cluster/shared-sign-ins.ts';
import { feedKey } from '../../../src/cluster/store-keys.ts';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import { CLUSTER_KEY, openNodes, type TestNode } from './nodes.ts';
import { ask, startStore, type StoreServer } from '../../support/store-links.ts';

const KEY = { hash: 'ab'.repeat(32), customer: 7 as CustomerNumber, prefix: 'sk_live_abcd' };
const OTHER = { ...KEY, hash: 'cd'.repeat(32) };

let server: StoreServer;
beforeAll(async () => {
  server = await startStore();
});
afterAll(() => server.stop());

interface SignedIn {
  readonly node: TestNode;
  readonly sessions: DashboardSessions;
  readonly share: SharedSignIns;
}

function shareOn(node: TestNode): SignedIn {
  const sessions = new DashboardSessions(60_000);
  const values = new EncryptedValues(CLUSTER_KEY);
  const share = new SharedSignIns({ sessions, link: node.link, peers: node.peers, values });
  onTestFinished(() => share.close());
  return { node, sessions, share };
}

async function openPair(): Promise<[SignedIn, SignedIn]> {
  const [a, b] = (await openNodes(server, 2)).map((node) => shareOn(node));
  if (a === undefined || b === undefined) throw new Error('there are two nodes');
  return [a, b];
}

async function signIn({ sessions, share }: SignedIn, key = KEY): Promise<string> {
  const id = sessions.open(key, Date.now());
  const row = sessions.rowOf(id);
  if (row !== null) await share.opened(row);
  return id;
}

describe('dashboard sessions of several nodes', () => {
  test('A session that one node opened is one of the other at once, and ends on both', async () => {
    const [a, b] = await openPair();
    const id = await signIn(a);
    expect(b.sessions.use(id, Date.now())).toMatchObject({ key: KEY });
    b.sessions.end(id);
    await b.share.ended(a.sessions.rowOf(id)?.idHash ?? '');
    expect(a.sessions.use(id, Date.now())).toBeNull();
    await a.share.sync();
    expect(a.sessions.rows()).toEqual([]);
  });

  test('Signing out everywhere ends the sessions of this key on all nodes and no others', async () => {
    const [a, b] = await openPair();
    const ids = [await signIn(a), await signIn(b), await signIn(b, OTHER)];
    a.sessions.endAll(KEY.hash);
    await a.share.endedAll(KEY.hash);
    await b.share.sync();
    for (const { sessions } of [a, b])
      expect(ids.map((id) => sessions.use(id, Date.now()) !== null)).toEqual([false, false, true]);
  });

  test('A node that was away learns what began and what ended meanwhile', async () => {
    const [a, b] = await openPair();
    const ended = await signIn(a);
    await b.share.sync();
    b.node.link.isCut = true;
    await b.node.peers.close();
    const begun = await signIn(a);
    const row = a.sessions.rowOf(ended);
    a.sessions.end(ended);
    await a.share.ended(row?.idHash ?? '');
    expect(b.sessions.use(ended, Date.now())).not.toBeNull();
    b.node.link.isCut = false;
    await b.share.sync();
    expect([b.sessions.use(ended, Date.now()), b.sessions.use(begun, Date.now())]).toEqual([
      null,
      expect.objectContaining({ key: KEY }),
    ]);
  });

  test('A session that is used on one node does not end as idle on the other', async () => {
    const [a, b] = await openPair();
    const id = await signIn(a);
    const laterMs = Date.now() + 59_000;
    expect(a.sessions.use(id, laterMs)).not.toBeNull();
    await a.share.sync();
    await b.share.sync();
    expect(b.sessions.use(id, laterMs + 59_000)).not.toBeNull();
  });

  test('A session of a time without the store is shared when the store is back', async () => {
    const [a, b] = await openPair();
    a.node.link.isCut = true;
    const id = await signIn(a);
    expect([a.sessions.use(id, Date.now()) !== null, b.sessions.use(id, Date.now())]).toEqual([true, null]);
    a.node.link.isCut = false;
    await a.share.sync();
    await b.share.sync();
    expect(b.sessions.use(id, Date.now())).not.toBeNull();
  });

  test('The store holds neither a session id nor a key’s hash in the clear, and what it makes up is no session', async () => {
    const [a, b] = await openPair();
    const id = await signIn(a);
    const link = await server.link(a.node.space);
    const [, value] = (await ask(link, 'HGETALL', feedKey('sessions'))) as readonly Buffer[];
    const dump = value?.toString('latin1') ?? '';
    expect(dump.length).toBeGreaterThan(100);
    expect([id, KEY.hash, KEY.prefix].filter((text) => dump.includes(text))).toEqual([]);
    await ask(link, 'HSET', feedKey('sessions'), 'ef'.repeat(32), randomBytes(120));
    await b.share.sync();
    expect(b.sessions.rows()).toHaveLength(1);
  });
});

describe('sign-in codes of several nodes', () => {
  test('A code works once, on whatever node', async () => {
    const [a, b] = await openPair();
    const code = '12'.repeat(32);
    await a.share.issued(code, KEY.hash, 60_000);
    expect(await b.share.redeemed(code, null)).toBe(KEY.hash);
    expect(await b.share.redeemed(code, null)).toBeNull();
    expect(await a.share.redeemed(code, KEY.hash)).toBeNull();
  });

  test('Without the store a code works on the node that issued it', async () => {
    const [a, b] = await openPair();
    const code = '34'.repeat(32);
    for (const { node } of [a, b]) node.link.isCut = true;
    await a.share.issued(code, KEY.hash, 60_000);
    expect(await a.share.redeemed(code, KEY.hash)).toBe(KEY.hash);
    expect(await b.share.redeemed(code, null)).toBeNull();
  });
});
