import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import type * as fs from 'node:fs';
import type * as fsPromises from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { JournalTail } from '../../../src/decide/journal-tail.ts';
import { type DueJournal, type Journal, type JournalRead, openJournal } from '../../../src/decide/journal.ts';
import type { ReplayEntry } from '../../../src/decide/replay-guard.ts';
import { BATCH_REQUESTS_MAX, JOURNAL_FILE_BYTES, JOURNAL_SPARES } from '../../../src/kernel/limits.ts';

/** A disk that allocates no new block while it is full, but accepts writes into allocated blocks. */
const disk = vi.hoisted(() => ({ isFull: false, appended: new Set<number>() }));
const NO_SPACE = 'ENOSPC: no space left on device';
vi.mock('node:fs', async (original) => {
  const real = await original<typeof fs>();
  const openSync = (path: string, flags: string, mode?: number): number => {
    const descriptor = real.openSync(path, flags, mode);
    if (flags === 'ax') disk.appended.add(descriptor);
    else disk.appended.delete(descriptor);
    return descriptor;
  };
  const writeSync = (descriptor: number, block: Buffer): number => {
    if (disk.isFull && disk.appended.has(descriptor)) throw new Error(NO_SPACE);
    return real.writeSync(descriptor, block);
  };
  const statfsSync = (): { bavail: number; bsize: number } => ({ bavail: disk.isFull ? 0 : 1 << 20, bsize: 4_096 });
  return { ...real, openSync, writeSync, statfsSync };
});
vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof fsPromises>();
  const open = async (path: string, flags: string, mode?: number): Promise<fsPromises.FileHandle> => {
    if (disk.isFull && flags === 'wx') throw new Error(NO_SPACE);
    return real.open(path, flags, mode);
  };
  return { ...real, open };
});

const NOW = Date.UTC(2026, 10, 21, 12) / 1000;
const KEEP_SECONDS = 301;
const BLOCK_BYTES = 12 + BATCH_REQUESTS_MAX * 16;
const RETRY_MS = 1_000;
/** Four times the retention of ids. */
const MINUTES = 20;

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-full-'));
  disk.isFull = false;
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

function open(nowSeconds = NOW): { journal: Journal & DueJournal; read: JournalRead; ids: number[] } {
  const ids: number[] = [];
  const { journal, read } = openJournal(folder, nowSeconds, ({ hashLow }) => ids.push(hashLow));
  return { journal, read, ids };
}

let nextId = 1;
/** Commits a full batch; returns its ids if it was written. */
function commit(journal: Journal, nowSeconds: number): number[] | null {
  const ids = Array.from({ length: BATCH_REQUESTS_MAX }, () => nextId++);
  for (const hashLow of ids) {
    const entry: ReplayEntry = { hashLow, hashHigh: 7, expiresAtSeconds: nowSeconds + KEEP_SECONDS, keyNumber: 1 };
    journal.stage(entry);
  }
  return journal.commit(nowSeconds) ? ids : null;
}

/** Equivalent to `toEqual`, which takes seconds for a million ids. */
function expectSame(ids: readonly number[], expected: readonly number[]): void {
  expect(ids.length).toBe(expected.length);
  expect(ids.findIndex((id, at) => id !== expected[at])).toBe(-1);
}

function named(prefix: string): string[] {
  return readdirSync(folder).filter((name) => name.startsWith(prefix));
}

describe('a full disk', () => {
  test('On a full disk the journal fills all preallocated files, then fails, and after a kill exactly the accepted ids are read back', async () => {
    const { journal } = open();
    const accepted = [...(commit(journal, NOW) ?? [])];
    await journal.tend();
    expect(named('spare-')).toHaveLength(JOURNAL_SPARES);
    for (const name of named('spare-')) {
      expect(statSync(join(folder, name)).size).toBe(JOURNAL_FILE_BYTES);
      expect(readFileSync(join(folder, name)).equals(Buffer.alloc(JOURNAL_FILE_BYTES))).toBe(true);
    }
    disk.isFull = true;
    let batches = 0;
    for (let ids = commit(journal, NOW); ids !== null; ids = commit(journal, NOW)) {
      accepted.push(...ids);
      batches++;
      expect(journal.broken).toBeNull();
    }
    expect(batches).toBe(JOURNAL_SPARES * Math.floor(JOURNAL_FILE_BYTES / BLOCK_BYTES));
    expect(journal.broken).toContain('ENOSPC');
    const again = open();
    expectSame(again.ids, accepted);
    expect(again.read.damagedFiles).toBe(0);
  });

  test('At a steady rate a full disk goes unnoticed: expired files are reused, and their old content never reappears', async () => {
    const { journal } = open();
    await journal.tend();
    disk.isFull = true;
    const accepted: { id: number; until: number }[] = [];
    let nowSeconds = NOW;
    for (let minute = 0; minute < MINUTES; minute++, nowSeconds += 60) {
      for (let at = 0; at < 1_048_576; at += BLOCK_BYTES) {
        const ids = commit(journal, nowSeconds);
        if (ids === null) throw new Error(`minute ${minute}: ${String(journal.broken)}`);
        for (const id of ids) accepted.push({ id, until: nowSeconds + KEEP_SECONDS });
      }
      journal.stageDue(minute + 1, Buffer.from(`due ${minute}`));
      expect(journal.commit(nowSeconds)).toBe(true);
      journal.dueStored(minute);
      journal.prune(nowSeconds);
      vi.advanceTimersByTime(2 * RETRY_MS);
      await journal.tend();
      expect(readdirSync(folder).length).toBeLessThanOrEqual(JOURNAL_SPARES + 1);
    }
    const again = open(nowSeconds);
    expectSame(
      again.ids,
      accepted.filter(({ until }) => until > nowSeconds).map(({ id }) => id),
    );
    const tail = new JournalTail({ ...journal.dueStart(), acknowledged: MINUTES - 1, onAcknowledged: () => {} });
    tail.announce(journal.dueEnd);
    expect(tail.receive(1_000_000).map(({ bytes }) => bytes.toString())).toEqual([`due ${MINUTES - 1}`]);
  });

  test('After a full disk has room again, the journal recovers and releases its surplus spares', async () => {
    const { journal } = open();
    await journal.tend();
    disk.isFull = true;
    for (let ids = commit(journal, NOW); ids !== null; ids = commit(journal, NOW));
    await journal.tend();
    expect(journal.broken).not.toBeNull();
    // All of them expire at once: they are kept, because the disk might not give the space back.
    journal.prune(NOW + KEEP_SECONDS);
    expect(named('spare-').length).toBeGreaterThanOrEqual(JOURNAL_SPARES);
    vi.advanceTimersByTime(2 * RETRY_MS);
    await journal.tend();
    expect(journal.broken).toBeNull();
    expect(commit(journal, NOW + KEEP_SECONDS)).not.toBeNull();
    disk.isFull = false;
    vi.advanceTimersByTime(2 * RETRY_MS);
    await journal.tend();
    expect(named('spare-')).toHaveLength(JOURNAL_SPARES);
  });

  test('At a start on a full disk the journal works as soon as a spare of the last run is zeroed', async () => {
    const first = open();
    await first.journal.tend();
    first.journal.close();
    disk.isFull = true;
    const { journal } = open();
    expect(commit(journal, NOW)).toBeNull();
    expect(journal.broken).toContain('ENOSPC');
    await journal.tend();
    expect(journal.broken).toBeNull();
    const ids = commit(journal, NOW);
    expect(ids).not.toBeNull();
    expect(open().ids).toEqual(ids);
  });
});

describe('preallocated journal files', () => {
  test('A start reads only the written part of preallocated files', async () => {
    const { journal } = open();
    await journal.tend();
    for (let minute = 0; minute < 3; minute++) {
      for (let i = 0; i < 100; i++) commit(journal, NOW + 60 * minute);
    }
    let reserved = 0;
    let entries = 0;
    openJournal(
      folder,
      NOW,
      () => entries++,
      (ids) => (reserved = ids),
    );
    expect(entries).toBe(300 * BATCH_REQUESTS_MAX);
    expect(reserved).toBeGreaterThan(0.8 * entries);
    expect(reserved).toBeLessThan(1.3 * entries);
  });

  test('An expired journal file is removed while the disk has room and enough spares exist', async () => {
    const { journal } = open();
    await journal.tend();
    commit(journal, NOW);
    commit(journal, NOW + 60);
    expect(named('replay-')).toHaveLength(2);
    await journal.tend();
    expect(named('spare-')).toHaveLength(JOURNAL_SPARES);
    journal.prune(NOW + KEEP_SECONDS);
    expect([named('replay-').length, named('spare-').length]).toEqual([1, JOURNAL_SPARES]);
  });
});
