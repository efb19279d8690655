import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Link, MeasuredLink } from '../../../../src/cluster/store/link.ts';
import { openLink } from '../../../../src/cluster/store/redis-link.ts';
import { velocityKey } from '../../../../src/cluster/store/store-keys.ts';
import { exchange, NUMBERS_KNOWN } from '../../../../src/cluster/velocity/stream-functions.ts';
import { ENTRIES_PER_DECISION_MAX } from '../../../../src/cluster/velocity/velocity-exchange.ts';
import { isVelocityDegraded, readVelocityState } from '../../../../src/cluster/velocity/velocity-state.ts';
import type { CustomerNumber } from '../../../../src/kernel/brand.ts';
import type { Velocity } from '../../../../src/ports/velocity.ts';
import type { HistoryEvent, HistoryFacts } from '../../../../src/risk/history.ts';
import { Applier } from '../../../../src/velocity/applier.ts';
import { createVelocityMemory, type VelocityMemory } from '../../../../src/velocity/memory.ts';
import { SnapshotWriter } from '../../../../src/velocity/snapshot-writer.ts';
import { loadSnapshot } from '../../../../src/velocity/snapshot.ts';
import { idOfWord, SEQUENCE_MAX } from '../../../../src/velocity/stream-marks.ts';
import { startTcpProxy, type TcpProxy } from '../../../support/tcp-proxy.ts';
import { HAS_REDIS, type RedisServer, startRedis } from '../../../support/redis.ts';
import { openVelocityNode, until, type VelocityNode } from '../../../support/velocity-nodes.ts';
import { event, HASH_KEY, HOUR, MINUTE, NOW_MS, SECOND } from '../../velocity/events.ts';

const STREAM = 7;
const KEY = velocityKey(STREAM);
const PATIENT_MS = 5_000;

let redis: RedisServer;
let links: MeasuredLink[] = [];
let proxies: TcpProxy[] = [];
let folder = '';

/** A link with the deadline of decisions. */
async function hastyLink(url = redis.url): Promise<MeasuredLink> {
  const link = openLink({ urls: [url], user: null, password: null });
  links.push(link);
  await until('the link', () => link.isUp);
  return link;
}

/** A link that waits: a stall of the machine must not look like a fault of the store. */
async function linkTo(): Promise<Link> {
  const link = await hastyLink();
  return {
    get isUp() {
      return link.isUp;
    },
    send: (commands) => link.send(commands, PATIENT_MS),
    close: () => link.close(),
  };
}

async function proxyOf(): Promise<TcpProxy> {
  const proxy = await startTcpProxy(redis.port);
  proxies.push(proxy);
  return proxy;
}

beforeAll(async () => {
  redis = await startRedis();
});
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'velocity-'));
  await redis.command('FLUSHALL');
});
afterEach(async () => {
  for (const link of links) await link.close();
  for (const proxy of proxies) await proxy.close();
  links = [];
  proxies = [];
  rmSync(folder, { recursive: true, force: true });
});
afterAll(() => redis.stop());

async function see(velocity: Velocity, fields: Partial<HistoryEvent> = {}): Promise<HistoryFacts> {
  const [facts] = await velocity.observe([event(fields)]);
  if (facts === null || facts === undefined) throw new Error('the event was lost');
  return facts;
}

/** How often the session was seen in the last minute, this event included. */
async function count(velocity: Velocity, fields: Partial<HistoryEvent> = {}): Promise<number> {
  return (await see(velocity, fields)).session.decisions1m;
}

function isDegraded({ marks }: VelocityNode): boolean {
  return isVelocityDegraded(marks);
}

/** Payments of the session in an hour as this node's table has it, without adding one. */
async function payments(node: VelocityNode, link: Link, sessionId = 'session-1'): Promise<number> {
  // An event that the other node never gets: its worker's link is down.
  const alone = node.worker({ isUp: false, send: link.send.bind(link), close: () => Promise.resolve() });
  return (await see(alone, { sessionId, nowMs: NOW_MS + MINUTE })).session.payments1h;
}

async function entries(): Promise<number> {
  return Number(await redis.command('XLEN', KEY));
}

describe.runIf(HAS_REDIS)('entries that another thread applies', () => {
  test('A decision waits for them', async () => {
    const node = openVelocityNode(await linkTo());
    const velocity = node.worker();
    const thread = new Applier(node.memory.appliers);
    // The time that a decision may wait does not pass.
    vi.useFakeTimers({ toFake: ['performance'] });
    try {
      let isDecided = false;
      thread.begin(STREAM);
      const decided = see(velocity).then(() => (isDecided = true));
      await until('the exchange', async () => (await entries()) === 1);
      for (let turn = 0; turn < 10; turn++) await new Promise((done) => setImmediate(done));
      expect(isDecided).toBe(false);
      thread.end();
      await decided;
      expect([isDegraded(node), node.marks.count('alone')]).toEqual([false, 0]);
    } finally {
      vi.useRealTimers();
    }
  });

  test('When they take longer than the store may, the decision is made without them and says so; a dead thread delays no further ones', async () => {
    const node = openVelocityNode(await linkTo());
    const velocity = node.worker();
    const thread = new Applier(node.memory.appliers);
    thread.begin(STREAM);
    await see(velocity);
    expect([isDegraded(node), node.marks.count('alone')]).toEqual([true, 1]);
    await until('the end of the mark', () => !isDegraded(node));
    await see(velocity);
    expect([isDegraded(node), node.marks.count('alone')]).toEqual([false, 1]);
  });
});

describe.runIf(HAS_REDIS)('a store that fails', () => {
  test('While it is paused each node counts alone, marked as degraded; afterwards every event is at the other once', async () => {
    const [a, b] = [openVelocityNode(await hastyLink()), openVelocityNode(await linkTo())];
    const [one, other] = [a.worker(), b.worker()];
    await see(one, { eventType: 'payment' });
    await see(other, { eventType: 'payment' });
    redis.pause();
    try {
      for (let n = 0; n < 6; n++) {
        const facts = await see(one, { eventType: 'payment' });
        expect(facts.session.payments1h).toBeGreaterThanOrEqual(n + 2);
      }
      expect([isDegraded(a), isDegraded(b)]).toEqual([true, false]);
      expect(a.marks.count('alone')).toBeGreaterThanOrEqual(6);
      expect(a.marks.count('waiting')).toBeGreaterThan(0);
    } finally {
      redis.resume();
    }
    await until('what waited', () => a.marks.count('waiting') === 0);
    for (const node of [a, b]) await node.reader().catchUp(5_000);
    // Those sent before the breaker opened are in doubt: the store executes them when it continues.
    expect(await entries()).toBe(8);
    expect([await payments(a, links[0] as Link), await payments(b, links[1] as Link)]).toEqual([8, 8]);
    expect(a.marks.count('dropped')).toBe(0);
    await until('the end of the mark', () => !isDegraded(a));
  });

  test('Replies that come 500 ms late cost three decisions their deadline and double no event', async () => {
    const proxy = await proxyOf();
    const late = await hastyLink(`redis://127.0.0.1:${proxy.port}`);
    const [a, b] = [openVelocityNode(late), openVelocityNode(await linkTo())];
    const velocity = a.worker();
    await see(velocity);
    proxy.set(500);
    let waited = 0;
    for (let n = 0; n < 20; n++) {
      const wasUp = late.isUp;
      const answered = velocity.observe([event()]);
      if (answered instanceof Promise) waited++;
      expect(wasUp).toBe(answered instanceof Promise);
      await answered;
    }
    expect(waited).toBeGreaterThanOrEqual(1);
    expect(waited).toBeLessThanOrEqual(3);
    expect(isDegraded(a)).toBe(true);
    proxy.set('open');
    await until('what waited', () => a.marks.count('waiting') === 0);
    expect(await entries()).toBe(21);
    expect(await count(b.worker())).toBe(22);
  });

  test('A store that forgets the functions gets them again within the same decision', async () => {
    const a = openVelocityNode(await linkTo());
    const b = openVelocityNode(await linkTo());
    const [one, other] = [a.worker(), b.worker()];
    await see(one);
    await redis.command('FUNCTION', 'FLUSH');
    expect(await count(other)).toBe(2);
    expect(await count(one)).toBe(3);
    expect([a.marks.count('alone'), b.marks.count('alone')]).toEqual([0, 0]);
  });

  test('A store without memory refuses: events wait and are sent when it has room', async () => {
    const [a, b] = [openVelocityNode(await linkTo()), openVelocityNode(await linkTo())];
    const [one, other] = [a.worker(), b.worker()];
    await see(one);
    await redis.configure('maxmemory', '1');
    try {
      for (let n = 2; n <= 4; n++) expect(await count(one)).toBe(n);
      expect(isDegraded(a)).toBe(true);
    } finally {
      await redis.configure('maxmemory', '0');
    }
    await until('what waited', () => a.marks.count('waiting') === 0);
    expect(await count(other)).toBe(5);
    expect(await count(one)).toBe(6);
  });

  test('A store that is killed and comes back empty goes on, and the loss is marked once', async () => {
    const [a, b] = [openVelocityNode(await linkTo()), openVelocityNode(await linkTo())];
    const [one, other] = [a.worker(), b.worker()];
    await see(one);
    await see(other);
    await redis.restart();
    await until('the links', () => links.every(({ isUp }) => isUp));
    expect(await count(other)).toBe(3);
    expect(await count(other)).toBe(4);
    // Node a has not read the first event of node b, and the store has lost it.
    expect(await count(one)).toBe(4);
    expect([a.marks.count('gaps'), b.marks.count('gaps')]).toEqual([1, 1]);
    expect([isDegraded(a), isDegraded(b)]).toEqual([true, true]);
  });

  test('A worker in whose queue too much waits drops the oldest events and counts them', async () => {
    const link = await linkTo();
    const node = openVelocityNode(link);
    const down: Link = { isUp: false, send: () => Promise.resolve([]), close: () => Promise.resolve() };
    const velocity = node.worker(down);
    const entities = [{ name: 'user_id', value: 'v'.repeat(60_000) }];
    for (let n = 0; n < 200; n++) await velocity.observe([event({ entities, sessionId: `s${n}` })]);
    expect(node.marks.count('dropped')).toBeGreaterThan(40);
    expect(node.marks.count('waiting') + node.marks.count('dropped')).toBe(200);
  });
});

test('While the store refuses, a decision sends one entry of its own stream, however many wait in however many streams', async () => {
  const sent: number[] = [];
  const refusing: Link = {
    isUp: true,
    send(commands) {
      sent.push(commands.length);
      return Promise.resolve(commands.map(() => ({ kind: 'fault', what: 'refused', detail: 'CLUSTERDOWN' }) as const));
    },
    close: () => Promise.resolve(),
  };
  const node = openVelocityNode(refusing);
  const velocity = node.worker();
  for (let n = 0; n < 200; n++) await velocity.observe([event({ customer: (1 + (n % 20)) as CustomerNumber })]);
  for (const isAlone of [false, true]) {
    sent.length = 0;
    await velocity.observe([event()], isAlone);
    expect(sent).toEqual([1]);
  }
  expect(node.marks.count('waiting')).toBe(202);
});

describe.runIf(HAS_REDIS)('the numbers of a sender', () => {
  test('Each of the last 32 numbers is appended exactly once, in whatever order and however often the calls come', async () => {
    const link = await linkTo();
    const calls = fc.array(fc.integer({ min: 1, max: 80 }), { maxLength: 60 });
    let senders = 0;
    await fc.assert(
      fc.asyncProperty(calls, async (numbers) => {
        const sender = `sender-${++senders}`;
        const known = new Set<number>();
        let last = 0;
        for (const number of numbers) {
          const append = { number, sealed: Buffer.of(number) };
          const [result] = await exchange(
            link,
            [{ stream: 9, life: '1', sender, after: null, entriesMax: 0, append }],
            PATIENT_MS,
          );
          const isUsed = known.has(number) || number <= last - NUMBERS_KNOWN;
          expect(result).toMatchObject({ appended: isUsed ? 'used' : expect.stringMatching(/^\d+-\d+$/) });
          known.add(number);
          last = Math.max(last, number);
        }
      }),
      { numRuns: 40 },
    );
  });
});

describe.runIf(HAS_REDIS)('streams that were trimmed', () => {
  test('Entries removed before a node read them are a gap: counted, marked, and reading goes on at the first entry', async () => {
    const [a, b] = [openVelocityNode(await linkTo()), openVelocityNode(await linkTo())];
    const [one, other] = [a.worker(), b.worker()];
    await see(other);
    for (let n = 0; n < 5; n++) await see(one);
    await redis.command('XTRIM', KEY, 'MAXLEN', '2');
    expect(await count(other)).toBe(4);
    expect(b.marks.count('gaps')).toBe(1);
    expect(isDegraded(b)).toBe(true);
    // A node without history takes the stream as it is.
    const late = openVelocityNode(await linkTo());
    expect(await count(late.worker())).toBe(4);
    expect(late.marks.count('gaps')).toBe(0);
  });

  test('Entries that all nodes have read may go by age without a gap, and none of those that a node lacks', async () => {
    const [a, b] = [openVelocityNode(await linkTo()), openVelocityNode(await linkTo())];
    await see(a.worker());
    await see(b.worker());
    await a.reader().catchUp(5_000);
    const [last] = (await redis.command('XREVRANGE', KEY, '+', '-', 'COUNT', '1')) as readonly [[string]];
    // As the script that trims by age leaves it when nothing came for long.
    await redis.command('SET', '{gh:v7}:trimmed', last[0]);
    await redis.command('XTRIM', KEY, 'MAXLEN', '0');
    expect(await count(a.worker())).toBe(3);
    expect(await count(b.worker())).toBe(4);
    expect([a.marks.count('gaps'), b.marks.count('gaps')]).toEqual([0, 0]);
    expect(idOfWord(a.marks.read(STREAM))).not.toBe(last[0]);
  });

  test('Ids with a sequence too large for a mark are replaced by later ones', async () => {
    const [a, b] = [openVelocityNode(await linkTo()), openVelocityNode(await linkTo())];
    const aheadMs = Date.now() + 200_000;
    // The store's clock was set back: ids go on in the last millisecond.
    await redis.command('XADD', KEY, `${aheadMs}-${SEQUENCE_MAX - 2}`, 'l', 'ff', 'e', 'x');
    const [one, other] = [a.worker(), b.worker()];
    for (let n = 1; n < 8; n += 2) {
      expect(await count(one)).toBe(n);
      expect(await count(other)).toBe(n + 1);
    }
    expect([a.marks.count('unreadable'), b.marks.count('unreadable')]).toEqual([1, 1]);
  });
});

describe.runIf(HAS_REDIS)('a node that is behind', () => {
  test('A decision reads a bounded number of entries and is marked; the reader takes the rest', async () => {
    const [a, b] = [openVelocityNode(await linkTo()), openVelocityNode(await linkTo())];
    const [one, other] = [a.worker(), b.worker()];
    const all = ENTRIES_PER_DECISION_MAX + 40;
    for (let n = 0; n < all; n++) await see(one, { eventType: 'payment', sessionId: `s${n % 10}` });
    await see(other, { sessionId: 'another' });
    expect(b.marks.count('applied')).toBe(ENTRIES_PER_DECISION_MAX);
    expect(isDegraded(b)).toBe(true);
    expect(await b.reader().catchUp(5_000)).toBe(true);
    expect(b.marks.count('applied')).toBe(all);
    for (let n = 0; n < 10; n++)
      expect(await payments(b, links[1] as Link, `s${n}`)).toBe(Math.floor((all - n + 9) / 10));
  });

  test('Entries of another version or another master key are skipped and counted, and those after them count', async () => {
    const [a, b] = [openVelocityNode(await linkTo()), openVelocityNode(await linkTo())];
    await see(b.worker());
    await redis.command('XADD', KEY, '*', 'l', 'abc', 'e', 'not encrypted by this cluster');
    await see(a.worker());
    expect(await count(b.worker())).toBe(3);
    expect(b.marks.count('unreadable')).toBe(1);
  });

  test('An event that was sent an hour late counts for subjects not seen since, and takes nothing from others', async () => {
    const [a, b] = [openVelocityNode(await linkTo()), openVelocityNode(await linkTo())];
    const other = b.worker();
    for (let n = 0; n < 3; n++) await see(other, { nowMs: NOW_MS + HOUR });
    await see(a.worker(), { nowMs: NOW_MS, eventType: 'signup', sessionId: 'old', entities: [], device: null });
    const facts = await see(other, { nowMs: NOW_MS + HOUR, eventType: 'signup' });
    expect([facts.session.decisions1m, facts.ip?.decisions1m, facts.entities[0]?.decisions1m]).toEqual([4, 4, 4]);
    expect((await see(other, { nowMs: NOW_MS + HOUR, sessionId: 'old' })).session.isFirstEvent).toBe(false);
  });

  test('Events that waited for half a minute count in the minute, and none after them is forgotten', async () => {
    const [a, b] = [openVelocityNode(await linkTo()), openVelocityNode(await linkTo())];
    const other = b.worker();
    for (let n = 0; n < 3; n++) await see(other, { nowMs: NOW_MS + 30 * SECOND });
    const one = a.worker();
    for (let n = 0; n < 2; n++) await one.observe([event({ nowMs: NOW_MS })]);
    expect(await count(other, { nowMs: NOW_MS + 31 * SECOND })).toBe(6);
  });
});

describe.runIf(HAS_REDIS)('a node that restarts', () => {
  async function restarted(memory: VelocityMemory, link: Link): Promise<VelocityNode> {
    expect(await new SnapshotWriter(folder, memory).save(NOW_MS)).toMatchObject({ kind: 'saved' });
    return startedOver(link);
  }
  function startedOver(link: Link): VelocityNode {
    const memory = createVelocityMemory(2 ** 20, HASH_KEY);
    expect(loadSnapshot(folder, memory, NOW_MS)).toMatchObject({ kind: 'loaded' });
    return openVelocityNode(link, memory);
  }

  test('After a stop it goes on where its snapshot was: nothing is lost, nothing counts twice', async () => {
    const [first, second] = [await linkTo(), await linkTo()];
    const [a, b] = [openVelocityNode(first), openVelocityNode(second)];
    const [one, other] = [a.worker(), b.worker()];
    for (let n = 0; n < 3; n++) await see(one);
    for (let n = 0; n < 2; n++) await see(other);
    await see(one);
    const again = await restarted(a.memory, first);
    await see(other);
    expect(await count(again.worker())).toBe(8);
    expect(again.marks.count('applied')).toBe(1);
  });

  test('After a kill it gets its own events back that came after its snapshot', async () => {
    const [first, second] = [await linkTo(), await linkTo()];
    const [a, b] = [openVelocityNode(first), openVelocityNode(second)];
    const [one, other] = [a.worker(), b.worker()];
    await see(one);
    await new SnapshotWriter(folder, a.memory).save(NOW_MS);
    for (let n = 0; n < 3; n++) await see(one);
    await see(other);
    const again = startedOver(first);
    expect(await again.reader().catchUp(5_000)).toBe(true);
    expect(again.marks.count('applied')).toBe(4);
    expect(await count(again.worker())).toBe(6);
  });

  test('Entries ahead of what it had read are not applied again, also after two restarts', async () => {
    const [first, second] = [await linkTo(), await linkTo()];
    const [a, b] = [openVelocityNode(first), openVelocityNode(second)];
    const other = b.worker();
    const all = ENTRIES_PER_DECISION_MAX + 5;
    for (let n = 0; n < all; n++) await see(other, { sessionId: `s${n}` });
    // Its own event is appended behind entries that it has not read.
    await see(a.worker());
    const again = await restarted(a.memory, first);
    const third = await restarted(again.memory, first);
    await third.reader().catchUp(5_000);
    expect(third.marks.count('applied')).toBe(5);
    expect(await count(third.worker())).toBe(2);
  });

  test('A node without marks reads the streams from their start and shows that its history is thin', async () => {
    const [first, second] = [await linkTo(), await linkTo()];
    const b = openVelocityNode(second);
    await see(b.worker());
    const memory = createVelocityMemory(2 ** 20, HASH_KEY);
    const node = await restarted(memory, first);
    expect(node.marks.isEmpty).toBe(true);
    expect(readVelocityState(node.marks)).toEqual({ isBroken: false, detail: '' });
    expect(await node.reader().catchUp(5_000)).toBe(true);
    expect(readVelocityState(node.marks)).toMatchObject({
      isBroken: false,
      detail: expect.stringContaining('latest events'),
    });
    expect(readVelocityState(b.marks)).toEqual({ isBroken: false, detail: '' });
    expect(await count(node.worker())).toBe(2);
  });
});
