import { chmodSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { dataDirFault, makeFolders } from '../../../../src/state/repair/data-dir.ts';
import { closeDataDir } from '../../../../src/state/repair/private-files.ts';

/** Folders that this user may not write. Simulated, because root may write everywhere. */
const denied = vi.hoisted(() => new Set<string>());
vi.mock('node:fs', async (original) => {
  const real = await original<typeof fs>();
  const accessSync = (path: string, mode?: number): void => {
    const wanted = (mode ?? 0) & real.constants.W_OK;
    if (denied.has(path) && wanted !== 0) throw new Error(`EACCES: permission denied, access '${path}'`);
    real.accessSync(path, mode);
  };
  return { ...real, accessSync };
});

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-data-dir-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('makeFolders', () => {
  test('makeFolders creates missing folders and returns those it created', () => {
    const made = [join(folder, 'a'), join(folder, 'a', 'b')];
    expect(makeFolders(join(folder, 'a', 'b'))).toEqual(made);
    expect(makeFolders(join(folder, 'a', 'b'))).toEqual([]);
  });

  test('makeFolders throws the system error below a folder that accepts no children, where mkdir with recursive never returns', () => {
    expect(() => makeFolders('/proc/nope/deeper')).toThrow('ENOENT');
  });
});

describe('closeDataDir', () => {
  test.each([
    [0o777, 0o755],
    [0o770, 0o750],
    [0o1777, 0o1755],
  ])('A data directory with mode %o gets %o, and a warning', (mode, closed) => {
    chmodSync(folder, mode);
    expect(closeDataDir(folder)).toContain(`(mode ${(mode & 0o777).toString(8)})`);
    expect(statSync(folder).mode & 0o7777).toBe(closed);
  });

  test.each([0o755, 0o750, 0o700])('A data directory with mode %o stays as it is', (mode) => {
    chmodSync(folder, mode);
    expect(closeDataDir(folder)).toBeNull();
    expect(statSync(folder).mode & 0o777).toBe(mode);
  });
});

describe('dataDirFault', () => {
  test('dataDirFault returns null for a folder that can be used or created, and creates nothing', () => {
    expect(dataDirFault(folder)).toBeNull();
    expect(dataDirFault(join(folder, 'a', 'b'))).toBeNull();
    expect(existsSync(join(folder, 'a'))).toBe(false);
  });

  test('dataDirFault explains why a folder cannot be created', () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    expect(dataDirFault(file)).toBe(`${file} is not a folder`);
    expect(dataDirFault(join(file, 'below'))).toContain('below cannot be made: ENOTDIR');
    expect(dataDirFault('/proc/nope')).toContain('/proc/nope cannot be made: ENOENT');
  });

  test('dataDirFault explains that a folder cannot be written', () => {
    denied.add(folder);
    expect(dataDirFault(folder)).toBe(`${folder} cannot be written: EACCES: permission denied, access '${folder}'`);
  });
});
