import { RETENTION_MAX } from '../../../src/risk/policy/row-retention.ts';
import { openDecisionLog } from '../../../src/history/open-decision-log.ts';
import type { Database } from 'lmdb';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { newId } from '../../../src/kernel/ids.ts';
import { ALLOW_KEPT_MS, FLAGGED_KEPT_MS } from '../../../src/kernel/history-limits.ts';
import { STORE_WRITE_MS_MAX } from '../../../src/kernel/limits.ts';
import { DecisionLog } from '../../../src/history/decision-log.ts';
import { ensureUsable } from '../../../src/state/repair/ensure-usable.ts';
import type { Store } from '../../../src/state/feed/open-store.ts';
import { decide, idOf, idsOf, pageOf, query, recordOf } from '../state/decision-log-support.ts';
import { customer, open, tempFolder } from '../state/support.ts';

const NOW = 1_790_000_000_000;
const ONE = customer(1);
const TWO = customer(2);

/** Creates a log with a separate store, and a function to reopen it. */
function tempLog(options?: ConstructorParameters<typeof DecisionLog>[2]): {
  readonly log: DecisionLog;
  readonly reopen: () => Promise<DecisionLog>;
} {
  const folder = tempFolder();
  let store = open(folder);
  onTestFinished(() => store.close());
  return {
    log: openDecisionLog(store, options),
    reopen: async () => {
      await store.close();
      store = open(folder);
      return openDecisionLog(store, options);
    },
  };
}

/** The table of the log. */
function tableOf(store: Store): Database<Buffer, Buffer> {
  if (store.hot === null) throw new Error('the store was opened to be read');
  return store.hot.openDB<Buffer, Buffer>({ name: 'decisions', encoding: 'binary', keyEncoding: 'binary' });
}

/** A log on a disk that responds like `put`. */
function logOnDisk(put: () => Promise<boolean>, pendingBytesMax = 1_000_000): DecisionLog {
  const table = { getKeys: () => [], put, remove: put, getBinaryFast: () => undefined };
  return new DecisionLog(table as unknown as Database<Buffer, Buffer>, '/', { bounds: { pendingBytesMax } });
}

describe('a logged decision', () => {
  test('A decision can be found as soon as it was answered, after it was written, and after a restart', async () => {
    const { log, reopen } = tempLog();
    const id = decide(log, ONE, { occurredAtMs: NOW, decision: 'BLOCK', reasons: ['list_block'] }, 3.6);
    const expectThere = async (there: DecisionLog): Promise<void> => {
      const found = there.find(ONE, id, NOW);
      expect(found?.latencyMs).toBe(4);
      expect(found?.record).toMatchObject({
        requestId: id,
        occurredAtMs: NOW,
        decision: 'BLOCK',
        ip: '203.0.113.7',
        contributions: [{ code: 'list_block', weight: 0.3, evidence: 'evidence of list_block' }],
      });
      expect(await idsOf(there, ONE, { nowMs: NOW })).toEqual([id]);
    };
    await expectThere(log);
    await log.flush();
    await expectThere(log);
    const later = decide(log, ONE, { occurredAtMs: NOW + 1 });
    expect(await idsOf(log, ONE, { nowMs: NOW })).toEqual([later, id]);
    const again = await reopen();
    expect(await idsOf(again, ONE, { nowMs: NOW })).toEqual([later, id]);
    expect(again.stats()).toMatchObject({ rows: 2, pendingBytes: 0, dropped: 0, damagedBlocks: 0 });
  });

  test('A decision cannot be found by another customer', async () => {
    const { log } = tempLog();
    const id = decide(log, ONE, { occurredAtMs: NOW });
    expect(log.find(TWO, id, NOW)).toBeNull();
    expect(await idsOf(log, TWO, { nowMs: NOW })).toEqual([]);
    decide(log, TWO, { occurredAtMs: NOW });
    expect(log.find(TWO, id, NOW)).toBeNull();
    expect(await idsOf(log, ONE, { nowMs: NOW })).toEqual([id]);
  });

  test.each(['', 'req_', 'req_01M7XVS7J4Q33R1661RM2TZ4P', 'req_ZZZZZZZZZZZZZZZZZZZZZZZZZZ', 'x'.repeat(30), 'réq'])(
    'A decision is not found by the invalid id %j',
    (id) => {
      const { log } = tempLog();
      decide(log, ONE, { occurredAtMs: NOW });
      expect(log.find(ONE, id, NOW)).toBeNull();
    },
  );

  test('An ALLOW expires after 24 h, any other decision after 30 days, to the millisecond', async () => {
    const { log } = tempLog();
    const allowed = decide(log, ONE, { occurredAtMs: NOW });
    const flagged = decide(log, ONE, { occurredAtMs: NOW, decision: 'ALLOW_WATCH' });
    const at = async (nowMs: number): Promise<unknown> => {
      const ids = await idsOf(log, ONE, { nowMs });
      expect([allowed, flagged].filter((id) => log.find(ONE, id, nowMs) !== null)).toEqual([...ids].reverse());
      return ids;
    };
    expect(await at(NOW + ALLOW_KEPT_MS - 1)).toEqual([flagged, allowed]);
    expect(await at(NOW + ALLOW_KEPT_MS)).toEqual([flagged]);
    log.prune(NOW + ALLOW_KEPT_MS);
    expect(log.stats().rows).toBe(1);
    expect(await at(NOW + FLAGGED_KEPT_MS - 1)).toEqual([flagged]);
    expect(await at(NOW + FLAGGED_KEPT_MS)).toEqual([]);
    log.prune(NOW + FLAGGED_KEPT_MS);
    expect(log.stats()).toMatchObject({ rows: 0, bytes: 0, blocks: 0, pendingBytes: 0 });
  });

  test('A shorter retention of one customer hides and removes its decisions only', async () => {
    const own = { ...RETENTION_MAX, allow: 3_600_000, flagged: 7_200_000 };
    const { log } = tempLog({ retentionOf: (customer) => (customer === ONE ? own : RETENTION_MAX) });
    for (const of of [ONE, TWO]) {
      decide(log, of, { occurredAtMs: NOW });
      decide(log, of, { occurredAtMs: NOW, decision: 'BLOCK' });
    }
    const shown = async (nowMs: number): Promise<readonly number[]> => [
      (await idsOf(log, ONE, { nowMs })).length,
      (await idsOf(log, TWO, { nowMs })).length,
    ];
    expect(await shown(NOW + own.allow - 1)).toEqual([2, 2]);
    expect(await shown(NOW + own.allow)).toEqual([1, 2]);
    expect(await shown(NOW + own.flagged)).toEqual([0, 2]);
    log.prune(NOW + own.flagged);
    expect(log.stats().rows).toBe(2);
  });

  test('A decision with an empty or malformed record is counted but not stored', () => {
    const { log } = tempLog();
    for (const bytes of [Buffer.alloc(0), Buffer.from('no record'), Buffer.alloc(60, 0x90)]) log.append(ONE, bytes, 1);
    expect(log.stats()).toMatchObject({ rows: 0, dropped: 3 });
  });

  test('A record of 8 KiB is stored completely', () => {
    const { log } = tempLog();
    const reasons = Array.from({ length: 60 }, (_, i) => `reason_${i}_${'x'.repeat(60)}`);
    const id = decide(log, ONE, { occurredAtMs: NOW, reasons });
    expect(log.find(ONE, id, NOW)?.record.contributions.map(({ code }) => code)).toEqual(reasons);
  });
});

describe('removal from the decision log', () => {
  test('Expired decisions are also removed from the disk', async () => {
    const { log, reopen } = tempLog();
    for (let i = 0; i < 1_000; i++) decide(log, ONE, { occurredAtMs: NOW + i, decision: i < 900 ? 'ALLOW' : 'BLOCK' });
    await log.flush();
    log.prune(NOW + ALLOW_KEPT_MS + 900);
    expect(log.stats().rows).toBe(100);
    await log.flush();
    const again = await reopen();
    expect(again.stats().rows).toBe(100);
    expect(await idsOf(again, ONE, { nowMs: NOW })).toHaveLength(100);
  });

  test('Expired blocks are removed a few at a time', async () => {
    const { log } = tempLog({ bounds: { blockRowsMax: 1 } });
    for (let i = 0; i < 1_500; i++) decide(log, ONE, { occurredAtMs: NOW + i });
    await log.flush();
    const rows: number[] = [];
    for (let i = 0; i < 4; i++) {
      log.prune(NOW + 2 * ALLOW_KEPT_MS);
      rows.push(log.stats().rows);
    }
    expect(rows).toEqual([988, 476, 0, 0]);
  });
});

describe('limits of the decision log', () => {
  test('The limit of rows per customer always holds, and the oldest ALLOW decisions are removed first', async () => {
    const { log } = tempLog({ bounds: { rowsPerCustomerMax: 40, blockRowsMax: 10 } });
    const flagged = Array.from({ length: 12 }, (_, i) =>
      decide(log, ONE, { occurredAtMs: NOW + i, decision: 'REVIEW' }),
    );
    const other = decide(log, TWO, { occurredAtMs: NOW });
    const allowed: string[] = [];
    for (let i = 0; i < 100; i++) {
      allowed.push(decide(log, ONE, { occurredAtMs: NOW + 100 + i }));
      expect(log.stats().rows).toBeLessThanOrEqual(41);
      if (i % 7 === 0) await log.flush();
    }
    const ids = await idsOf(log, ONE, { nowMs: NOW });
    expect(ids.filter((id) => flagged.includes(id))).toHaveLength(12);
    const kept = ids.filter((id) => !flagged.includes(id));
    expect(kept.length).toBeGreaterThan(17);
    expect(kept).toEqual(allowed.slice(-kept.length).reverse());
    expect(await idsOf(log, TWO, { nowMs: NOW })).toEqual([other]);
    // If there is no ALLOW, flagged decisions are removed.
    for (let i = 0; i < 100; i++) decide(log, ONE, { occurredAtMs: NOW + 300 + i, decision: 'BLOCK' });
    expect((await idsOf(log, ONE, { nowMs: NOW })).length).toBeLessThanOrEqual(40);
  });

  test('If the log exceeds its limit of bytes, blocks of the customer with the most are removed', () => {
    const { log } = tempLog({ bounds: { bytesMax: 60_000, blockRowsMax: 10 } });
    const quiet = Array.from({ length: 20 }, (_, i) => decide(log, TWO, { occurredAtMs: NOW + i }));
    for (let i = 0; i < 2_000; i++) decide(log, ONE, { occurredAtMs: NOW + i });
    log.prune(NOW);
    expect(log.stats().bytes).toBeLessThanOrEqual(60_000);
    expect(log.stats().bytes).toBeGreaterThan(50_000);
    expect(quiet.filter((id) => log.find(TWO, id, NOW) === null)).toEqual([]);
  });

  test('The log does not grow on a disk that is short of space', async () => {
    let free = 0;
    const { log } = tempLog({ bounds: { blockRowsMax: 200 }, freeBytes: () => Promise.resolve(free) });
    const fill = async (): Promise<number> => {
      for (let i = 0; i < 100_000; i++) log.append(ONE, bytes, 1);
      for (let i = 0; i < 10; i++) {
        await log.flush();
        log.prune(NOW);
      }
      return log.stats().bytes;
    };
    const { bytes } = recordOf({
      occurredAtMs: NOW,
      reasons: Array.from({ length: 20 }, (_, i) => `a_long_reason_${i}`),
    });
    expect(await fill()).toBeLessThanOrEqual(64 * 1_048_576);
    const scant = await fill();
    expect(scant).toBeLessThanOrEqual(64 * 1_048_576);
    free = 1e12;
    await fill();
    expect(await fill()).toBeGreaterThan(scant);
  });

  test('If there are too many growing blocks, the oldest is closed without losing a decision', async () => {
    const { log } = tempLog({ bounds: { openBlocksMax: 3 } });
    const ids = new Map<number, string[]>();
    for (let i = 0; i < 60; i++) {
      const number = 1 + (i % 10);
      ids.set(number, [decide(log, customer(number), { occurredAtMs: NOW + i }), ...(ids.get(number) ?? [])]);
      if (i % 8 === 0) await log.flush();
    }
    for (const [number, own] of ids) expect(await idsOf(log, customer(number), { nowMs: NOW })).toEqual(own);
    await log.flush();
    expect(log.stats().pendingBytes).toBeLessThanOrEqual(3 * 5_000);
  });
});

describe('the decision log on a failing disk', () => {
  test('A disk that refuses writes loses no decision that fits in memory, and is reported until a write succeeds', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    let isFull = true;
    const log = logOnDisk(() =>
      isFull ? Promise.reject(new Error('no space left on device')) : Promise.resolve(true),
    );
    const id = decide(log, ONE, { occurredAtMs: NOW });
    expect(log.broken).toBeNull();
    await log.flush();
    expect(log.broken).toBe('no space left on device');
    isFull = false;
    // It is not retried at once.
    await log.flush();
    expect(log.broken).toBe('no space left on device');
    expect(log.find(ONE, id, NOW)).not.toBeNull();
    vi.advanceTimersByTime(1_001);
    await log.flush();
    expect(log.broken).toBeNull();
    expect(log.stats().dropped).toBe(0);
  });

  test('A disk that never responds uses bounded memory, and the oldest waiting decisions are dropped', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const log = logOnDisk(() => new Promise(() => {}), 1_000_000);
    const first = decide(log, ONE, { occurredAtMs: NOW });
    void log.flush();
    let last = first;
    let most = 0;
    for (let i = 0; i < 50_000; i++) {
      last = decide(log, ONE, { occurredAtMs: NOW + i });
      if (i % 1_000 === 0) void log.flush();
      most = Math.max(most, log.stats().pendingBytes);
    }
    expect(most).toBeLessThan(1_100_000);
    expect(log.broken).toBeNull();
    vi.advanceTimersByTime(STORE_WRITE_MS_MAX + 1);
    expect(log.broken).toMatch(/has not been committed/);
    const { rows, dropped } = log.stats();
    expect(dropped).toBeGreaterThan(40_000);
    expect(rows + dropped).toBe(50_001);
    expect(log.find(ONE, last, NOW)).not.toBeNull();
    expect((await idsOf(log, ONE, { nowMs: NOW, limit: 1_000 })).length).toBe(rows);
  });

  test('A disk that never responds does not delay the close', async () => {
    const log = logOnDisk(() => new Promise(() => {}));
    decide(log, ONE, { occurredAtMs: NOW });
    const startedAtMs = performance.now();
    await log.close();
    expect(performance.now() - startedAtMs).toBeLessThan(STORE_WRITE_MS_MAX + 500);
  });
});

describe('a corrupt block of the decision log', () => {
  test.each([
    ['whose value was changed', (value: Buffer) => void (value[40] = (value[40] ?? 0) ^ 1)],
    ['whose value is empty', () => Buffer.alloc(0)],
    ['that has another one’s value', (value: Buffer) => Buffer.concat([value, value])],
  ])('A block %s is skipped and counted, and the others are read', async (_name, harm) => {
    const folder = tempFolder();
    const store = open(folder);
    onTestFinished(() => store.close());
    const log = openDecisionLog(store, { bounds: { blockRowsMax: 10 } });
    const ids = Array.from({ length: 30 }, (_, i) => decide(log, ONE, { occurredAtMs: NOW + i }));
    await log.close();
    const table = tableOf(store);
    const key = [...table.getKeys()][1];
    if (key === undefined) throw new Error('there is no second block');
    const value = Buffer.from(table.getBinary(key) ?? []);
    await table.put(key, harm(value) ?? value);
    const expected = [...ids.slice(20).reverse(), ...ids.slice(0, 10).reverse()];
    expect(await idsOf(log, ONE, { nowMs: NOW })).toEqual(expected);
    expect(log.find(ONE, ids[15] ?? '', NOW)).toBeNull();
    expect(log.find(ONE, ids[5] ?? '', NOW)).not.toBeNull();
    expect(await idsOf(log, ONE, { nowMs: NOW, limit: 3 })).toEqual(expected);
    expect(log.stats().damagedBlocks).toBe(1);
  });
});

test('A start quarantines a damaged decision log and begins a new one', async () => {
  const folder = tempFolder();
  const usable = { dataDir: folder, simulated: false, repair: true, nowMs: NOW };
  await ensureUsable(usable);
  const store = open(folder);
  const log = openDecisionLog(store);
  for (let i = 0; i < 1_000; i++) decide(log, ONE, { occurredAtMs: NOW + i });
  await log.close();
  const [key] = [...tableOf(store).getKeys()];
  if (key === undefined) throw new Error('nothing was written');
  await tableOf(store).put(key, Buffer.alloc(100));
  await store.close();
  expect(await ensureUsable(usable)).toMatchObject({ kind: 'ok', notices: [{ code: 'hot_begun_anew' }] });
  const again = open(folder);
  onTestFinished(() => again.close());
  const begun = openDecisionLog(again);
  expect(begun.stats().rows).toBe(0);
  const id = decide(begun, ONE, { occurredAtMs: NOW });
  await begun.flush();
  expect(begun.find(ONE, id, NOW)).not.toBeNull();
});

test('Of two versions of a block left by a crash, the longer one is used and the other removed', async () => {
  const folder = tempFolder();
  const store = open(folder);
  const log = openDecisionLog(store);
  const first = decide(log, ONE, { occurredAtMs: NOW });
  await log.flush();
  const table = tableOf(store);
  const [old] = [...table.getKeys()];
  const stored = old === undefined ? undefined : table.getBinary(old);
  if (old === undefined || stored === undefined) throw new Error('nothing was written');
  const second = decide(log, ONE, { occurredAtMs: NOW + 1 });
  await log.close();
  expect([...table.getKeys()]).toHaveLength(1);
  await table.put(old, stored);
  await store.close();
  const again = open(folder);
  onTestFinished(() => again.close());
  const opened = openDecisionLog(again);
  expect(await idsOf(opened, ONE, { nowMs: NOW })).toEqual([second, first]);
  expect(opened.stats()).toMatchObject({ rows: 2, blocks: 1 });
  await opened.flush();
  expect([...tableOf(again).getKeys()]).toHaveLength(1);
});

describe('a search of the decision log', () => {
  test('A search sorts by time, then by arrival, across both kinds of decisions', async () => {
    const { log } = tempLog({ bounds: { blockRowsMax: 4 } });
    const at = (ms: number, i: number): string =>
      decide(log, ONE, { occurredAtMs: NOW + ms, decision: i % 3 === 0 ? 'BLOCK' : 'ALLOW' });
    const rows = [5, 5, 3, 9, 5, 5, 1, 9, 4, 5, 5, 0, 5, 7].map((ms, i) => ({ ms, i, id: at(ms, i) }));
    const expected = rows.sort((a, b) => b.ms - a.ms || b.i - a.i).map(({ id }) => id);
    for (const limit of [1, 2, 3, 5, 14, 100]) {
      expect(await idsOf(log, ONE, { nowMs: NOW, limit })).toEqual(expected);
      await log.flush();
    }
  });

  test('A search reports exactly whether there is another page', async () => {
    const { log } = tempLog({ bounds: { blockRowsMax: 2 } });
    for (let i = 0; i < 9; i++) decide(log, ONE, { occurredAtMs: NOW + i, decision: i < 4 ? 'BLOCK' : 'ALLOW' });
    const more = async (limit: number, decision: 'BLOCK' | 'ALLOW' | null): Promise<boolean> =>
      pageOf(await log.search(ONE, query({ nowMs: NOW, limit, decision }))).next !== null;
    expect([await more(8, null), await more(9, null)]).toEqual([true, false]);
    expect([await more(3, 'BLOCK'), await more(4, 'BLOCK')]).toEqual([true, false]);
    expect([await more(4, 'ALLOW'), await more(5, 'ALLOW')]).toEqual([true, false]);
  });

  test('A search does not put decisions made meanwhile on a later page', async () => {
    const { log } = tempLog();
    const ids = Array.from({ length: 6 }, (_, i) => decide(log, ONE, { occurredAtMs: NOW + i })).reverse();
    const first = pageOf(await log.search(ONE, query({ nowMs: NOW, limit: 3 })));
    decide(log, ONE, { occurredAtMs: NOW + 10 });
    expect([...first.rows.map(idOf), ...(await idsOf(log, ONE, { nowMs: NOW, after: first.next }))]).toEqual(ids);
  });

  test.each([
    ['a part of the address', '113.2', ['b']],
    ['the country’s code, without case', 'fr', ['c', 'b']],
    ['a reason, without case', 'IP_TOR', ['a']],
    ['a part of a reason', 'or_ex', ['a']],
    ['nothing that is elsewhere in the record', 'evidence', []],
    ['nothing that is elsewhere in the record, the fingerprint included', 'aaaa', []],
    ['nothing in letters that no record has', '\u212a\u00e9', []],
    ['all without a text', '', ['c', 'b', 'a']],
  ])('A text search finds %s', async (_name, text, expected) => {
    const { log } = tempLog();
    const rows = [
      { name: 'a', ip: '198.51.100.1', country: 'DE', reasons: ['ip_tor_exit', 'ip_vpn'] },
      { name: 'b', ip: '203.0.113.27', country: 'FR', reasons: [] },
      { name: 'c', ip: null, country: 'FR', reasons: ['ip_invalid'] },
    ];
    const names = new Map<string, string>();
    for (const [i, { name, ...parts }] of rows.entries()) {
      names.set(decide(log, ONE, { occurredAtMs: NOW + i, decision: 'REVIEW', ...parts }), name);
    }
    const asked = { nowMs: NOW, text };
    expect((await idsOf(log, ONE, asked)).map((id) => names.get(id))).toEqual(expected);
    await log.flush();
    expect((await idsOf(log, ONE, asked)).map((id) => names.get(id))).toEqual(expected);
  });

  test('A search scans a bounded number of rows per page, and a page may be empty before the last one', async () => {
    const { log } = tempLog({ bounds: { blockRowsMax: 10, scanRowsMax: 20 } });
    const rare = decide(log, ONE, { occurredAtMs: NOW, reasons: ['ip_tor_exit'] });
    for (let i = 1; i < 100; i++) decide(log, ONE, { occurredAtMs: NOW + i });
    const sizes: number[] = [];
    let after = null;
    do {
      const page = pageOf(await log.search(ONE, query({ nowMs: NOW, text: 'tor', after })));
      sizes.push(page.rows.length);
      after = page.next;
    } while (after !== null);
    expect(sizes).toEqual([0, 0, 0, 0, 1]);
    expect(await idsOf(log, ONE, { nowMs: NOW, text: 'tor' })).toEqual([rare]);
  });

  test('A search is rejected while four of the customer or eight in total are running', async () => {
    const { log } = tempLog();
    for (const number of [1, 2, 3]) decide(log, customer(number), { occurredAtMs: NOW });
    const ask = (number: number): Promise<{ readonly kind: string }> =>
      log.search(customer(number), query({ nowMs: NOW }));
    const kinds = (asked: Promise<{ readonly kind: string }>[]): Promise<string[]> =>
      Promise.all(asked).then((outcomes) => outcomes.map(({ kind }) => kind));
    expect(await kinds([1, 1, 1, 1, 1, 2].map(ask))).toEqual(['page', 'page', 'page', 'page', 'busy', 'page']);
    expect(await kinds([1, 1, 1, 2, 2, 2, 3, 3, 3].map(ask))).toEqual([...Array<string>(8).fill('page'), 'busy']);
    expect(await kinds([ask(1)])).toEqual(['page']);
  });
});

test('One decision is found among 100,000 of several customers, in memory and on disk', async () => {
  const { log, reopen } = tempLog();
  const ids = new Map<string, number>();
  for (let i = 0; i < 100_000; i++) {
    const number = 1 + (i % 3);
    const decision = i % 5 === 0 ? 'BLOCK' : 'ALLOW';
    // Some are late: batches overtake each other.
    const occurredAtMs = NOW + Math.floor(i / 40) - (i % 7);
    const id = decide(log, customer(number), { occurredAtMs, decision });
    if (i % 997 === 0) ids.set(id, number);
    if (i % 10_000 === 0) await log.flush();
  }
  const expectFound = (there: DecisionLog): void => {
    for (const [id, number] of ids) {
      expect(there.find(customer(number), id, NOW)?.record.requestId).toBe(id);
      expect(there.find(customer(number === 3 ? 1 : number + 1), id, NOW)).toBeNull();
    }
    expect(there.find(ONE, newId('req', NOW), NOW)).toBeNull();
  };
  expectFound(log);
  const again = await reopen();
  expect(again.stats().rows).toBe(100_000);
  expectFound(again);
});

describe('fingerprint pages of the decision log', () => {
  const A = 'a'.repeat(64);
  const B = 'b'.repeat(64);
  const C = 'c'.repeat(64);

  async function rowsOf(
    log: DecisionLog,
    limit: number,
    asked: { text?: string; decision?: 'BLOCK' } = {},
  ): Promise<string[]> {
    const rows: string[] = [];
    let after = null;
    let arrivalEnd: number | null = null;
    do {
      const page = await log.fingerprints(ONE, { ...query({ nowMs: NOW, limit, after, ...asked }), arrivalEnd });
      if (page.kind === 'busy') throw new Error('the search was refused');
      for (const { newest, decisions } of page.rows) {
        rows.push(
          `${newest.record.fingerprintHash?.slice(0, 1) ?? ''} ${newest.record.occurredAtMs - NOW} ${decisions}`,
        );
      }
      ({ next: after, arrivalEnd } = page);
      // Decisions between two pages change none of them.
      if (after !== null) decide(log, ONE, { occurredAtMs: NOW + 1_000, decision: 'BLOCK', fingerprint: A });
    } while (after !== null);
    return rows;
  }

  test.each([1, 2, 3, 100])(
    'Each fingerprint appears once, sorted by its newest flagged decision, in pages of %d',
    async (limit) => {
      const { log } = tempLog({ bounds: { blockRowsMax: 2 } });
      const add = (ms: number, fingerprint: string | null, decision: 'BLOCK' | 'REVIEW' | 'ALLOW'): void =>
        void decide(log, ONE, { occurredAtMs: NOW + ms, fingerprint, decision, reasons: [`by_${decision}`] });
      add(0, B, 'BLOCK');
      add(1, A, 'BLOCK');
      add(2, C, 'REVIEW');
      add(3, A, 'REVIEW');
      add(4, B, 'ALLOW');
      add(5, null, 'REVIEW');
      add(6, A, 'BLOCK');
      add(7, C, 'ALLOW');
      expect(await rowsOf(log, limit)).toEqual(['a 6 3', 'c 2 1', 'b 0 1']);
    },
  );

  test('Fingerprint rows count and show only matching decisions', async () => {
    const { log } = tempLog();
    decide(log, ONE, { occurredAtMs: NOW, fingerprint: A, decision: 'BLOCK', ip: '192.0.2.1' });
    decide(log, ONE, { occurredAtMs: NOW + 1, fingerprint: A, decision: 'REVIEW', ip: '192.0.2.1' });
    decide(log, ONE, { occurredAtMs: NOW + 2, fingerprint: A, decision: 'REVIEW', ip: '192.0.2.9' });
    decide(log, ONE, { occurredAtMs: NOW + 3, fingerprint: B, decision: 'REVIEW', ip: '192.0.2.9' });
    await log.flush();
    expect(await rowsOf(log, 10, { text: '192.0.2.1' })).toEqual(['a 1 2']);
    expect(await rowsOf(log, 10, { decision: 'BLOCK' })).toEqual(['a 0 1']);
  });
});
