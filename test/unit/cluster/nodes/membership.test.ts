import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Link } from '../../../../src/cluster/store/link.ts';
import { Membership, type MembershipEvent, type MembershipOptions } from '../../../../src/cluster/nodes/membership.ts';
import { forgetNode } from '../../../../src/cluster/feed/membership-commands.ts';
import { readNodeId } from '../../../../src/cluster/nodes/node-id.ts';
import { CLUSTER_KEY, NODES_KEY } from '../../../../src/cluster/store/store-keys.ts';
import { encrypt } from '../../../../src/kernel/encryption.ts';
import { pack } from '../../../../src/kernel/pack.ts';
import { tempFolder } from '../../state/support.ts';
import { ask, startStore, type StoreServer } from '../../../support/store-links.ts';

const KEY = Buffer.alloc(32, 5);
/** Short, so that tests are quick; the ratio is that of the service. */
const BEAT_MS = 60;
const GONE_MS = 300;

let server: StoreServer;
let control: Link;
beforeAll(async () => {
  server = await startStore();
  control = await server.link();
});
afterAll(() => server.stop());
beforeEach(async () => {
  await ask(control, 'FLUSHALL');
});

async function node(id: string, options: Partial<MembershipOptions> = {}): Promise<Membership> {
  const facts = { version: '1.0.0', roles: ['api'], url: `http://${id}`, startedAtMs: 5, feedPosition: '7-1' };
  const member = new Membership({
    link: await server.link(),
    id,
    home: randomBytes(16).toString('hex'),
    key: KEY,
    facts: () => facts,
    beatMs: BEAT_MS,
    goneMs: GONE_MS,
    ...options,
  });
  onTestFinished(() => member.close());
  return member;
}

async function joined(id: string, options: Partial<MembershipOptions> = {}): Promise<Membership> {
  const member = await node(id, options);
  expect(await member.join()).toEqual({ kind: 'ok' });
  return member;
}

function eventsOf(member: Membership): string[] {
  const events: string[] = [];
  member.onChange((event: MembershipEvent) => {
    events.push(`${event.kind} ${event.node.id}${event.kind === 'gone' && event.isOrderly ? ' orderly' : ''}`);
  });
  return events;
}

const idsOf = (member: Membership): string[] => member.peers().map(({ id }) => id);

/** A link that the test can interrupt. */
function cutting(link: Link): Link & { isCut: boolean } {
  const own = {
    isCut: false,
    isUp: true,
    send: (commands: Parameters<Link['send']>[0], deadlineMs?: number) =>
      own.isCut
        ? Promise.resolve(commands.map(() => ({ kind: 'fault', what: 'unknown', detail: 'cut' }) as const))
        : link.send(commands, deadlineMs),
    close: () => link.close(),
  };
  return own;
}

const [NODES, CLUSTER] = ['{gh:feed}:nodes', '{gh:feed}:cluster'];

/** The encrypted part of a row. */
async function payloadOf(id: string): Promise<Buffer> {
  const row = (await ask(control, 'HGET', NODES, id)) as Buffer;
  let at = 0;
  for (let spaces = 0; spaces < 4; at++) if (row[at] === 0x20) spaces++;
  return row.subarray(at);
}

/** Writes a row of a live node with a later epoch than any other. */
async function forge(id: string, payload: Buffer): Promise<unknown> {
  const head = `${Date.now() + 3_600_000} ${Date.now()} up ${'0f'.repeat(16)} `;
  return ask(control, 'HSET', NODES, id, Buffer.concat([Buffer.from(head), payload]));
}

async function fill(): Promise<void> {
  for (let n = 0; n < 300; n++) await forge(`forged-${n}`, Buffer.from('garbage'));
}

describe('membership', () => {
  test('Nodes see each other with their facts, and a node that stops is gone at once', async () => {
    const a = await joined('a');
    const events = eventsOf(a);
    const b = await joined('b');
    await vi.waitFor(() => expect(idsOf(a)).toEqual(['b']));
    expect(a.peers()[0]).toMatchObject({ version: '1.0.0', roles: ['api'], url: 'http://b', feedPosition: '7-1' });
    expect(a.peers()[0]?.epoch).toBe(b.epoch);
    expect(idsOf(b)).toEqual(['a']);
    await b.close();
    await a.beat();
    expect(events).toEqual(['appeared b', 'gone b orderly']);
    expect(a.missing()).toEqual(['b']);
  });

  test('A node that is not heard for five beats is gone, and appears again with its next beat', async () => {
    const a = await joined('a');
    const events = eventsOf(a);
    const link = cutting(await server.link());
    const b = await joined('b', { link });
    await vi.waitFor(() => expect(events).toEqual(['appeared b']));
    link.isCut = true;
    const cutAtMs = performance.now();
    await vi.waitFor(() => expect(events).toEqual(['appeared b', 'gone b']), { timeout: 5_000 });
    expect(performance.now() - cutAtMs).toBeGreaterThan(GONE_MS - 2 * BEAT_MS);
    await vi.waitFor(() => expect(b.peers()).toEqual([]));
    expect(b.missing()).toEqual(['a']);
    link.isCut = false;
    await vi.waitFor(() => expect(events).toEqual(['appeared b', 'gone b', 'appeared b']));
    await vi.waitFor(() => expect(idsOf(b)).toEqual(['a']));
  });

  test('A node that has left for good is not missed', async () => {
    const a = await joined('a');
    const b = await joined('b');
    await a.beat();
    await b.close(true);
    // The first beat may be one that began before.
    await vi.waitFor(async () => {
      await a.beat();
      expect([idsOf(a), a.missing()]).toEqual([[], []]);
    });
  });

  test('A killed node whose directory leaves by the command is not missed once it is silent; another directory changes nothing', async () => {
    const a = await joined('a');
    const [home, link] = ['0a'.repeat(16), cutting(await server.link())];
    await joined('b', { home, link });
    await a.beat();
    link.isCut = true;
    const events = eventsOf(a);
    await forgetNode(control, { id: 'b', home: '0b'.repeat(16) });
    await vi.waitFor(() => expect(events).toEqual(['gone b']), { timeout: 5_000 });
    expect(a.missing()).toEqual(['b']);
    await forgetNode(control, { id: 'b', home });
    await a.beat();
    expect([idsOf(a), a.missing()]).toEqual([[], []]);
  });

  test('The later one of two nodes with one id is refused, and the earlier one goes on', async () => {
    const a = await joined('a');
    const later = await node('a');
    expect(await later.join()).toMatchObject({ kind: 'fault', code: 'id_taken', detail: expect.stringContaining('a') });
    expect(await a.beat()).toEqual({ kind: 'ok' });
  });

  test('A node takes the place of its own earlier run at once, with a higher epoch', async () => {
    const home = '0a'.repeat(16);
    const link = cutting(await server.link());
    const onReplaced = vi.fn<(detail: string) => void>();
    const before = await joined('a', { home, link, onReplaced });
    link.isCut = true;
    const b = await joined('b');
    const events = eventsOf(b);
    const startedMs = performance.now();
    const after = await joined('a', { home });
    expect(performance.now() - startedMs).toBeLessThan(GONE_MS);
    expect(after.epoch).toBeGreaterThan(before.epoch);
    await b.beat();
    expect(events).toEqual(['gone a', 'appeared a']);
    link.isCut = false;
    await vi.waitFor(() => expect(onReplaced).toHaveBeenCalledOnce());
    expect(await after.beat()).toEqual({ kind: 'ok' });
  });

  test('A node on another machine takes the id of a node that died, after waiting for it', async () => {
    const link = cutting(await server.link());
    const before = await joined('a', { link });
    link.isCut = true;
    const after = await joined('a');
    expect(after.epoch).toBeGreaterThan(before.epoch);
  });

  test('A node with another master key is nobody to the others, and they are nobody to it', async () => {
    const a = await joined('a');
    const other = await joined('b', { key: Buffer.alloc(32, 6) });
    await a.beat();
    await other.beat();
    expect([idsOf(a), idsOf(other)]).toEqual([[], []]);
  });

  test('Nobody is declared dead while the store is away or because it has forgotten everything', async () => {
    const a = await joined('a');
    await joined('b');
    await vi.waitFor(() => expect(idsOf(a)).toEqual(['b']));
    const events = eventsOf(a);
    server.pause();
    await vi.waitFor(() => expect(a.isJoined).toBe(false), { timeout: 5_000 });
    expect([idsOf(a), a.missing()]).toEqual([[], ['b']]);
    server.resume();
    await vi.waitFor(() => expect(idsOf(a)).toEqual(['b']), { timeout: 5_000 });
    await ask(control, 'FLUSHALL');
    await a.beat();
    await vi.waitFor(async () => expect((await ask(control, 'HLEN', '{gh:feed}:nodes')) ?? 0).toBe(2));
    expect(events).toEqual([]);
  });

  test('A node that lives goes on as it is, whatever is written into its row or beside it', async () => {
    const onReplaced = vi.fn<(detail: string) => void>();
    const a = await joined('a', { onReplaced });
    const b = await joined('b', { onReplaced });
    await a.beat();
    const events = eventsOf(a);
    const row = ((await ask(control, 'HGET', NODES_KEY, 'b')) as Buffer).toString('latin1');
    const [, payload = ''] = /^(?:\S+ ){4}(.*)$/s.exec(row) ?? [];
    const own = Buffer.from(payload, 'latin1');
    for (const [head, kept] of [
      [`${b.epoch} ${Date.now()} left 00 `, own],
      [`${b.epoch} ${Date.now()} stopped 00 `, own],
      [`9999999999999999 ${Date.now()} up 00 `, own],
      ['9999999999999999 1 up 00 ', Buffer.from('garbage')],
    ] as const) {
      await ask(control, 'HSET', NODES_KEY, 'b', Buffer.concat([Buffer.from(head), kept]));
      await ask(control, 'HSET', CLUSTER_KEY, 'key', 'another', 'format', '7', 'epoch', '1e300');
      await a.beat();
      await b.beat();
      await a.beat();
      expect([events, idsOf(a), idsOf(b)]).toEqual([[], ['b'], ['a']]);
    }
    expect(onReplaced).not.toHaveBeenCalled();
    const c = await joined('c');
    expect(idsOf(c)).toEqual(['a', 'b']);
  });

  test('Heartbeats of a dead node that are written again keep it alive for no longer than one does', async () => {
    const a = await joined('a');
    const link = cutting(await server.link());
    const b = await joined('b', { link });
    const rows: Buffer[] = [];
    for (let n = 0; n < 8; n++) {
      await b.beat();
      rows.push((await ask(control, 'HGET', NODES_KEY, 'b')) as Buffer);
    }
    await a.beat();
    const events = eventsOf(a);
    link.isCut = true;
    const startedMs = performance.now();
    for (let n = 0; n < 40; n++) {
      const [, rest = ''] = /^\d+ \d+ (.*)$/s.exec(rows[n % rows.length]?.toString('latin1') ?? '') ?? [];
      const text = Buffer.from(`${b.epoch} ${Date.now()} ${rest}`, 'latin1');
      await ask(control, 'HSET', NODES_KEY, 'b', text);
      await a.beat();
      await new Promise((done) => setTimeout(done, 20));
    }
    expect(performance.now() - startedMs).toBeGreaterThan(2 * GONE_MS);
    expect([events, idsOf(a), a.missing()]).toEqual([['gone b'], [], ['b']]);
    expect(a.refused).toBeGreaterThan(0);
  });

  test('An earlier run of a node does not come back after its next one', async () => {
    const a = await joined('a');
    const home = '0a'.repeat(16);
    const before = await joined('b', { home });
    const row = (await ask(control, 'HGET', NODES_KEY, 'b')) as Buffer;
    await a.beat();
    await before.close();
    const after = await joined('b', { home });
    await a.beat();
    const [, rest = ''] = /^\d+ \d+ (.*)$/s.exec(row.toString('latin1')) ?? [];
    await ask(control, 'HSET', NODES_KEY, 'b', Buffer.from(`9999999999999999 ${Date.now()} ${rest}`, 'latin1'));
    await a.beat();
    expect(a.peers().map(({ run }) => run)).toEqual([after.run]);
    expect(await after.beat()).toEqual({ kind: 'ok' });
  });

  test('Rows that no node has written are nobody', async () => {
    const a = await joined('a');
    for (const [id, row] of [
      ['x', 'no row'],
      ['y', `1 ${Date.now()} up 00 garbage`],
      ['z', Buffer.alloc(300, 0xff)],
    ] as const)
      await ask(control, 'HSET', '{gh:feed}:nodes', id, row);
    expect(await a.beat()).toEqual({ kind: 'ok' });
    expect([idsOf(a), a.missing()]).toEqual([[], []]);
  });

  test.each<readonly [string, (row: Buffer) => Promise<unknown>]>([
    ['another key and another format of the cluster', () => ask(control, 'HSET', CLUSTER, 'key', 'x', 'format', '9')],
    ['an epoch that cannot be', () => ask(control, 'HSET', CLUSTER, 'epoch', '9'.repeat(30))],
    ['a string in the place of the cluster', () => ask(control, 'SET', CLUSTER, 'x')],
    ['a string in the place of the nodes', () => ask(control, 'SET', NODES, 'x')],
    ['a later run of its id', () => forge('a', Buffer.from('garbage'))],
    ['a copy of its own row as a later run', (row) => forge('a', row)],
    ['the row of another node as a later run', async () => forge('a', await payloadOf('b'))],
    ['rows of as many nodes as there may be', () => fill()],
  ])('A forged row ends no node and keeps none from joining: %s', async (_what, act) => {
    const onReplaced = vi.fn<(detail: string) => void>();
    const a = await joined('a', { onReplaced });
    const b = await joined('b', { onReplaced });
    await a.beat();
    await act(await payloadOf('a'));
    for (const one of [a, b]) expect(await one.beat()).toEqual({ kind: 'ok' });
    const c = await joined('c');
    for (const one of [a, b, c]) await one.beat();
    await vi.waitFor(() =>
      expect([idsOf(a), idsOf(b), idsOf(c)]).toEqual([
        ['b', 'c'],
        ['a', 'c'],
        ['a', 'b'],
      ]),
    );
    await b.close();
    // The next run of the node finds its place too.
    await joined('b', { onReplaced });
    await vi.waitFor(() => expect(idsOf(a)).toEqual(['b', 'c']));
    expect(onReplaced).not.toHaveBeenCalled();
  });

  test('The row of a dead node that somebody writes again with a new time does not make it live', async () => {
    const a = await joined('a');
    const link = cutting(await server.link());
    await joined('b', { link });
    await vi.waitFor(() => expect(idsOf(a)).toEqual(['b']));
    link.isCut = true;
    const row = await payloadOf('b');
    await vi.waitFor(() => expect(idsOf(a)).toEqual([]), { timeout: 5_000 });
    const events = eventsOf(a);
    await forge('b', row);
    await a.beat();
    expect([events, idsOf(a)]).toEqual([[], []]);
  });

  test('A node is refused while one of another version of the format is alive', async () => {
    const a = await joined('a');
    await a.beat();
    const said = ['1.0.0', ['api'], 'http://z', 5, '7-1', 'run', 1, Math.round(a.storeNowMs), 9];
    await forge('z', encrypt(KEY, pack(said), 'cluster-node/z'));
    expect(await (await node('c')).join()).toMatchObject({ kind: 'fault', code: 'other_format' });
    expect(await a.beat()).toEqual({ kind: 'ok' });
  });

  test('Without a store a node has not joined, and joins when the store answers', async () => {
    const link = cutting(await server.link());
    link.isCut = true;
    const a = await node('a', { link });
    expect(await a.join()).toMatchObject({ code: 'unreachable' });
    expect([a.isJoined, a.epoch]).toEqual([false, 0]);
    link.isCut = false;
    await vi.waitFor(() => expect(a.isJoined).toBe(true));
  });
});

describe('the identity of a node', () => {
  test('It is kept in the data directory, and a copy of the directory is another home', () => {
    const folder = tempFolder();
    const first = readNodeId(folder, null);
    expect(first.id).toMatch(/^node-[0-9a-f]{12}$/);
    expect(readNodeId(folder, null)).toEqual(first);
    expect(readNodeId(folder, 'mine')).toEqual({ id: 'mine', home: first.home });
    expect(readNodeId(tempFolder(), null).home).not.toBe(first.home);
  });
});
