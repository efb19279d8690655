import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { bodySourceOf } from '../../../src/http/body-room.ts';
import { countConnections } from '../../../src/http/census.ts';
import { descriptorsMax } from '../../../src/http/descriptors.ts';

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-census-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function write(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

const HEAD = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n';

/** A line as the kernel writes it. `inode` 0: no process holds the connection. */
function line(local: string, remote: string, state = '01', inode = 7): string {
  return ` 123: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000  1000        0 ${inode} 1 0000000021 20 0 0\n`;
}

test('Connections of a port that the process holds are counted by source', async () => {
  const ours = '0100007F:1F90';
  const v4 = write(
    'tcp',
    HEAD +
      line(ours, '00000000:0000', '0A') +
      line(ours, '076433C6:EA48') +
      line(ours, '076433C6:EA49', '08') +
      line(ours, '076433C6:EA4A', '06', 0) +
      line('0100007F:1F91', '076433C6:EA4B') +
      line('076433C6:EA48', ours),
  );
  const local = `${'0'.repeat(32)}:1F90`;
  const v6 = write(
    'tcp6',
    HEAD +
      line(local, 'B80D0120000000000000000001000000:EA46') +
      line(local, 'B80D0120000000000000FFFF02000000:EA47') +
      line(local, '0000000000000000FFFF0000076433C6:EA48'),
  );
  const counts = await countConnections(8_080, [v4, v6]);
  expect(counts).toEqual(
    new Map([
      ['198.51.100.7', 2],
      [bodySourceOf('2001:0db8::1'), 2],
      [bodySourceOf('0000:0000:0000:0000:0000:ffff:c633:6407'), 1],
    ]),
  );
});

test('Tables of thousands of lines are read completely, and a missing table is skipped', async () => {
  const many = write('many', HEAD + line('0100007F:1F90', '0100007F:EA48').repeat(5_000));
  expect(await countConnections(8_080, [many, join(folder, 'none')])).toEqual(new Map([['127.0.0.1', 5_000]]));
  expect(await countConnections(8_080, [join(folder, 'none')])).toBeNull();
});

test('The limit of open files is read from the system, and is guessed low where it is unknown', () => {
  expect(
    descriptorsMax(write('limits', 'Max open files            20000                30000                files\n')),
  ).toBe(20_000);
  expect(
    descriptorsMax(write('unlimited', 'Max open files            unlimited            unlimited    files\n')),
  ).toBe(Number.MAX_SAFE_INTEGER);
  expect(descriptorsMax(write('other', 'nothing\n'))).toBe(4_096);
  expect(descriptorsMax(join(folder, 'none'))).toBe(4_096);
});
