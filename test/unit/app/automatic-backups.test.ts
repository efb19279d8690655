import { describe, expect, test } from 'vitest';
import { createAutomaticBackups, type BackupParts } from '../../../src/app/automatic-backups.ts';
import { createLog } from '../../../src/observe/log.ts';
import type { BackupResult } from '../../../src/state/repair/backup.ts';

const MINUTE_MS = 60_000;
const START_MS = 1_700_000_000_000;
const DONE: BackupResult = { kind: 'ok', folder: '/backups/new', bytes: 4_096 };
const FAILED: BackupResult = {
  kind: 'fault',
  code: 'backup_failed',
  detail: 'the disk of the backup has 7 bytes free',
};

/** Returns automatic backups on a clock of the test, and the times of the attempts. */
function backupsWith(more: Partial<BackupParts> = {}) {
  const attempts: number[] = [];
  const results: BackupResult[] = [];
  const backups = createAutomaticBackups({
    everyMs: 10 * MINUTE_MS,
    startedAtMs: START_MS,
    list: () => [],
    make: (nowMs) => {
      attempts.push((nowMs - START_MS) / MINUTE_MS);
      return Promise.resolve(results.shift() ?? DONE);
    },
    log: createLog('silent'),
    ...more,
  });
  const runTo = async (minutes: number): Promise<void> => {
    for (let minute = 0; minute <= minutes; minute++) await backups.poll(START_MS + minute * MINUTE_MS);
  };
  const metric = (name: string): unknown => {
    const reading = backups.readings.find((one) => one.name === name);
    return reading?.kind === 'level' || reading?.kind === 'total' ? reading.read() : null;
  };
  return { backups, attempts, results, runTo, metric };
}

describe('when an automatic backup is due', () => {
  test('Without an earlier backup the first is made an interval after the start, then one at each interval', async () => {
    const { attempts, runTo } = backupsWith();
    await runTo(35);
    expect(attempts).toEqual([10, 20, 30]);
  });

  test('A server that restarts within the interval continues it from the newest backup', async () => {
    const { attempts, runTo } = backupsWith({ list: () => [START_MS - 7 * MINUTE_MS, START_MS - 17 * MINUTE_MS] });
    await runTo(15);
    expect(attempts).toEqual([3, 13]);
  });

  test('A backup that is older than the interval is followed by one at once', async () => {
    const { attempts, runTo } = backupsWith({ list: () => [START_MS - 500 * MINUTE_MS] });
    await runTo(5);
    expect(attempts).toEqual([0]);
  });

  test('A backup in the future, of a clock that was set back, does not delay the next one', async () => {
    const { attempts, runTo } = backupsWith({ list: () => [START_MS + 9_999 * MINUTE_MS] });
    await runTo(10);
    expect(attempts).toEqual([10]);
  });

  test('A clock that is set back while the server runs delays the next backup by one interval at most', async () => {
    const { backups, attempts } = backupsWith();
    await backups.poll(START_MS + 10 * MINUTE_MS);
    for (let minute = 0; minute <= 10; minute++) await backups.poll(START_MS + (minute - 60) * MINUTE_MS);
    expect(attempts).toEqual([10, -50]);
  });

  test('An interval of 0 makes none and is reported as absent', async () => {
    const { backups, attempts, runTo } = backupsWith({ everyMs: 0, list: () => [START_MS - MINUTE_MS] });
    await runTo(100);
    expect(attempts).toEqual([]);
    expect(backups.status()).toEqual({
      state: 'absent',
      version: '2023-11-14T22:12:20.000Z',
      detail: 'automatic backups are turned off',
    });
  });

  test('No backup begins while another one is being made', async () => {
    const finish: ((result: BackupResult) => void)[] = [];
    const make = (): Promise<BackupResult> => new Promise((resolve) => finish.push(resolve));
    const { backups } = backupsWith({ make });
    const first = backups.poll(START_MS + 10 * MINUTE_MS);
    await backups.poll(START_MS + 25 * MINUTE_MS);
    expect(finish).toHaveLength(1);
    finish[0]?.(DONE);
    await first;
    void backups.poll(START_MS + 26 * MINUTE_MS);
    expect(finish).toHaveLength(2);
  });
});

describe('what is reported about automatic backups', () => {
  test('A failed backup is broken in /readyz until one succeeds, counts once, and is retried after an interval', async () => {
    const { backups, attempts, results, runTo, metric } = backupsWith();
    expect(backups.status()).toEqual({ state: 'ok', version: null, detail: 'no automatic backup yet' });
    results.push(FAILED);
    await runTo(19);
    expect(attempts).toEqual([10]);
    expect(backups.status()).toMatchObject({
      state: 'broken',
      detail: 'the last automatic backup failed, see the log',
    });
    expect([metric('gatehouse_backup_failures_total'), metric('gatehouse_backup_bytes')]).toEqual([1, 0]);
    await backups.poll(START_MS + 20 * MINUTE_MS);
    expect(backups.status()).toEqual({ state: 'ok', version: '2023-11-14T22:33:20.000Z', detail: '' });
    expect([metric('gatehouse_backup_failures_total'), metric('gatehouse_backup_bytes')]).toEqual([1, 4_096]);
  });

  test('A backup that throws counts as failed, and the next one is made', async () => {
    const { backups, metric } = backupsWith({ make: () => Promise.reject(new Error('EIO')) });
    await backups.poll(START_MS + 10 * MINUTE_MS);
    await backups.poll(START_MS + 20 * MINUTE_MS);
    expect(metric('gatehouse_backup_failures_total')).toBe(2);
    expect(backups.status().state).toBe('broken');
  });

  test('The number of backups and the age of the newest are those of the folder', () => {
    const times = [Date.now() - 90_000, Date.now() - 3_690_000];
    const { metric } = backupsWith({ list: () => times, startedAtMs: Date.now() });
    expect(metric('gatehouse_backups')).toBe(2);
    expect(metric('gatehouse_backup_age_seconds')).toBeGreaterThanOrEqual(90);
    expect(metric('gatehouse_backup_age_seconds')).toBeLessThan(3_600);
  });
});
