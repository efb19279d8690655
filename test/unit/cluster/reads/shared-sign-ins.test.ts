import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { DashboardSessions } from '../../../../src/auth/dashboard-sessions.ts';
import { SignInCodes } from '../../../../src/auth/sign-in-codes.ts';
import { SharedSignIns } from '../../../../src/cluster/reads/shared-sign-ins.ts';
import type { CustomerNumber } from '../../../../src/kernel/brand.ts';
import { openNodes, seeEachOther, type TestNode } from '../nodes.ts';
import { ask, startStore, type StoreServer } from '../../../support/store-links.ts';

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
  readonly codes: SignInCodes;
  readonly share: SharedSignIns;
}

function shareOn(node: TestNode): SignedIn {
  const sessions = new DashboardSessions();
  const codes = new SignInCodes();
  const share = new SharedSignIns({ sessions, codes, peers: node.peers });
  onTestFinished(() => share.close());
  return { node, sessions, codes, share };
}

async function openPair(): Promise<[SignedIn, SignedIn]> {
  const [a, b] = (await openNodes(server, 2)).map((node) => shareOn(node));
  if (a === undefined || b === undefined) throw new Error('there are two nodes');
  return [a, b];
}

function sessionOf({ sessions }: SignedIn): string {
  return sessions.open(KEY, Date.now());
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
    a.node.link.isCut = true;
    const begun = sessionOf(a);
    const row = a.sessions.rowOf(ended);
    a.sessions.end(ended);
    await a.share.ended(row?.idHash ?? '');
    expect(b.sessions.use(ended, Date.now())).not.toBeNull();
    a.node.link.isCut = false;
    await b.share.sync();
    expect([b.sessions.use(ended, Date.now()), b.sessions.use(begun, Date.now())]).toEqual([
      null,
      expect.objectContaining({ key: KEY }),
    ]);
  });

  test('What has ended does not come back from a node that was away, nor from one that started since', async () => {
    const [a, b] = await openPair();
    const [one, other] = [await signIn(a), await signIn(a, OTHER)];
    const rows = [one, other].map((id) => a.sessions.rowOf(id));
    a.node.link.isCut = true;
    b.sessions.end(one);
    b.sessions.endAll(OTHER.hash);
    await Promise.all([b.share.ended(rows[0]?.idHash ?? ''), b.share.endedAll(OTHER.hash)]);
    a.node.link.isCut = false;
    for (const { share } of [b, a, b]) await share.sync();
    for (const { sessions } of [a, b]) expect(sessions.rows()).toEqual([]);
    // A node without any memory of it gets the old sessions from one, and what has ended from the other.
    for (const row of rows) if (row !== null) a.sessions.adopt(row);
    const [c] = (await openNodes(server, 1, { space: a.node.space })).map((node) => shareOn(node));
    if (c === undefined) throw new Error('there is a third node');
    await seeEachOther([a.node, b.node, c.node]);
    await c.share.sync();
    expect(c.sessions.rows()).toEqual([]);
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

  test('The store keeps nothing of a session', async () => {
    const [a] = await openPair();
    await signIn(a);
    const link = await server.link(a.node.space);
    const keys = ((await ask(link, 'KEYS', '*')) as readonly Buffer[]).map(String);
    expect(keys.filter((key) => !/^\{gh:feed\}:(nodes|cluster)$|^\{gh:n[^}]+\}:inbox:/.test(key))).toEqual([]);
  });
});

describe('sign-in codes of several nodes', () => {
  const hashOf = (text: string): string => hash('sha256', text, 'hex');

  test('A code works once, on whatever node', async () => {
    const [a, b] = await openPair();
    const { text } = a.codes.issue(KEY.hash, Date.now());
    expect(await b.share.redeemed(hashOf(text))).toBe(KEY.hash);
    expect(await b.share.redeemed(hashOf(text))).toBeNull();
    expect(a.codes.redeem(text, Date.now())).toBeNull();
  });

  test('Without the store a code works on the node that issued it', async () => {
    const [a, b] = await openPair();
    for (const { node } of [a, b]) node.link.isCut = true;
    const { text } = a.codes.issue(KEY.hash, Date.now());
    expect(await b.share.redeemed(hashOf(text))).toBeNull();
    expect(a.codes.redeem(text, Date.now())).toBe(KEY.hash);
  });
});
