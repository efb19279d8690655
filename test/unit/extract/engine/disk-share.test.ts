import { describe, expect, test } from 'vitest';
import { DiskShare, shareOf, type DiskRoom } from '../../../../src/extract/engine/disk-share.ts';

const GIB = 2 ** 30;

function share(): {
  readonly disk: DiskShare;
  readonly scheduler: { isPaused: boolean };
  readonly ended: string[];
  readonly bounds: number[];
  readonly set: (room: DiskRoom | null, used: number) => void;
} {
  let room: DiskRoom | null = null;
  let used = 0;
  const ended: string[] = [];
  const bounds: number[] = [];
  const log = { info() {}, warn() {}, error() {} };
  const scheduler = { isPaused: false, endLargest: (detail: string) => void ended.push(detail), pump() {} };
  const disk = new DiskShare({
    store: { extractions: { boundEnded: (bytes) => void bounds.push(bytes) }, usedBytes: () => used },
    scheduler,
    log,
    measure: () => Promise.resolve(room),
  });
  const set = (next: DiskRoom | null, bytes: number): void => {
    room = next;
    used = bytes;
  };
  return { disk, scheduler, ended, bounds, set };
}

describe('The part of the disk that extraction may take', () => {
  test('Extraction takes no more than it leaves free, and 40 GiB at most', () => {
    expect(shareOf({ freeBytes: 10 * GIB, fileBytes: 2 * GIB })).toBe(6 * GIB);
    expect(shareOf({ freeBytes: 900 * GIB, fileBytes: 2 * GIB })).toBe(40 * GIB);
  });

  test('Within its share extraction runs, and ended jobs may take three quarters', async () => {
    const { disk, scheduler, ended, bounds, set } = share();
    set({ freeBytes: 10 * GIB, fileBytes: 6 * GIB }, 6 * GIB);
    await disk.look();
    expect([scheduler.isPaused, ended, bounds]).toEqual([false, [], [6 * GIB]]);
  });

  test('Beyond its share the largest job ends, one at a time, and nothing starts until rows were removed', async () => {
    const { disk, scheduler, ended, set } = share();
    const full = { freeBytes: 4 * GIB, fileBytes: 6 * GIB };
    set(full, 6 * GIB);
    await disk.look();
    expect([scheduler.isPaused, ended]).toEqual([true, ['extraction may take 5,368,709,120 bytes of the disk']]);
    // Its rows are being removed.
    set(full, 5.5 * GIB);
    await disk.look();
    expect([scheduler.isPaused, ended.length]).toEqual([true, 1]);
    set(full, 5.5 * GIB);
    await disk.look();
    expect([scheduler.isPaused, ended.length]).toEqual([true, 2]);
    // The file keeps its size: what counts is what its rows take.
    set(full, 4 * GIB);
    await disk.look();
    expect([scheduler.isPaused, ended.length]).toEqual([false, 2]);
  });

  test('On a nearly full disk nothing starts, and no job ends', async () => {
    const { disk, scheduler, ended, set } = share();
    set({ freeBytes: 100 * 2 ** 20, fileBytes: 2 ** 20 }, 2 ** 20);
    await disk.look();
    expect([scheduler.isPaused, ended]).toEqual([true, []]);
    set({ freeBytes: GIB, fileBytes: 2 ** 20 }, 2 ** 20);
    await disk.look();
    expect(scheduler.isPaused).toBe(false);
  });

  test('A disk that tells nothing changes nothing', async () => {
    const { disk, scheduler, bounds } = share();
    await disk.look();
    expect([scheduler.isPaused, bounds]).toEqual([false, []]);
  });
});
