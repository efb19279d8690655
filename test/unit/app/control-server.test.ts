import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  CONTROL_LINE_BYTES_MAX,
  CONTROL_SOCKET,
  type LinkReply,
  type LinkRequest,
  readControlMessage,
  readLinkRequest,
} from '../../../src/app/control-protocol.ts';
import { openControlServer } from '../../../src/app/control-server.ts';
import { ChangeDoor } from '../../../src/cli/change-door.ts';
import { createLog } from '../../../src/observe/log.ts';
import { createKeyPair, newCustomer, newKeyPair } from '../../../src/state/feed/key-changes.ts';
import type { Store } from '../../../src/state/feed/open-store.ts';
import { acquireServerLock } from '../../../src/state/repair/server-lock.ts';
import { customer, hashOf, open, tempFolder, value } from '../state/support.ts';

const ORIGIN = { by: 'cli', nowMs: 1_790_000_000_000 } as const;

/** A store with a server's lock and its control server, and the changes that arrived through the socket. */
async function serving(dataDir = tempFolder()): Promise<{ store: Store; seen: string[]; close(): Promise<void> }> {
  const store = open(dataDir);
  const locked = await acquireServerLock(dataDir, 0);
  if (locked.kind === 'fault') throw new Error(locked.detail);
  const seen: string[] = [];
  store.changes.onCommitted(({ change, by }) => seen.push(`${change.kind} ${by}`));
  const { changes, turns } = store;
  const onFault = (): void => {};
  const createLink = ({ link }: LinkRequest): LinkReply => ({
    kind: 'ok',
    value: { url: `link for ${link.keyHash}`, expiresAtMs: 5 },
  });
  const control = await openControlServer({ dataDir, changes, turns, log: createLog('silent'), onFault, createLink });
  let isClosed = false;
  const close = async (): Promise<void> => {
    if (isClosed) return;
    isClosed = true;
    await control.close();
    await locked.lock.release();
    await store.close();
  };
  onTestFinished(close);
  return { store, seen, close };
}

/** A command's own view of the data directory. */
function doorOf(dataDir: string): { store: Store; door: ChangeDoor } {
  const store = open(dataDir);
  const door = new ChangeDoor(store);
  onTestFinished(() => store.close());
  return { store, door };
}

/** Sends text to the socket and returns everything that comes back until the server ends the connection or a line has come. */
function say(dataDir: string, text: string, lines = Number.POSITIVE_INFINITY): Promise<string> {
  const socket = connect({ path: join(dataDir, CONTROL_SOCKET) });
  let got = '';
  return new Promise((resolve) => {
    socket.on('data', (piece) => {
      got += piece.toString();
      if (got.split('\n').length > lines) socket.destroy();
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(got));
    socket.write(text);
  });
}

describe('changes of the command line', () => {
  test('A running server applies the changes, so that its listeners hear of them before the command continues', async () => {
    const { store, seen } = await serving();
    const { door } = doorOf(store.dataDir);
    const { number } = await value(door.commit(newCustomer('Acme', 1), ORIGIN));
    expect(seen).toEqual(['customer.created cli']);
    const pair = await value(createKeyPair(door, number, { rateLimit: 5, origins: ['https://a.example'] }, ORIGIN));
    expect(pair.public.key).toMatchObject({ customer: number, rateLimit: 5, origins: ['https://a.example'] });
    const { hash } = pair.secret.key;
    expect(await value(door.commit({ kind: 'key.revoked', hash }, ORIGIN))).toBe('revoked');
    expect(await value(door.commit({ kind: 'key.revoked', hash }, ORIGIN))).toBe('already_revoked');
    const entry = { fingerprintHash: hashOf(1), risk: 5, customers: 1, firstSeenSeconds: 1, lastSeenSeconds: 2 };
    const imported = { kind: 'registry.imported', entries: [entry], total: 1 } as const;
    await value(door.commit(imported, ORIGIN, { until: 'visible' }));
    expect(seen.slice(1)).toEqual(['key.created cli', 'key.revoked cli', 'key.revoked cli', 'registry.imported cli']);
    expect(store.registry.count()).toBe(1);
    expect(await door.entriesMax()).toBe(200);
  });

  test('Without a server a command commits under the lock, whose next holder is not kept out', async () => {
    const dataDir = tempFolder();
    const { store, door } = doorOf(dataDir);
    expect((await value(door.commit(newCustomer('Acme', 1), ORIGIN))).number).toBe(1);
    expect(store.customers.all()).toHaveLength(1);
    expect(await door.entriesMax()).toBe(5_000);
    const locked = await acquireServerLock(dataDir, 0);
    expect(locked.kind).toBe('ok');
    if (locked.kind === 'ok') await locked.lock.release();
  });

  test('Beside a server that cannot be reached a command commits to the store itself', async () => {
    const dataDir = tempFolder();
    const { store, door } = doorOf(dataDir);
    const locked = await acquireServerLock(dataDir, 0);
    if (locked.kind === 'fault') throw new Error(locked.detail);
    expect((await value(door.commit(newCustomer('Acme', 1), ORIGIN))).number).toBe(1);
    expect(store.customers.all()).toHaveLength(1);
    await locked.lock.release();
  });

  test('A command that outlives the server, or finds the socket of a killed one, commits itself', async () => {
    const server = await serving();
    const { store: own, door } = doorOf(server.store.dataDir);
    await value(door.commit(newCustomer('Acme', 1), ORIGIN));
    await server.close();
    expect(existsSync(join(own.dataDir, CONTROL_SOCKET))).toBe(false);
    expect((await value(door.commit(newCustomer('Bolt', 1), ORIGIN))).number).toBe(2);
    // Nothing listens on it, as after a SIGKILL.
    writeFileSync(join(own.dataDir, CONTROL_SOCKET), '');
    expect((await value(door.commit(newCustomer('Cord', 1), ORIGIN))).number).toBe(3);
    const again = await serving(own.dataDir);
    expect((await value(door.commit(newCustomer('Dart', 1), ORIGIN))).number).toBe(4);
    expect(again.seen).toEqual(['customer.created cli']);
  });

  test('A server of another protocol is not asked', async () => {
    const dataDir = tempFolder();
    const asked: string[] = [];
    const other = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', (piece) => asked.push(piece.toString()));
      socket.write('{"protocol":2}\n');
    });
    await new Promise<void>((resolve) => {
      other.listen({ path: join(dataDir, CONTROL_SOCKET) }, resolve);
    });
    onTestFinished(() => void other.close());
    const { door } = doorOf(dataDir);
    expect((await value(door.commit(newCustomer('Acme', 1), ORIGIN))).number).toBe(1);
    expect(asked.join('')).not.toContain('change');
  });

  test('The socket works in a folder with a long path, and only its owner may use it', async () => {
    const dataDir = join(tempFolder(), 'a'.repeat(100), 'b'.repeat(60));
    mkdirSync(dataDir, { recursive: true });
    const { store, seen } = await serving(dataDir);
    expect(statSync(join(dataDir, CONTROL_SOCKET)).mode & 0o777).toBe(0o600);
    const { door } = doorOf(store.dataDir);
    await value(door.commit(newCustomer('Acme', 1), ORIGIN));
    expect(seen).toEqual(['customer.created cli']);
  });
});

describe('the control server', () => {
  const hello = '{"protocol":1}\n';

  test('The server ends a connection with another version, an endless line or too many characters', async () => {
    const { store } = await serving();
    expect(await say(store.dataDir, '{"protocol":9}\n{"change":1}\n')).toBe(hello);
    expect(await say(store.dataDir, 'x\n')).toBe(hello);
    expect(await say(store.dataDir, `${hello}${'x'.repeat(CONTROL_LINE_BYTES_MAX + 1)}`)).toBe(hello);
  });

  test('The server refuses what is no change of the command line, and writes nothing', async () => {
    const { store, seen } = await serving();
    const put = { kind: 'list.put', customer: 1, entry: { fingerprintHash: hashOf(1), action: 'block' } };
    const line = JSON.stringify({ change: put, nowMs: 1, until: 'durable' });
    const [, answer = ''] = (await say(store.dataDir, `${hello}${line}\n`, 2)).split('\n');
    expect(JSON.parse(answer)).toMatchObject({ kind: 'fault', code: 'store_write_failed' });
    expect(seen).toEqual([]);
  });

  test.each([
    { kind: 'customer.created', id: 'x', name: 'y' },
    { kind: 'key.revoked', hash: 'zz' },
    { kind: 'key.replaced', hash: hashOf(1), replacedBy: 'sk_live_abcd', endSeconds: -1 },
    { kind: 'key.created', customer: -1, rateLimit: null, keys: [] },
    { kind: 'key.created', customer: 1, rateLimit: null, keys: [{}] },
    { kind: 'registry.removed', fingerprintHash: 5 },
    { kind: 'rule.put', customer: 1, rule: { code: 'own_a', when: 'true', mode: 'observe' }, ifMatch: null },
    {
      kind: 'rule.put',
      customer: 1,
      rule: { code: 'own_a', when: 'x'.repeat(1_001), weight: 0.5, mode: 'observe' },
      ifMatch: null,
    },
    { kind: 'registry.imported', entries: Array.from({ length: 201 }, () => ({})), total: null },
    { kind: 'registry.imported', entries: [{ fingerprintHash: hashOf(1), risk: 101 }], total: null },
    null,
  ])('A malformed change is not read: %j', (change) => {
    expect(readControlMessage(JSON.stringify({ change, nowMs: 1, until: 'durable' }))).toBeNull();
  });

  test('What a command sends is read back unchanged, without the text of a key', () => {
    const pair = newKeyPair(customer(3), { origins: ['https://a.example'] });
    const ended = [
      { kind: 'key.revoked', hash: hashOf(1) },
      { kind: 'key.replaced', hash: hashOf(1), replacedBy: 'sk_live_abcd', endSeconds: 5 },
    ] as const;
    for (const change of [pair.change, newCustomer('ünï', 5), ...ended]) {
      const line = JSON.stringify({ change, nowMs: 7, until: 'visible' });
      expect(readControlMessage(line)).toEqual({ change, nowMs: 7, until: 'visible' });
      expect(line).not.toContain(pair.secret);
    }
  });

  test('The server makes a sign-in link for a key, and for nothing that is not the hash of one', async () => {
    const { store } = await serving();
    const keyHash = hashOf(1);
    const [, answer = ''] = (await say(store.dataDir, `${hello}${JSON.stringify({ link: { keyHash } })}\n`, 2)).split(
      '\n',
    );
    expect(JSON.parse(answer)).toEqual({ kind: 'ok', value: { url: `link for ${keyHash}`, expiresAtMs: 5 } });
    for (const link of [null, [], {}, { keyHash: 5 }, { keyHash: 'zz' }, { keyHash: 'AB'.repeat(32) }]) {
      expect(readLinkRequest(JSON.stringify({ link }))).toBeNull();
    }
    expect(readLinkRequest('{')).toBeNull();
  });

  test('A server whose socket cannot be created runs without it', async () => {
    const dataDir = tempFolder();
    mkdirSync(join(dataDir, CONTROL_SOCKET));
    writeFileSync(join(dataDir, CONTROL_SOCKET, 'file'), '');
    const { store } = await serving(dataDir);
    chmodSync(dataDir, 0o700);
    expect((await value(store.changes.commit(newCustomer('Acme', 1), ORIGIN))).number).toBe(1);
  });
});
