import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openJournal, type Journal, type JournalRead } from '../../../src/decide/journal.ts';
import { BATCH_REQUESTS_MAX } from '../../../src/kernel/limits.ts';
import type { AdmittedId } from '../../../src/ports/admission.ts';

/** Faults injected into the next writes; empty: writes succeed. */
const writeFaults: ('throw' | 'half')[] = [];
vi.mock('node:fs', async (original) => {
  const real = await original<typeof fs>();
  const writeSync = (descriptor: number, block: Buffer): number => {
    const failure = writeFaults.shift();
    if (failure === 'throw') throw new Error('ENOSPC: no space left on device');
    return real.writeSync(descriptor, failure === 'half' ? block.subarray(0, block.length >> 1) : block);
  };
  return { ...real, writeSync };
});

const NOW = Date.UTC(2026, 10, 21, 12) / 1000;
const BLOCK_HEAD_BYTES = 12;
const ENTRY_BYTES = 16;

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-journal-'));
  writeFaults.length = 0;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function open(nowSeconds = NOW): { journal: Journal; read: JournalRead; entries: AdmittedId[] } {
  const entries: AdmittedId[] = [];
  const { journal, read } = openJournal(folder, nowSeconds, (entry) => entries.push({ ...entry }));
  return { journal, read, entries };
}

function entry(n: number, expiresAtSeconds = NOW + 301): AdmittedId {
  return { hashLow: n, hashHigh: 0xffff_ffff - n, expiresAtSeconds, keyNumber: n % 5 };
}

function commitAll(journal: Journal, entries: readonly AdmittedId[], nowSeconds = NOW): void {
  for (const one of entries) journal.stage(one);
  journal.commit(nowSeconds);
}

/** The files in the folder, except spares. */
function files(): string[] {
  return readdirSync(folder)
    .filter((name) => !name.startsWith('spare-'))
    .sort();
}

const word = fc.integer({ min: 0, max: 0xffff_ffff });
const anyEntry = fc.record({
  hashLow: word,
  hashHigh: word,
  expiresAtSeconds: fc.integer({ min: NOW + 1, max: 0xffff_ffff }),
  keyNumber: word,
});

describe('the journal', () => {
  test('The journal reads back all ids in order across several openings', () => {
    fc.assert(
      fc.property(fc.array(fc.array(anyEntry, { maxLength: BATCH_REQUESTS_MAX }), { maxLength: 6 }), (batches) => {
        rmSync(folder, { recursive: true, force: true });
        for (const batch of batches) {
          const { journal } = open();
          commitAll(journal, batch);
          journal.close();
        }
        const { entries, read, journal } = open();
        expect(entries).toEqual(batches.flat());
        expect(read.entries).toBe(batches.flat().length);
        expect(read.newestExpirySeconds).toBe(Math.max(0, ...batches.flat().map((one) => one.expiresAtSeconds)));
        expect(read.damagedFiles).toBe(0);
        journal.close();
      }),
      { numRuns: 40 },
    );
  });

  test('Committed ids can be read back without a close, as after a SIGKILL', () => {
    const { journal } = open();
    commitAll(journal, [entry(1), entry(2)]);
    expect(open().entries).toEqual([entry(1), entry(2)]);
    journal.close();
  });

  test('Staged ids that were not committed are not in the journal, and an empty commit writes nothing', () => {
    const { journal } = open();
    journal.commit(NOW);
    expect(files()).toEqual([]);
    journal.stage(entry(1));
    expect(open().entries).toEqual([]);
    journal.close();
  });

  test('Expired ids are not read back, but the newest expiry is still reported', () => {
    const { journal } = open();
    commitAll(journal, [entry(1, NOW), entry(2, NOW + 1), entry(3, NOW - 50)]);
    journal.close();
    const { entries, read } = open();
    expect(entries).toEqual([entry(2, NOW + 1)]);
    expect(read.newestExpirySeconds).toBe(NOW + 1);
    expect(open(NOW + 100).entries).toEqual([]);
  });

  test("Journal files are accessible only to the service's user", () => {
    const { journal } = open();
    commitAll(journal, [entry(1)]);
    expect(statSync(join(folder, files()[0] ?? '')).mode & 0o777).toBe(0o600);
    journal.close();
  });
});

/** Writes two files: the first with blocks of 3, 2 and 4 entries, the second with one of 2. */
function write(): { first: string; bytes: Buffer; ends: number[]; before: AdmittedId[][]; behind: AdmittedId[] } {
  const before = [
    [1, 2, 3],
    [4, 5],
    [6, 7, 8, 9],
  ].map((batch) => batch.map((n) => entry(n)));
  const behind = [entry(10), entry(11)];
  const one = open();
  for (const batch of before) commitAll(one.journal, batch);
  one.journal.close();
  const two = open();
  commitAll(two.journal, behind);
  two.journal.close();
  const first = join(folder, files()[0] ?? '');
  const bytes = readFileSync(first);
  let end = 0;
  const ends = before.map((batch) => (end += BLOCK_HEAD_BYTES + batch.length * ENTRY_BYTES));
  expect(bytes.length).toBe(end);
  return { first, bytes, ends, before, behind };
}

describe('a damaged journal', () => {
  test('A journal file truncated at any byte loses only the truncated block and the following ones of that file', () => {
    const { first, bytes, ends, before, behind } = write();
    for (let cut = 0; cut <= bytes.length; cut++) {
      writeFileSync(first, bytes.subarray(0, cut));
      const whole = ends.filter((end) => end <= cut).length;
      const { entries, read, journal } = open();
      expect(entries).toEqual([...before.slice(0, whole).flat(), ...behind]);
      expect(read.damagedFiles).toBe(cut === 0 || ends.includes(cut) ? 0 : 1);
      journal.close();
    }
  });

  test('A journal file with any one byte changed loses only that block and the following ones of that file', () => {
    const { first, bytes, ends, before, behind } = write();
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8));
      writeFileSync(first, changed);
      const whole = ends.filter((end) => end <= at).length;
      const { entries, read, journal } = open();
      expect(entries).toEqual([...before.slice(0, whole).flat(), ...behind]);
      expect(read.damagedFiles).toBe(1);
      journal.close();
    }
  });

  test('A start succeeds with a journal file of random bytes, zeros or no content', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 300 }),
          fc.nat(300).map((length) => new Uint8Array(length)),
        ),
        (bytes) => {
          rmSync(folder, { recursive: true, force: true });
          fs.mkdirSync(folder);
          writeFileSync(join(folder, 'replay-0000000001.log'), bytes);
          const { entries, journal } = open();
          expect(entries).toEqual([]);
          commitAll(journal, [entry(1)]);
          journal.close();
          expect(open().entries).toEqual([entry(1)]);
        },
      ),
      { numRuns: 50 },
    );
  });

  test('The journal ignores files with other names', () => {
    writeFileSync(join(folder, 'replay-1.log'), 'x');
    writeFileSync(join(folder, 'notes.txt'), 'x');
    const { journal, read } = open();
    journal.prune(NOW + 1_000_000);
    expect(read.damagedFiles).toBe(0);
    expect(files()).toEqual(['notes.txt', 'replay-1.log']);
  });
});

describe('the journal’s files', () => {
  test('The journal starts a new file after 60 s, and when the clock steps back by as much', () => {
    const { journal } = open();
    commitAll(journal, [entry(1)], NOW);
    commitAll(journal, [entry(2)], NOW + 59);
    expect(files()).toHaveLength(1);
    commitAll(journal, [entry(3)], NOW + 60);
    expect(files()).toHaveLength(2);
    commitAll(journal, [entry(4)], NOW + 58);
    expect(files()).toHaveLength(2);
    commitAll(journal, [entry(5)], NOW - 400);
    expect(files()).toHaveLength(3);
    journal.close();
    expect(open().entries).toHaveLength(5);
  });

  test('A journal file is removed once all its ids have expired, except the file being written', () => {
    const { journal } = open();
    commitAll(journal, [entry(1, NOW + 600), entry(2, NOW + 301)], NOW);
    commitAll(journal, [entry(3, NOW + 361)], NOW + 60);
    commitAll(journal, [entry(4, NOW + 421)], NOW + 120);
    journal.prune(NOW + 360);
    expect(files()).toHaveLength(3);
    journal.prune(NOW + 361);
    expect(files()).toEqual(['replay-0000000001.log', 'replay-0000000003.log']);
    journal.prune(NOW + 10_000);
    expect(files()).toEqual(['replay-0000000003.log']);
    journal.close();
    journal.prune(NOW + 10_000);
    expect(files()).toEqual([]);
  });

  test('Journal files of earlier runs are removed as well, and their numbers are not reused while they exist', () => {
    const first = open();
    commitAll(first.journal, [entry(1)]);
    first.journal.close();
    const second = open();
    commitAll(second.journal, [entry(2)]);
    expect(files()).toEqual(['replay-0000000001.log', 'replay-0000000002.log']);
    second.journal.prune(NOW + 301);
    expect(files()).toEqual(['replay-0000000002.log']);
    second.journal.close();
  });
});

describe('a failing journal write', () => {
  test.each(['throw', 'half'] as const)(
    'A failing write (%s) is reported until a write succeeds, and loses only its own block',
    (failure) => {
      const { journal } = open();
      commitAll(journal, [entry(1)]);
      expect(journal.broken).toBeNull();
      writeFaults.push(failure);
      commitAll(journal, [entry(2)]);
      expect(journal.broken).not.toBeNull();
      journal.commit(NOW);
      expect(journal.broken).not.toBeNull();
      commitAll(journal, [entry(3)]);
      expect(journal.broken).toBeNull();
      journal.close();
      expect(open().entries).toEqual([entry(1), entry(3)]);
    },
  );

  test('Repeated failing writes leave no file behind that is never removed', () => {
    const { journal } = open();
    for (let i = 0; i < 50; i++) {
      writeFaults.push(i % 2 === 0 ? 'throw' : 'half');
      commitAll(journal, [entry(i)]);
    }
    expect(journal.broken).not.toBeNull();
    commitAll(journal, [entry(100)]);
    expect(journal.broken).toBeNull();
    journal.prune(NOW);
    expect(files()).toHaveLength(1);
    journal.close();
  });

  test('A missing journal folder is reported, and writes succeed once the folder exists again', () => {
    const { journal } = open();
    rmSync(folder, { recursive: true });
    commitAll(journal, [entry(1)]);
    expect(journal.broken).toContain('ENOENT');
    fs.mkdirSync(folder);
    chmodSync(folder, 0o700);
    commitAll(journal, [entry(2)]);
    expect(journal.broken).toBeNull();
    journal.close();
    expect(open().entries).toEqual([entry(2)]);
  });
});
