import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { holdRecords, openFile, SinkFault } from '../../../src/cli/extract/sinks.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-sinks-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('a file for records', () => {
  test('is there whole when it is closed, in the place of an earlier one, and not before', async () => {
    const path = join(folder, 'a.csv');
    writeFileSync(path, 'earlier');
    const sink = await openFile(path);
    await sink.write(Buffer.from('one\n'));
    await sink.write(Buffer.from('two\n'));
    expect(readFileSync(path, 'utf8')).toBe('earlier');
    await sink.close(true);
    expect(readFileSync(path, 'utf8')).toBe('one\ntwo\n');
    expect(existsSync(`${path}.part`)).toBe(false);
  });

  test('that nothing came to leaves the earlier one as it was', async () => {
    const path = join(folder, 'a.csv');
    writeFileSync(path, 'earlier');
    const sink = await openFile(path);
    await sink.write(Buffer.from('header\n'));
    await sink.close(false);
    expect(readFileSync(path, 'utf8')).toBe('earlier');
    expect(existsSync(`${path}.part`)).toBe(false);
  });

  test('that is none, as a device, is written to directly', async () => {
    const sink = await openFile('/dev/null');
    await sink.write(Buffer.from('x'));
    await sink.close(true);
    expect(existsSync('/dev/null.part')).toBe(false);
  });

  test('that cannot be opened is told by its name', async () => {
    const path = join(folder, 'none', 'a.csv');
    await expect(openFile(path)).rejects.toThrow(SinkFault);
    await expect(openFile(path)).rejects.toThrow(`${path} cannot be written: ENOENT`);
  });
});

describe('records that are held for one object', () => {
  test('are what was written, line by line', async () => {
    const sink = holdRecords();
    await sink.write(Buffer.from('{"a":1}\n{"a":"ß"}\n'));
    await sink.write(Buffer.alloc(0));
    await sink.write(Buffer.from('{"a":3}\n'));
    expect(sink.records()).toEqual([{ a: 1 }, { a: 'ß' }, { a: 3 }]);
  });

  test('are bounded in bytes, and the fault says what to do', async () => {
    const sink = holdRecords();
    await sink.write(Buffer.alloc(33_554_432));
    await expect(sink.write(Buffer.alloc(1))).rejects.toThrow(/more than 33554432 bytes: give --out/);
  });
});
