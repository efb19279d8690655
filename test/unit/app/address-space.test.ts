import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { addressSpaceFault } from '../../../src/app/address-space.ts';
import { MAIN } from '../../support/command-line.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-limits-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('limit of the address space', () => {
  test.each(['unlimited            unlimited            bytes', '34359738368          34359738368          bytes'])(
    'A start is allowed with %s',
    (limit) => {
      const file = join(folder, 'limits');
      writeFileSync(file, `Limit                     Soft Limit\nMax address space         ${limit}\n`);
      expect(addressSpaceFault(file)).toBeNull();
    },
  );

  test('A start is allowed where the limits are not known', () => {
    expect(addressSpaceFault(join(folder, 'none'))).toBeNull();
  });

  test.skipIf(process.platform !== 'linux').each([4_000_000, 16_000_000])(
    'A server under ulimit -v %d ends with exit code 78, names the limit, and creates nothing',
    (kilobytes) => {
      const { status, stderr } = spawnSync(
        'sh',
        ['-c', `ulimit -v ${kilobytes}; exec "$0" "$1" serve`, process.execPath, MAIN],
        {
          encoding: 'utf8',
          env: { PATH: process.env['PATH'], GATEHOUSE_DATA_DIR: folder, GATEHOUSE_PORT: '0' },
          timeout: 60_000,
          killSignal: 'SIGKILL',
        },
      );
      expect([status, stderr]).toEqual([78, expect.stringContaining('(ulimit -v)') as string]);
      expect(readdirSync(folder)).toEqual([]);
    },
  );
});
