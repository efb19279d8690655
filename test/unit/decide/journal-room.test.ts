import { closeSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import type * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { JournalRoom } from '../../../src/decide/journal-room.ts';
import { JOURNAL_SPARES } from '../../../src/kernel/limits.ts';

const descriptors = vi.hoisted(() => ({ areUsedUp: false }));
vi.mock('node:fs', async (original) => {
  const real = await original<typeof fs>();
  const openSync = (path: string, flags: string, mode?: number): number => {
    if (descriptors.areUsedUp) throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
    return real.openSync(path, flags, mode);
  };
  return { ...real, openSync };
});

test('A spare that cannot be opened for lack of file descriptors stays a spare', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const room = new JournalRoom(folder);
  await room.tend();
  const path = join(folder, 'taken.log');
  descriptors.areUsedUp = true;
  expect(() => room.take(path)).toThrow('too many open files');
  expect([room.ready, existsSync(path)]).toEqual([JOURNAL_SPARES, false]);
  descriptors.areUsedUp = false;
  const file = room.take(path);
  expect([room.ready, existsSync(path)]).toEqual([JOURNAL_SPARES - 1, true]);
  if (file !== null) closeSync(file);
});
