import { setTimeout as pause } from 'node:timers/promises';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { EncryptedValues } from '../../../../src/cluster/store/encrypted-values.ts';
import type { Link } from '../../../../src/cluster/store/link.ts';
import { velocityKey, velocityShard } from '../../../../src/cluster/store/store-keys.ts';
import { EntryNumbers, withHead } from '../../../../src/cluster/velocity/entry-head.ts';
import { EventEncoder } from '../../../../src/cluster/velocity/event-codec.ts';
import { trimStreams } from '../../../../src/cluster/velocity/stream-functions.ts';
import { ENTRY_AGE_MS, VelocityExchange } from '../../../../src/cluster/velocity/velocity-exchange.ts';
import { SenderWindows } from '../../../../src/velocity/sender-windows.ts';
import { createMarksMemory, wordOfId } from '../../../../src/velocity/stream-marks.ts';
import { ask, useStoreLink } from '../../../support/store-links.ts';
import { openVelocityNode, VALUES_KEY, type VelocityNode } from '../../../support/velocity-nodes.ts';
import { event } from '../../velocity/events.ts';

/** What someone writes again who can write to the store, and does not have the master key. */

const STREAM = velocityShard(event({}).customer);
const KEY = velocityKey(STREAM);

const store = useStoreLink();
beforeEach(() => store.redis.flush());

type Entry = readonly [id: Buffer, fields: readonly Buffer[]];

async function entries(): Promise<readonly Entry[]> {
  return (await ask(store.link, 'XRANGE', KEY, '-', '+')) as unknown as readonly Entry[];
}

/** Counts one more event at the node, and returns how many of the session it knows. */
async function decisionsAt(node: VelocityNode): Promise<number | undefined> {
  const [facts] = await node.worker(patient()).observe([event({})]);
  return facts?.session.decisions1m;
}

function patient(): Link {
  return {
    get isUp() {
      return store.link.isUp;
    },
    send: (commands) => store.link.send(commands, 5_000),
    close: () => Promise.resolve(),
  };
}

describe('events that are written again', () => {
  test('Entries of another node count once, however often and under whatever name they are in the stream', async () => {
    const [a, b] = [openVelocityNode(store.link), openVelocityNode(store.link)];
    const worker = a.worker(patient());
    for (let n = 0; n < 3; n++) await worker.observe([event({})]);
    expect(await decisionsAt(b)).toBe(4);
    const copies = (await entries()).slice(0, 3);
    for (let n = 0; n < 4; n++)
      for (const [, [, life = '', , sealed = '']] of copies.toReversed())
        await ask(store.link, 'XADD', KEY, '*', 'l', n % 2 === 0 ? life : 'abc', 'e', sealed);
    expect(await decisionsAt(b)).toBe(5);
    expect(b.marks.count('repeated')).toBe(12);
    // Those of its own are none of another node either.
    expect(await decisionsAt(a)).toBe(6);
  });

  test('Entries of another stream, and old ones, do not count', async () => {
    const b = openVelocityNode(store.link);
    const other = velocityKey((STREAM + 1) % 64);
    const values = new EncryptedValues(VALUES_KEY);
    const items = new EventEncoder().encode([event({})]);
    const head = { life: 9n, sender: 1, serial: 1, writtenMs: Date.now() };
    await ask(store.link, 'XADD', KEY, '*', 'l', '9', 'e', values.encrypt(other, withHead(head, items)));
    const old = { ...head, serial: 2, writtenMs: Date.now() - ENTRY_AGE_MS - 1_000 };
    await ask(store.link, 'XADD', KEY, '*', 'l', '9', 'e', values.encrypt(KEY, withHead(old, items)));
    expect(await decisionsAt(b)).toBe(1);
    expect([b.marks.count('unreadable'), b.marks.count('repeated')]).toEqual([1, 0]);
    expect(b.marks.count('tooOld')).toBe(1);
    await ask(
      store.link,
      'XADD',
      KEY,
      '*',
      'l',
      '9',
      'e',
      values.encrypt(KEY, withHead({ ...head, serial: 3 }, items)),
    );
    expect(await decisionsAt(b)).toBe(3);
  });

  test('An entry of the far future moves no mark, and its stream is removed', async () => {
    const [a, b] = [openVelocityNode(store.link), openVelocityNode(store.link)];
    expect(await decisionsAt(a)).toBe(1);
    expect(await decisionsAt(b)).toBe(2);
    await ask(store.link, 'XADD', KEY, `${Date.now() + 1e12}-1`, 'l', 'abc', 'e', 'garbage');
    await a.worker(patient()).observe([event({})]);
    await trimStreams(store.link, STREAM);
    expect(await ask(store.link, 'EXISTS', KEY)).toBe(0);
    await vi.waitFor(async () => expect(await decisionsAt(a)).toBeGreaterThan(0));
    const before = (await decisionsAt(b)) ?? 0;
    await a.worker(patient()).observe([event({})]);
    expect(await decisionsAt(b)).toBe(before + 2);
  });
});

describe('events that waited too long', () => {
  test('They are not sent, and counted as dropped', async () => {
    let isUp = false;
    const node = openVelocityNode(store.link);
    const link: Link = {
      get isUp() {
        return isUp;
      },
      send: (commands) =>
        isUp
          ? store.link.send(commands, 5_000)
          : Promise.resolve(commands.map(() => ({ kind: 'fault', what: 'down', detail: '' }) as const)),
      close: () => Promise.resolve(),
    };
    const exchange = new VelocityExchange({ memory: node.memory, values: new EncryptedValues(VALUES_KEY), link });
    const now = vi.spyOn(Date, 'now');
    onTestFinished(() => {
      now.mockRestore();
      exchange.close();
    });
    now.mockReturnValue(performance.timeOrigin + performance.now() - ENTRY_AGE_MS);
    exchange.put(STREAM, [event({})]);
    await exchange.send([STREAM]);
    expect(node.marks.count('waiting')).toBe(1);
    now.mockRestore();
    isUp = true;
    await exchange.send([STREAM]);
    expect([node.marks.count('waiting'), node.marks.count('dropped')]).toEqual([0, 1]);
    expect(await entries()).toHaveLength(0);
  });
});

describe('positions ahead of the time', () => {
  test('After an entry of some hours ahead, and the removal of its stream, nodes read on at once', async () => {
    const [a, b] = [openVelocityNode(store.link), openVelocityNode(store.link)];
    expect(await decisionsAt(a)).toBe(1);
    expect(await decisionsAt(b)).toBe(2);
    await ask(store.link, 'XADD', KEY, `${Date.now() + 20 * 3_600_000}-0`, 'l', 'x', 'e', 'x');
    const read = await decisionsAt(b);
    await trimStreams(store.link, STREAM);
    expect(await ask(store.link, 'EXISTS', KEY)).toBe(0);
    await a.worker(patient()).observe([event({})]);
    expect(await decisionsAt(b)).toBe((read ?? 0) + 2);
  });

  test('A position of the future, from a snapshot, is set back', async () => {
    const [a, b] = [openVelocityNode(store.link), openVelocityNode(store.link)];
    b.marks.claim(STREAM, wordOfId(`${Date.now() + 20 * 3_600_000}-0`));
    expect(await decisionsAt(a)).toBe(1);
    expect(await decisionsAt(b)).toBe(2);
    expect(await decisionsAt(b)).toBe(3);
    expect(await decisionsAt(a)).toBe(4);
  });
});

describe('the numbers of senders', () => {
  test('When a stream has used all numbers, the sender gets a new name and begins with 1 again', () => {
    const numbers = new EntryNumbers(2);
    const [first, second, third] = [numbers.next(4), numbers.next(4), numbers.next(4)];
    expect([first, second, third, numbers.next(5)].map(({ serial }) => serial)).toEqual([1, 2, 1, 1]);
    expect(second.sender).toBe(first.sender);
    expect(third.sender).not.toBe(first.sender);
  });

  test('Each number of a sender is taken once, in any order of the last 32, and by stream', () => {
    const windows = new SenderWindows(createMarksMemory());
    const taken = (serials: readonly number[], stream = 1, sender = 5n): readonly boolean[] =>
      serials.map((serial) => windows.take(stream, sender, serial));
    expect(taken([3, 1, 2, 1, 2, 3, 4])).toEqual([true, true, true, false, false, false, true]);
    expect(taken([40, 8, 9, 41, 9, 40])).toEqual([true, false, true, true, false, false]);
    expect(taken([100, 68, 69, 100_000, 100])).toEqual([true, false, true, true, false]);
    expect(taken([1, 1], 2)).toEqual([true, false]);
    expect(taken([1, 1], 1, 6n)).toEqual([true, false]);
  });

  test('What precedes the first number that is known of a sender has been taken', () => {
    const windows = new SenderWindows(createMarksMemory());
    expect([500, 499, 501, 500].map((serial) => windows.take(0, 7n, serial))).toEqual([true, false, true, false]);
  });

  test('When all places are taken, a new sender gets that of the one that has been quiet for longest', async () => {
    const windows = new SenderWindows(createMarksMemory());
    for (let sender = 1n; sender <= 256n; sender++) windows.take(3, sender, 1);
    await pause(5);
    for (let sender = 1n; sender <= 255n; sender++) windows.take(3, sender, 2);
    // It would be in the place of the first one.
    expect(windows.take(3, 257n, 1)).toBe(true);
    expect([1n, 2n, 255n].map((sender) => windows.take(3, sender, 2))).toEqual([false, false, false]);
    expect(windows.take(3, 257n, 1)).toBe(false);
  });

  test('A new sender finds a place among 256, and beyond', () => {
    const windows = new SenderWindows(createMarksMemory());
    for (let sender = 1n; sender <= 300n; sender++) expect(windows.take(3, sender, 1)).toBe(true);
    expect(windows.take(3, 300n, 1)).toBe(false);
    expect(windows.take(3, 200n, 1)).toBe(false);
  });
});
