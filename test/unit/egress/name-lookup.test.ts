import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { createGuardedClient } from '../../../src/egress/guarded-client.ts';
import { parseHosts } from '../../../src/egress/hosts-file.ts';
import { nameLookup, type NameLookupOptions } from '../../../src/egress/name-lookup.ts';
import type { Lookup } from '../../../src/egress/name-lookup.ts';
import { startHostile } from '../../support/hostile-server.ts';
import { type NameServer, startNameServer, type Zone } from './name-server.ts';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

async function nameServer(zones: Readonly<Record<string, Zone>>): Promise<NameServer> {
  const server = await startNameServer((name) => zones[name] ?? zones['*'] ?? 'not_found');
  open.push(server);
  return server;
}

interface Setup {
  readonly lookup: Lookup;
  readonly server: NameServer;
  /** Names for which the system's look-up was called. */
  readonly system: string[];
}

async function setUp(zones: Readonly<Record<string, Zone>>, options: NameLookupOptions = {}): Promise<Setup> {
  const server = await nameServer(zones);
  const system: string[] = [];
  const bySystem = (host: string): Promise<readonly string[]> => {
    system.push(host);
    return Promise.reject(Object.assign(new Error('none'), { code: 'ENOTFOUND' }));
  };
  const lookup = nameLookup({ servers: [server.address], hostsFile: '/dev/null', system: bySystem, ...options });
  return { lookup, server, system };
}

const always = (): AbortSignal => new AbortController().signal;
const codeOf = (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => 'found',
    (error: NodeJS.ErrnoException) => error.code,
  );

describe('nameLookup', () => {
  test('a name is looked up at the name servers in both families at once, and not by the system', async () => {
    const { lookup, server, system } = await setUp({ 'a.test': ['2606:4700::1', '8.8.8.8', '8.8.4.4'] });
    expect(await lookup('a.test', always())).toEqual(['8.8.8.8', '8.8.4.4', '2606:4700::1']);
    expect(server.asked.sort()).toEqual(['a.test 1', 'a.test 28']);
    expect(system).toEqual([]);
  });

  test('a name that exists in one family only gets the addresses of this family', async () => {
    const { lookup } = await setUp({ 'four.test': ['8.8.8.8'], 'six.test': ['2606:4700::1'] });
    expect(await lookup('four.test', always())).toEqual(['8.8.8.8']);
    expect(await lookup('six.test', always())).toEqual(['2606:4700::1']);
  });

  test('a look-up waits for IPv4 addresses, but not for IPv6 addresses that never arrive', async () => {
    const server = await startNameServer((name, type) => {
      if (name === 'six.test') return type === 'AAAA' ? ['2606:4700::1'] : 'silent';
      return name === 'four.test' && type === 'A' ? ['8.8.8.8'] : 'silent';
    });
    open.push(server);
    const lookup = nameLookup({ servers: [server.address], hostsFile: '/dev/null' });
    const settled: unknown[] = [];
    const all = ['none.test', 'six.test', 'four.test'].map(async (host) => {
      const answer = await lookup(host, always()).catch((error: unknown) => error);
      settled.push(answer);
    });
    await expect.poll(() => settled).toEqual([['8.8.8.8']]);
    await Promise.all(all);
    expect(settled).toContainEqual(['2606:4700::1']);
    expect(settled).toContainEqual(expect.objectContaining({ code: 'ETIMEOUT' }));
  });

  test('a name that is unknown to the servers, or refused by them, is passed to the system, which knows search domains', async () => {
    for (const zone of ['not_found', 'refused', 'fails'] as const) {
      const { lookup } = await setUp({ '*': zone }, { system: (host) => Promise.resolve([`${host} by system`]) });
      expect([zone, await lookup('hooks.inside', always())]).toEqual([zone, ['hooks.inside by system']]);
    }
  });

  test('a name for which the servers time out fails, and is never passed to the system', async () => {
    const { lookup, system } = await setUp({ '*': 'silent' });
    expect(await codeOf(lookup('a.test', always()))).toBe('ETIMEOUT');
    expect(system).toEqual([]);
  });

  test('a name is found while dozens of others hang, even in its own domain', async () => {
    const { lookup, system } = await setUp({ 'good.test': ['8.8.8.8'], 'good.bad.test': ['8.8.8.8'], '*': 'silent' });
    const settled: string[] = [];
    const hanging = Array.from({ length: 25 }, (_none, i) => [`h${i}.bad.test`, `h${i}.bad${i}.test`])
      .flat()
      .map((host) => codeOf(lookup(host, always())).then(() => settled.push(host)));
    for (const host of ['good.test', 'good.bad.test']) expect(await lookup(host, always())).toEqual(['8.8.8.8']);
    expect(settled).toEqual([]);
    await Promise.all(hanging);
    expect(system).toEqual([]);
  });

  test('names of the hosts file take precedence over all others', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-hosts-'));
    const hostsFile = join(folder, 'hosts');
    writeFileSync(hostsFile, '127.0.0.9 Receiver.test # mine\n');
    const { lookup, server, system } = await setUp({ '*': ['8.8.8.8'] }, { hostsFile });
    expect(await lookup('receiver.test', always())).toEqual(['127.0.0.9']);
    expect(await lookup('receiver.test.', always())).toEqual(['127.0.0.9']);
    expect([server.asked, system]).toEqual([[], []]);
    rmSync(folder, { recursive: true });
    expect(await lookup('other.test', always())).toEqual(['8.8.8.8']);
  });

  test('system look-ups use at most two threads, and at most one for a single domain', async () => {
    const asked: string[] = [];
    const ends: (() => void)[] = [];
    const system = (host: string): Promise<readonly string[]> => {
      asked.push(host);
      return new Promise((done) => {
        ends.push(() => done(['8.8.8.8']));
      });
    };
    const { lookup } = await setUp({ '*': 'not_found' }, { system });
    const answers = ['a.one.test', 'b.one.test', 'c.one.test'].map((host) => lookup(host, always()));
    await expect.poll(() => asked.length).toBe(1);
    const other = [lookup('d.two.test', always()), lookup('e.three.test', always())];
    await expect.poll(() => asked.length).toBe(2);
    expect(asked[1]).toMatch(/two|three/);
    for (let end = ends.shift(); asked.length < 5 || end !== undefined; end = ends.shift()) {
      end?.();
      await new Promise((turn) => setImmediate(turn));
    }
    await Promise.all([...answers, ...other]);
    expect(asked).toHaveLength(5);
  });
});

test('parseHosts reads several names and addresses, skips comments and ignores invalid lines', () => {
  const names = parseHosts('# all\n127.0.0.1\tlocalhost  vm\n::1 localhost\n\n10.0.0.1\nfe80::1%lo0 link #x\r\n');
  expect(Object.fromEntries(names)).toEqual({
    localhost: ['127.0.0.1', '::1'],
    vm: ['127.0.0.1'],
    link: ['fe80::1%lo0'],
  });
});

test('addresses from name servers are checked like all others, even if a name changes to this machine', async () => {
  const receiver = await startHostile('answers');
  open.push(receiver);
  const zones: Record<string, Zone> = {
    'local.test': ['127.0.0.1', '::1'],
    'mapped.test': ['::ffff:7f00:1'],
    'inside.test': ['10.0.0.1', '169.254.169.254'],
    'isatap.test': ['2606:4700::5efe:7f00:1'],
  };
  const { lookup } = await setUp(zones);
  const dialled: string[] = [];
  const guarded = createGuardedClient({
    lookup,
    connect: ({ host }) => {
      dialled.push(host);
      throw new Error('nothing may be dialled');
    },
  });
  open.push(guarded);
  for (const name of Object.keys(zones)) {
    const url = `http://${name}:${receiver.port}/`;
    const request = { url, method: 'GET', timeoutMs: 5_000, connectMs: 4_000, responseBytesMax: 1_024 } as const;
    expect([name, await guarded.request(request)]).toMatchObject([name, { error: 'blocked_address' }]);
  }
  expect(dialled).toEqual([]);
});
