import { openDecisionLog } from '../../../../src/history/open-decision-log.ts';
import type * as fs from 'node:fs';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { STORE_DISK_FREE_BYTES_MIN } from '../../../../src/kernel/limits.ts';
import { table } from '../../../../src/state/tables/environment.ts';
import { clearFiller, overwriteFreePages } from '../../../../src/state/tables/overwrite-pages.ts';
import { u32Key, withSum } from '../../../../src/state/tables/value.ts';
import { freeSlices } from '../../../support/slices.ts';
import { decide } from '../decision-log-support.ts';
import { customer, hashOf, tempStore, value } from '../support.ts';
import { writesOf } from '../../../support/writes.ts';

/** Simulated free space of the disk. */
const disk = vi.hoisted(() => ({ freeBytes: 2 ** 40, asked: 0 }));
vi.mock('node:fs', async (original) => {
  const real = await original<typeof fs>();
  const statfsSync = (): { bavail: number; bsize: number } => {
    disk.asked++;
    return { bavail: Math.floor(disk.freeBytes / 4_096), bsize: 4_096 };
  };
  return { ...real, statfsSync };
});
beforeEach(() => {
  disk.freeBytes = STORE_DISK_FREE_BYTES_MIN;
});

const CHANGE = { fingerprintHash: hashOf(1), action: 'block', expiresAtSeconds: null, note: null } as const;

describe('a nearly full disk', () => {
  test('No write reaches LMDB on a nearly full disk, and writes succeed when there is room again', async () => {
    const store = tempStore();
    await value(writesOf(store).lists.put(customer(1), CHANGE, 1));
    const asked = disk.asked;
    const transactions = vi.spyOn(store.state, 'transaction');
    disk.freeBytes = STORE_DISK_FREE_BYTES_MIN - 4_096;
    expect(await writesOf(store).lists.put(customer(2), CHANGE, 1)).toMatchObject({
      kind: 'fault',
      code: 'store_full',
    });
    expect(await writesOf(store).webhooks.healthChanged([])).toMatchObject({ kind: 'fault', code: 'store_full' });
    expect([transactions.mock.calls.length, disk.asked - asked]).toEqual([0, 2]);
    disk.freeBytes = STORE_DISK_FREE_BYTES_MIN;
    await value(writesOf(store).lists.put(customer(2), CHANGE, 1));
    expect(transactions).toHaveBeenCalledOnce();
  });

  test('The decision log is kept in memory until the disk has room', async () => {
    const store = tempStore();
    const log = openDecisionLog(store);
    await log.flush();
    expect(log.broken).toBeNull();
    disk.freeBytes = 0;
    decide(log, customer(1), { occurredAtMs: Date.now() });
    await log.flush();
    expect(log.broken).toContain('the disk is full');
    disk.freeBytes = 2 ** 40;
    await log.flush();
    expect([log.broken, log.stats().dropped]).toEqual([null, 0]);
  });

  test('Free pages are not filled on a disk with little room, and filler leaves one that is full', async () => {
    const { state } = tempStore();
    const filler = table(state, 'filler');
    disk.freeBytes = 2 * STORE_DISK_FREE_BYTES_MIN - 4_096;
    expect(await overwriteFreePages(state, 'filler', freeSlices())).toMatchObject({ code: 'store_full' });
    expect(filler.getKeysCount()).toBe(0);
    await state.transaction(() => {
      for (let at = 0; at < 200; at++) void filler.put(u32Key(at), withSum(u32Key(at), Buffer.alloc(4_076)));
    });
    disk.freeBytes = STORE_DISK_FREE_BYTES_MIN / 2;
    await value(clearFiller(state, 'filler', freeSlices()));
    expect(filler.getKeysCount()).toBe(0);
    disk.freeBytes = 2 * STORE_DISK_FREE_BYTES_MIN;
    expect(await overwriteFreePages(state, 'filler', freeSlices())).toBeNull();
  });
});
