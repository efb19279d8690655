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
  test('A file is written completely and replaces an earlier one only when it is closed', async () => {
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

  test('A file without records leaves an earlier one as it was', async () => {
    const path = join(folder, 'a.csv');
    writeFileSync(path, 'earlier');
    const sink = await openFile(path);
    await sink.write(Buffer.from('header\n'));
    await sink.close(false);
    expect(readFileSync(path, 'utf8')).toBe('earlier');
    expect(existsSync(`${path}.part`)).toBe(false);
  });

  test('A device is written directly, without a temporary file', async () => {
    const sink = await openFile('/dev/null');
    await sink.write(Buffer.from('x'));
    await sink.close(true);
    expect(existsSync('/dev/null.part')).toBe(false);
  });

  test('A file that cannot be opened gives an error with its name', async () => {
    const path = join(folder, 'none', 'a.csv');
    await expect(openFile(path)).rejects.toThrow(SinkFault);
    await expect(openFile(path)).rejects.toThrow(`${path} cannot be written: ENOENT`);
  });
});

describe('records that are held for one object', () => {
  test('The held records are the lines that were written', async () => {
    const sink = holdRecords();
    await sink.write(Buffer.from('{"a":1}\n{"a":"ß"}\n'));
    await sink.write(Buffer.alloc(0));
    await sink.write(Buffer.from('{"a":3}\n'));
    expect(sink.records()).toEqual([{ a: 1 }, { a: 'ß' }, { a: 3 }]);
  });

  test('The held records are limited in bytes, and the error explains what to do', async () => {
    const sink = holdRecords();
    await sink.write(Buffer.alloc(33_554_432));
    await expect(sink.write(Buffer.alloc(1))).rejects.toThrow(/more than 33554432 bytes: use --out/);
  });
});
