import { accessSync, constants, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

const MEMORY_FOLDER = '/dev/shm';
/** Choice: several times the size of the folders of all concurrent tests. */
const MEMORY_BYTES_MIN = 4 * 2 ** 30;

/**
 * Puts the tests' folders into memory when there is room: they write 5 GB, and on a disk they would wait at each commit. Tests kill only
 * processes, whose writes survive in either location. Measured: the tests of several nodes take 4 % less processor time.
 */
export function keepFoldersInMemory(): void {
  try {
    accessSync(MEMORY_FOLDER, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER);
    if (bavail * bsize < MEMORY_BYTES_MIN) return;
  } catch {
    return;
  }
  const folder = mkdtempSync(join(MEMORY_FOLDER, 'gatehouse-tests-'));
  process.env['TMPDIR'] = folder;
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
}
