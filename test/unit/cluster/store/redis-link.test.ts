import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { ADMISSION_FUNCTIONS } from '../../../../src/cluster/admission/admission-functions.ts';
import { type Command, type MeasuredLink, type Sent } from '../../../../src/cluster/store/link.ts';
import { openLink, openWaitingLink } from '../../../../src/cluster/store/redis-link.ts';
import { makeCertificate } from '../../../support/certificate.ts';
import { leastCpuMs } from '../../../support/cpu-time.ts';
import { pauseThread } from '../../../support/pause-thread.ts';
import { startTcpProxy } from '../../../support/tcp-proxy.ts';
import { type RedisServer, startRedis } from '../../../support/redis.ts';

const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function openRedis(options: Parameters<typeof startRedis>[0] = {}): Promise<RedisServer> {
  const redis = await startRedis(options);
  closing.push(() => redis.stop());
  return redis;
}

function link(url: string, sign: { user?: string; password?: string } = {}): MeasuredLink {
  const opened = openLink({ urls: [url], user: sign.user ?? null, password: sign.password ?? null });
  closing.push(() => opened.close());
  return opened;
}

const isUp = (opened: MeasuredLink): Promise<void> => vi.waitFor(() => expect(opened.isUp).toBe(true), 20_000);
const isDown = (opened: MeasuredLink): Promise<void> => vi.waitFor(() => expect(opened.isUp).toBe(false), 20_000);

function command(...args: readonly (string | Buffer)[]): Command {
  return { key: String(args[1] ?? ''), args };
}

const kinds = (sent: readonly Sent[]): readonly string[] =>
  sent.map((one) => (one.kind === 'reply' ? 'reply' : one.what));

test('A link answers commands in their order, with binary values as they are', async () => {
  const opened = link((await openRedis()).url);
  await isUp(opened);
  const value = Buffer.from([0, 255, 13, 10, 128]);
  const sent = await opened.send([command('SET', 'a', value), command('GET', 'a'), command('INCR', 'n')], 5_000);
  expect(sent).toEqual([
    { kind: 'reply', reply: 'OK' },
    { kind: 'reply', reply: value },
    { kind: 'reply', reply: 1 },
  ]);
  expect(await opened.send([])).toEqual([]);
  expect(opened.counts).toMatchObject({ sends: 1, commands: 3, faults: { refused: 0, unknown: 0, down: 0 } });
  expect(opened.counts.roundTripSeconds.counts.reduce((all, count) => all + count, 0)).toBe(1);
});

test('An error of the store is a fault of its command alone', async () => {
  const opened = link((await openRedis()).url);
  await isUp(opened);
  const sent = await opened.send([command('SET', 'a', 'x'), command('INCR', 'a'), command('GET', 'a')], 5_000);
  expect(kinds(sent)).toEqual(['reply', 'refused', 'reply']);
  expect(opened.status()).toMatchObject({
    storesUp: 1,
    details: [],
    refusal: expect.stringContaining('not an integer'),
  });
  expect(opened.isUp).toBe(true);
});

test('A link to a new address costs a thread little time, as after a failover', async () => {
  const redis = await openRedis();
  await isUp(link(redis.url));
  const addresses = 12;
  let port = 1;
  // 2 ms; `createClient` of the package takes 500.
  expect(
    leastCpuMs(120, () => {
      for (let n = 0; n < addresses; n++) link(`redis://127.0.0.1:${port++}`);
    }),
  ).toBeLessThan(120);
});

test('A link opens without a store, refuses at once, and is up as soon as the store is', async () => {
  const redis = await openRedis();
  await redis.kill();
  const opened = link(redis.url);
  const startedAt = performance.now();
  expect(kinds(await opened.send([command('GET', 'a')], 10_000))).toEqual(['down']);
  expect(performance.now() - startedAt).toBeLessThan(1_000);
  await vi.waitFor(() => expect(opened.status().details.join()).toContain('ECONNREFUSED'), 20_000);
  await redis.restart();
  await isUp(opened);
  expect(kinds(await opened.send([command('GET', 'a')], 5_000))).toEqual(['reply']);
});

test('A link with another password never comes up, and says why', async () => {
  const redis = await openRedis();
  await redis.configure('requirepass', 'right-password');
  const wrong = link(redis.url, { password: 'wrong-password' });
  const none = link(redis.url);
  const right = link(redis.url, { password: 'right-password' });
  await isUp(right);
  await vi.waitFor(() => expect(wrong.status().details.join()).toContain('WRONGPASS'), 20_000);
  await vi.waitFor(() => expect(none.status().details.join()).toContain('NOAUTH'), 20_000);
  expect([wrong.isUp, none.isUp]).toEqual([false, false]);
});

test('A killed store ends the commands in flight, and the link connects to its successor', async () => {
  const redis = await openRedis();
  const opened = link(redis.url);
  await isUp(opened);
  const waiting = opened.send([command('BLPOP', 'nothing', '0')], 60_000);
  await vi.waitFor(async () => expect(String(await redis.command('CLIENT', 'LIST'))).toContain('cmd=blpop'), 20_000);
  await redis.kill();
  expect(kinds(await waiting)).toEqual(['unknown']);
  await isDown(opened);
  expect(opened.counts.opened).toBe(1);
  await redis.restart();
  await isUp(opened);
});

test('A paused store opens the breaker, holds nothing in flight without bound, and is used again when it answers', async () => {
  const redis = await openRedis();
  const opened = link(redis.url);
  await isUp(opened);
  redis.pause();
  const value = Buffer.alloc(1_000_000);
  const all: Promise<readonly Sent[]>[] = [];
  for (let n = 0; n < 100; n++) all.push(opened.send([command('SET', `a${n}`, value)]));
  const given = (await Promise.all(all)).flat();
  // 16 MiB may be in flight.
  expect(kinds(given).filter((kind) => kind === 'unknown')).toHaveLength(16);
  expect(kinds(given).filter((kind) => kind === 'down')).toHaveLength(84);
  expect(opened.isUp).toBe(false);
  const startedAt = performance.now();
  for (let n = 0; n < 1_000; n++) expect(kinds(await opened.send([command('GET', 'a')]))).toEqual(['down']);
  expect(performance.now() - startedAt).toBeLessThan(1_000);
  redis.resume();
  await isUp(opened);
  expect(kinds(await opened.send([command('GET', 'n')], 5_000))).toEqual(['reply']);
});

test('A network that drops every reply is left within seconds: the connection is replaced', async () => {
  const redis = await openRedis();
  const proxy = await startTcpProxy(redis.port);
  closing.push(() => proxy.close());
  const opened = link(`redis://127.0.0.1:${proxy.port}`);
  await isUp(opened);
  const before = String(await redis.command('CLIENT', 'LIST'));
  proxy.set('hole');
  for (let n = 0; n < 3; n++) await opened.send([command('GET', 'a')]);
  expect(opened.isUp).toBe(false);
  await vi.waitFor(
    () => expect(opened.status().details.join()).toMatch(/did not answer any more|no connection/),
    20_000,
  );
  proxy.set('open');
  await isUp(opened);
  const ids = (list: string): readonly string[] => [...list.matchAll(/\bid=(\d+)/g)].map(([, id]) => id ?? '');
  const after = new Set(ids(String(await redis.command('CLIENT', 'LIST'))));
  // The list of clients includes the connection that asks for it.
  expect(ids(before).filter((id) => after.has(id))).toEqual([]);
});

test('A link that sends nothing also notices within seconds that its store is in a black hole', async () => {
  const redis = await openRedis();
  const proxy = await startTcpProxy(redis.port);
  closing.push(() => proxy.close());
  const opened = link(`redis://127.0.0.1:${proxy.port}`);
  await isUp(opened);
  proxy.set('hole');
  await isDown(opened);
  expect(opened.counts).toMatchObject({ sends: 0, opened: 1 });
  proxy.set('open');
  await isUp(opened);
});

test('A store that is 500 ms late costs no more than the deadline, and then nothing', async () => {
  const redis = await openRedis();
  const proxy = await startTcpProxy(redis.port);
  closing.push(() => proxy.close());
  const opened = link(`redis://127.0.0.1:${proxy.port}`);
  await isUp(opened);
  proxy.set(500);
  for (let n = 0; n < 3; n++) {
    const startedAt = performance.now();
    expect(kinds(await opened.send([command('INCR', 'late')]))).toEqual(['unknown']);
    expect(performance.now() - startedAt).toBeLessThan(400);
  }
  expect(kinds(await opened.send([command('GET', 'a')]))).toEqual(['down']);
  // Probes are late too.
  await vi.waitFor(async () => expect(await redis.command('GET', 'late')).toBe('3'), 20_000);
  expect(opened.isUp).toBe(false);
  proxy.set('open');
  await isUp(opened);
});

test('Replies that were late never reach a later command', async () => {
  const redis = await openRedis();
  const proxy = await startTcpProxy(redis.port);
  closing.push(() => proxy.close());
  const opened = link(`redis://127.0.0.1:${proxy.port}`);
  await isUp(opened);
  await opened.send([command('SET', 'x', 'late')], 5_000);
  proxy.set(200);
  const late = opened.send([command('GET', 'x')]);
  proxy.set('open');
  const later = opened.send([command('INCR', 'n')], 5_000);
  expect(kinds(await late)).toEqual(['reply']);
  expect(await later).toEqual([{ kind: 'reply', reply: 1 }]);
});

/** Bytes that a process has written so far, to sockets as well. */
function writtenBytes(pid: number): number {
  return Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
}

/** Sends a command and stops this thread until the reply has arrived, for at least `ms`. */
async function sendBeforePause(opened: MeasuredLink, redis: RedisServer, ms: number): Promise<readonly Sent[]> {
  const before = writtenBytes(redis.pid);
  const sent = opened.send([command('INCR', 'n')]);
  // The command leaves at the end of this turn.
  await turn();
  await turn();
  pauseThread(ms);
  // On a busy machine Redis may not have had a processor by now.
  for (let n = 0; n < 1_000 && writtenBytes(redis.pid) === before; n++) pauseThread(10);
  return sent;
}

test('A pause of this thread does not count as a late store', async () => {
  const redis = await openRedis();
  const opened = link(redis.url);
  await isUp(opened);
  for (let n = 0; n < 5; n++) expect(kinds(await sendBeforePause(opened, redis, 60))).toEqual(['reply']);
  expect(opened.isUp).toBe(true);
});

test('A pause of this thread before a command has left does not count as a late store', async () => {
  const redis = await openRedis();
  const opened = link(redis.url);
  await isUp(opened);
  for (let n = 0; n < 5; n++) {
    const sent = opened.send([command('INCR', 'n')], 200);
    pauseThread(300);
    expect(kinds(await sent)).toEqual(['reply']);
  }
  expect(opened.isUp).toBe(true);
});

test('A pause of this thread is added to the deadline once, as the store was no more silent than the thread', async () => {
  const redis = await openRedis({ args: ['--enable-debug-command', 'yes'] });
  const [opened, other] = [link(redis.url), link(redis.url)];
  await Promise.all([isUp(opened), isUp(other)]);
  const slept = other.send([command('DEBUG', 'SLEEP', '0.48')], 5_000);
  await turn();
  await turn();
  const sent = opened.send([command('PING')], 150);
  await turn();
  // The store answers 80 ms after the pause: beyond the deadline, and within the time that this thread had lost.
  pauseThread(400);
  expect(kinds(await sent)).toEqual(['reply']);
  await slept;
  // Without a pause the deadline is what it was.
  const again = other.send([command('DEBUG', 'SLEEP', '0.28')], 5_000);
  await turn();
  await turn();
  expect(kinds(await opened.send([command('PING')], 150))).toEqual(['unknown']);
  await again;
});

test('A pause of this thread does not make it replace a connection whose replies have arrived', async () => {
  const redis = await openRedis();
  const opened = link(redis.url);
  await isUp(opened);
  expect(kinds(await sendBeforePause(opened, redis, 1_300))).toEqual(['reply']);
  expect(opened.isUp).toBe(true);
  expect(opened.counts.opened).toBe(0);
});

test('A waiting link waits for an entry, beyond the deadline of other links', async () => {
  const redis = await openRedis();
  const opened = openWaitingLink({ urls: [redis.url], user: null, password: null });
  closing.push(() => opened.close());
  await isUp(opened);
  const waiting = opened.send([command('BLPOP', 'list', '0')]);
  await vi.waitFor(async () => expect(String(await redis.command('CLIENT', 'LIST'))).toContain('cmd=blpop'), 20_000);
  await redis.command('LPUSH', 'list', 'entry');
  expect(await waiting).toEqual([{ kind: 'reply', reply: [Buffer.from('list'), Buffer.from('entry')] }]);
  expect(opened.isUp).toBe(true);
});

test('A closed link leaves no connection and refuses everything', async () => {
  const redis = await openRedis();
  const opened = link(redis.url);
  await isUp(opened);
  const waiting = opened.send([command('BLPOP', 'nothing', '0')], 60_000);
  await opened.close();
  expect(kinds(await waiting)).toEqual(['unknown']);
  expect(kinds(await opened.send([command('GET', 'a')]))).toEqual(['down']);
  await vi.waitFor(
    async () => expect(String(await redis.command('CLIENT', 'LIST')).match(/id=/g)).toHaveLength(1),
    20_000,
  );
});

test('A user with the documented rights may do everything that Gatehouse does, and nothing with other keys', async () => {
  const redis = await openRedis();
  const rights = ['~{gh:*', '+@all', '-@dangerous', '+cluster|slots'];
  await redis.command('ACL', 'SETUSER', 'gatehouse', 'on', '>a-password', ...rights);
  const opened = link(redis.url, { user: 'gatehouse', password: 'a-password' });
  await isUp(opened);
  const id = { name: 'remember', keys: ['{gh:k1}:a'], args: ['1', String(2 ** 40)] };
  expect(kinds(await ADMISSION_FUNCTIONS.call(opened, [id], 5_000))).toEqual(['reply']);
  const sent = await opened.send([command('XADD', '{gh:feed}:changes', '*', 'a', 'b'), command('GET', 'other')], 5_000);
  expect(kinds(sent)).toEqual(['reply', 'refused']);
});

test('A certificate that this process does not trust is refused, and named as the reason', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-tls-'));
  closing.push(() => rmSync(folder, { recursive: true, force: true }));
  const { certFile, keyFile } = makeCertificate(folder);
  const redis = await openRedis();
  await redis.configure('tls-cert-file', certFile);
  await redis.configure('tls-key-file', keyFile);
  await redis.configure('tls-auth-clients', 'no');
  await redis.command('CONFIG', 'SET', 'port', '0', 'tls-port', String(redis.port)).catch(() => {});
  const opened = link(`rediss://localhost:${redis.port}`);
  await vi.waitFor(() => expect(opened.status().details.join()).toContain('self-signed certificate'), 20_000);
  expect(opened.isUp).toBe(false);
});

test(
  'A reply that would take more than its bound ends the connection only, however many parts it has',
  { timeout: 60_000 },
  async () => {
    const redis = await openRedis();
    const opened = link(redis.url);
    await isUp(opened);
    await redis.command('SETRANGE', 'long', String(300 * 2 ** 20), 'x');
    await redis.command(
      'EVAL',
      "for i = 1, 1000 do redis.call('RPUSH', KEYS[1], unpack(ARGV)) end",
      '1',
      'many',
      ...Array<string>(500).fill(''),
    );
    await redis.command('SETRANGE', 'allowed', String(40 * 2 ** 20), 'x');
    for (const args of [
      ['GET', 'long'],
      ['LRANGE', 'many', '0', '-1'],
    ]) {
      const before = process.memoryUsage().rss;
      const sent = await opened.send([command(...args)], 30_000);
      expect(kinds(sent)).toEqual(['unknown']);
      expect(opened.status().details.join(' ')).toContain('more than 48 MiB');
      expect(process.memoryUsage().rss - before).toBeLessThan(150 * 2 ** 20);
      await isUp(opened);
    }
    expect(kinds(await opened.send([command('GET', 'allowed')], 30_000))).toEqual(['reply']);
    expect(kinds(await opened.send([command('LRANGE', 'many', '0', '99999')], 30_000))).toEqual(['reply']);
  },
);
