import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { DueEntryRead } from '../../../src/decide/journal-blocks.ts';
import { JournalTail } from '../../../src/decide/journal-tail.ts';
import { type DueJournal, openJournal } from '../../../src/decide/journal.ts';
import { BATCH_REQUESTS_MAX } from '../../../src/kernel/limits.ts';
import type { ReplayEntry } from '../../../src/decide/replay-guard.ts';

/** Faults injected into the next writes, and the number of writes. */
const writes = { faults: [] as ('throw' | 'half')[], count: 0 };
vi.mock('node:fs', async (original) => {
  const real = await original<typeof fs>();
  const writeSync = (descriptor: number, block: Buffer): number => {
    writes.count++;
    const failure = writes.faults.shift();
    if (failure === 'throw') throw new Error('ENOSPC: no space left on device');
    return real.writeSync(descriptor, failure === 'half' ? block.subarray(0, block.length >> 1) : block);
  };
  return { ...real, writeSync };
});

const NOW = Date.UTC(2026, 10, 21, 12) / 1000;
const HOUR = 3_600;

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-journal-'));
  writes.faults.length = 0;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function open(dueStoredUpTo = 0, nowSeconds = NOW) {
  const entries: ReplayEntry[] = [];
  const reserved: number[] = [];
  const { journal, read } = openJournal(
    folder,
    nowSeconds,
    (entry) => entries.push({ ...entry }),
    (ids) => reserved.push(ids),
    dueStoredUpTo,
  );
  return { journal, read: { ...read, due: owedAfter(journal, dueStoredUpTo) }, entries, reserved };
}

function owedAfter(journal: DueJournal, sequence: number, bytesMax = 1_000): DueEntryRead[] {
  const tail = tailOf(journal, sequence);
  const owed: DueEntryRead[] = [];
  for (let next = tail.receive(bytesMax); next.length > 0; next = tail.receive(bytesMax)) owed.push(...next);
  return owed;
}

function tailOf(journal: DueJournal, acknowledged: number): JournalTail {
  const tail = new JournalTail({ ...journal.dueStart(), acknowledged, onAcknowledged: () => {} });
  tail.announce(journal.dueEnd);
  return tail;
}

type Opened = ReturnType<typeof open>['journal'];

function entry(n: number, expiresAtSeconds = NOW + 301): ReplayEntry {
  return { hashLow: n, hashHigh: 0xffff_ffff - n, expiresAtSeconds, keyNumber: n % 5 };
}

function due(sequence: number, text = `what decision ${sequence} owes`): DueEntryRead {
  return { sequence, bytes: Buffer.from(text) };
}

function commit(journal: Opened, ids: readonly ReplayEntry[], owed: readonly DueEntryRead[], nowSeconds = NOW): void {
  for (const { sequence, bytes } of owed) expect(journal.stageDue(sequence, bytes)).toBe(true);
  for (const one of ids) journal.stage(one);
  journal.commit(nowSeconds);
}

/** The files in the folder, except spares. */
function files(): string[] {
  return readdirSync(folder)
    .filter((name) => !name.startsWith('spare-'))
    .sort();
}

const anyBatch = fc.record({
  ids: fc.array(fc.nat(1_000_000), { maxLength: BATCH_REQUESTS_MAX }),
  owed: fc.array(fc.uint8Array({ maxLength: 3_000 }), { maxLength: BATCH_REQUESTS_MAX }),
});

describe('the outbox entries of the journal', () => {
  test('Outbox entries and ids of any batches are read back in order after each reopening', () => {
    fc.assert(
      fc.property(fc.array(anyBatch, { maxLength: 6 }), fc.nat(40), (batches, mark) => {
        rmSync(folder, { recursive: true, force: true });
        let sequence = 0;
        const ids: ReplayEntry[] = [];
        const owed: DueEntryRead[] = [];
        for (const batch of batches) {
          const { journal, read } = open();
          expect(read.nextSequence).toBe(sequence + 1);
          const these = batch.owed.map((bytes) => ({ sequence: ++sequence, bytes: Buffer.from(bytes) }));
          commit(
            journal,
            batch.ids.map((n) => entry(n)),
            these,
          );
          ids.push(...batch.ids.map((n) => entry(n)));
          owed.push(...these);
          journal.close();
        }
        const { entries, read, journal } = open(mark);
        expect(entries).toEqual(ids);
        expect(read.due).toEqual(owed.filter((one) => one.sequence > mark));
        expect(read.nextSequence).toBe(Math.max(mark, sequence) + 1);
        expect(read.damagedFiles).toBe(0);
        journal.close();
      }),
      { numRuns: 40, seed: 4_001 },
    );
  });

  test('Ids and outbox entries of a batch are written in a single write and can be read back without a close', () => {
    const { journal } = open();
    const before = writes.count;
    commit(journal, [entry(1), entry(2)], [due(7), due(8)]);
    expect(writes.count - before).toBe(1);
    const { entries, read } = open();
    expect(entries).toEqual([entry(1), entry(2)]);
    expect(read.due).toEqual([due(7), due(8)]);
    journal.close();
  });

  test('Staging copies an outbox entry, so that the caller may reuse its buffer', () => {
    const { journal } = open();
    const bytes = Buffer.from('abc');
    journal.stageDue(1, bytes);
    bytes.fill(0);
    journal.commit(NOW);
    expect(open().read.due).toEqual([due(1, 'abc')]);
    journal.close();
  });

  test('An outbox entry is written only once and not repeated in the next batch', () => {
    const { journal } = open();
    commit(journal, [entry(1)], [due(1)]);
    commit(journal, [entry(2)], []);
    commit(journal, [], [due(2)]);
    expect(open().read.due).toEqual([due(1), due(2)]);
    expect(open().entries).toEqual([entry(1), entry(2)]);
    journal.close();
  });

  test('A full batch may carry an entry of 64 KiB per request, and a larger entry is rejected without affecting the others', () => {
    const { journal } = open();
    const ids = Array.from({ length: BATCH_REQUESTS_MAX }, (_, n) => entry(n));
    const owed = ids.map((_, n) => ({ sequence: n + 1, bytes: Buffer.alloc(65_536, n + 1) }));
    expect(journal.stageDue(1_000, Buffer.alloc(65_537))).toBe(false);
    commit(journal, ids, owed);
    expect(journal.broken).toBeNull();
    const { entries, read } = open();
    expect(entries).toEqual(ids);
    expect(read.due.map(({ sequence }) => sequence)).toEqual(owed.map(({ sequence }) => sequence));
    expect(read.due.every(({ bytes }, n) => bytes.equals(owed[n]?.bytes ?? Buffer.alloc(0)))).toBe(true);
    journal.close();
  });

  test('The journal rejects outbox entries beyond the maximum of a batch', () => {
    const { journal } = open();
    let staged = 0;
    while (staged < 1_000 && journal.stageDue(staged + 1, Buffer.alloc(65_536))) staged++;
    expect(staged).toBe(BATCH_REQUESTS_MAX);
    journal.commit(NOW);
    expect(open().read.due).toHaveLength(BATCH_REQUESTS_MAX);
    journal.close();
  });

  test('The estimated number of ids at a start is about right if files also contain outbox entries', () => {
    const { journal } = open();
    for (let n = 0; n < 400; n++) commit(journal, [entry(n), entry(-n >>> 0)], [due(n + 1, 'x'.repeat(700))]);
    journal.close();
    const { reserved } = open();
    expect(reserved).toHaveLength(1);
    expect(reserved[0]).toBeGreaterThan(780);
    expect(reserved[0]).toBeLessThan(820);
  });
});

describe('a journal file with outbox entries', () => {
  test('A journal file is kept until its outbox entries are stored, even if its ids have expired', () => {
    const { journal } = open();
    commit(journal, [entry(1)], [due(1), due(2)]);
    commit(journal, [entry(2)], [due(3)], NOW + 60);
    commit(journal, [entry(3)], [], NOW + 120);
    journal.close();
    journal.prune(NOW + HOUR);
    expect(files()).toEqual(['replay-0000000001.log', 'replay-0000000002.log']);
    journal.dueStored(1);
    journal.prune(NOW + HOUR);
    expect(files()).toHaveLength(2);
    journal.dueStored(2);
    journal.prune(NOW + HOUR);
    expect(files()).toEqual(['replay-0000000002.log']);
    // The mark never decreases.
    journal.dueStored(0);
    journal.dueStored(3);
    journal.dueStored(1);
    journal.prune(NOW + HOUR);
    expect(files()).toEqual([]);
  });

  test('A journal file is kept for its unexpired ids, even if its outbox entries are stored', () => {
    const { journal } = open();
    commit(journal, [entry(1)], [due(1)]);
    journal.close();
    journal.dueStored(1);
    journal.prune(NOW + 300);
    expect(files()).toHaveLength(1);
  });

  test("A journal file of an earlier run is kept until its entries are stored according to this run's mark", () => {
    const first = open();
    commit(first.journal, [entry(1)], [due(5)]);
    first.journal.close();
    const behind = open(4);
    behind.journal.prune(NOW + HOUR);
    expect(files()).toHaveLength(1);
    const past = open(5);
    expect(past.read).toMatchObject({ due: [], nextSequence: 6 });
    past.journal.prune(NOW + HOUR);
    expect(files()).toEqual([]);
  });
});

describe('the reader of outbox entries', () => {
  test('A reader returns announced entries that are written later, across files', () => {
    const { journal } = open();
    commit(journal, [entry(1)], [due(1), due(2)]);
    const tail = tailOf(journal, 1);
    const next = (bytesMax: number): readonly DueEntryRead[] => {
      tail.announce(journal.dueEnd);
      return tail.receive(bytesMax);
    };
    expect(next(1_000)).toEqual([due(2)]);
    expect(next(1_000)).toEqual([]);
    commit(journal, [entry(2)], []);
    expect(next(1_000)).toEqual([]);
    commit(journal, [entry(3)], [due(3)]);
    expect(tail.receive(1_000)).toEqual([]);
    expect(next(1_000)).toEqual([due(3)]);
    // After a minute the next file begins; a file without outbox entries is in between.
    commit(journal, [entry(4)], [], NOW + 61);
    commit(journal, [entry(5)], [due(4)], NOW + 122);
    commit(journal, [], [due(5)], NOW + 123);
    expect(next(1_000)).toEqual([due(4), due(5)]);
    expect(next(1)).toEqual([]);
    journal.close();
  });

  test('A claim returns what was received and not acknowledged, also from earlier files', () => {
    const { journal } = open();
    commit(journal, [], [due(1)]);
    commit(journal, [], [due(2)], NOW + 61);
    commit(journal, [], [due(3)], NOW + 122);
    const tail = tailOf(journal, 0);
    expect(tail.receive(1_000)).toEqual([due(1), due(2), due(3)]);
    tail.ack(1);
    tail.claim();
    expect(tail.receive(1_000)).toEqual([due(2), due(3)]);
    tail.ack(3);
    tail.claim();
    expect(tail.receive(1_000)).toEqual([]);
    journal.close();
  });

  test('Files that the journal has released and uses again are not read a second time', async () => {
    const { journal } = open();
    commit(journal, [], [due(1)]);
    const tail = tailOf(journal, 0);
    expect(tail.receive(1_000)).toEqual([due(1)]);
    journal.dueStored(1);
    commit(journal, [entry(1, NOW + 100)], [], NOW + 61);
    journal.prune(NOW + 61);
    await journal.tend();
    commit(journal, [entry(2, NOW + 200)], [], NOW + 122);
    journal.prune(NOW + 150);
    await journal.tend();
    commit(journal, [], [due(2)], NOW + 183);
    commit(journal, [], [due(3)], NOW + 244);
    tail.announce(journal.dueEnd);
    expect(tail.receive(1_000)).toEqual([due(2), due(3)]);
    journal.close();
  });

  test('The last committed sequence includes failed writes, so that nobody waits for entries that a full disk rejected', () => {
    const { journal } = open(3);
    expect(journal.dueCommitted).toBe(3);
    journal.stageDue(4, Buffer.from('a'));
    expect(journal.dueCommitted).toBe(3);
    writes.faults.push('throw');
    journal.commit(NOW);
    expect(journal.dueCommitted).toBe(4);
    expect(owedAfter(journal, 3)).toEqual([]);
    commit(journal, [], [due(5)]);
    expect([journal.dueCommitted, owedAfter(journal, 3)]).toEqual([5, [due(5)]]);
    journal.close();
    expect(open(3).journal.dueCommitted).toBe(5);
  });
});

describe('outbox sequences', () => {
  test("Sequences continue after the store's mark or after the newest journal entry, whichever is higher", () => {
    expect(open(41).read.nextSequence).toBe(42);
    const { journal } = open(41);
    commit(journal, [], [due(42), due(43)]);
    journal.close();
    expect(open(41).read.nextSequence).toBe(44);
    expect(open(43).read.nextSequence).toBe(44);
    expect(open(2 ** 40).read.nextSequence).toBe(2 ** 40 + 1);
  });
});

describe('a journal file with damaged outbox entries', () => {
  /** Writes three batches to one file, each with ids and an outbox entry; also returns the end offsets of all blocks. */
  function write(): { file: string; bytes: Buffer; ends: { end: number; ids: number; owed: number }[] } {
    const { journal } = open();
    const ends: { end: number; ids: number; owed: number }[] = [];
    let end = 0;
    for (let n = 1; n <= 3; n++) {
      commit(journal, [entry(n), entry(n + 10)], [due(n)]);
      ends.push({ end: (end += 12 + 2 * 16), ids: 2 * n, owed: n - 1 });
      ends.push({ end: (end += 12 + 12 + due(n).bytes.length), ids: 2 * n, owed: n });
    }
    journal.close();
    const file = join(folder, files()[0] ?? '');
    const bytes = readFileSync(file);
    expect(bytes.length).toBe(end);
    return { file, bytes, ends };
  }

  test('A journal file truncated at any byte loses only the truncated block and the following ones', () => {
    const { file, bytes, ends } = write();
    for (let cut = 0; cut <= bytes.length; cut++) {
      writeFileSync(file, bytes.subarray(0, cut));
      const whole = ends.findLast(({ end }) => end <= cut) ?? { ids: 0, owed: 0 };
      const { entries, read, journal } = open();
      expect([entries.length, read.due.length]).toEqual([whole.ids, whole.owed]);
      journal.close();
    }
  });

  test('A journal file with any one byte changed loses only that block and the following ones', () => {
    const { file, bytes, ends } = write();
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8));
      writeFileSync(file, changed);
      const whole = ends.findLast(({ end }) => end <= at) ?? { ids: 0, owed: 0 };
      const { entries, read, journal } = open();
      expect([entries.length, read.due.length, read.damagedFiles]).toEqual([whole.ids, whole.owed, 1]);
      journal.close();
    }
  });

  test.each(['throw', 'half'] as const)(
    'A failing write (%s) loses only its own batch and does not throw',
    (failure) => {
      const { journal } = open();
      commit(journal, [entry(1)], [due(1)]);
      writes.faults.push(failure);
      commit(journal, [entry(2)], [due(2)]);
      expect(journal.broken).not.toBeNull();
      commit(journal, [entry(3)], [due(3)]);
      expect(journal.broken).toBeNull();
      const { entries, read } = open();
      // After a partial write, the block of ids may be complete.
      expect(entries.filter(({ hashLow }) => hashLow !== 2)).toEqual([entry(1), entry(3)]);
      expect(read.due).toEqual([due(1), due(3)]);
      // A file is not kept for entries that were never written to it.
      journal.close();
      journal.dueStored(1);
      journal.prune(NOW + HOUR);
      expect(files()).toHaveLength(1);
      journal.dueStored(3);
      journal.prune(NOW + HOUR);
      expect(files()).toEqual([]);
    },
  );
});
