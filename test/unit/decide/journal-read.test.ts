import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ENTRY_BYTES, fileName, JOURNAL_HEAD_BYTES, MAGIC_DUE, MAGIC_IDS } from '../../../src/decide/journal-blocks.ts';
import { findNewerFile, idsIn } from '../../../src/decide/journal-read.ts';
import { FILE_FORMATS } from '../../../src/kernel/formats.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-journal-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function block(magic: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(JOURNAL_HEAD_BYTES);
  head.writeUInt32LE(magic, 0);
  head.writeUInt32LE(payload.length, 4);
  head.writeUInt32LE(crc32(payload), 8);
  return Buffer.concat([head, payload]);
}

const ids = (count: number): Buffer => block(MAGIC_IDS, Buffer.alloc(count * ENTRY_BYTES, 0xab));

/** Writes the journal's first file; `bytes` is its preallocated length. */
function write(blocks: readonly Buffer[], bytes: number): string {
  const file = join(folder, fileName(1));
  const written = Buffer.concat(blocks);
  writeFileSync(file, Buffer.concat([written, Buffer.alloc(Math.max(0, bytes - written.length))]));
  return file;
}

describe('idsIn', () => {
  test('an empty file has none', () => {
    expect(idsIn(write([], 8_388_608))).toBe(0);
  });

  test.each([1, 10, 30, 90])('the estimate for %i % of a preallocated file is within a tenth', (percent) => {
    const bytes = 8_388_608;
    const one = ids(64);
    const blocks = Math.floor((bytes * percent) / 100 / one.length);
    const estimate = idsIn(
      write(
        Array.from({ length: blocks }, () => one),
        bytes,
      ),
    );
    expect(estimate / (blocks * 64)).toBeGreaterThan(0.9);
    expect(estimate / (blocks * 64)).toBeLessThan(1.1);
  });

  test('entries of pending deliveries count as none', () => {
    const due = block(MAGIC_DUE, Buffer.alloc(64 * ENTRY_BYTES, 0xab));
    const blocks = Array.from({ length: 2_000 }, (_, i) => (i % 2 === 0 ? ids(64) : due));
    expect(idsIn(write(blocks, 0)) / 64_000).toBeCloseTo(1, 1);
  });
});

describe('findNewerFile', () => {
  const newer = (): Buffer => {
    const written = ids(1);
    written[3] = (written[3] ?? 0) + 1;
    return written;
  };

  test('a folder that does not exist has none', () => {
    expect(findNewerFile(join(folder, 'none'))).toBeNull();
  });

  test('the first file of a newer build is named with both versions', () => {
    const path = write([newer()], 4_096);
    const { version } = FILE_FORMATS.journal;
    expect(findNewerFile(folder)).toEqual({ path, version: version + 1, readsVersion: version });
  });

  test('a file of this build and a block with a wrong check sum are not newer', () => {
    write([ids(1)], 4_096);
    expect(findNewerFile(folder)).toBeNull();
    const damaged = newer();
    damaged[8] = (damaged[8] ?? 0) ^ 1;
    write([damaged], 4_096);
    expect(findNewerFile(folder)).toBeNull();
  });
});
