import type { AssetStatus } from '../assets/asset-messages.ts';
import type { Log } from '../observe/log.ts';
import { level, type Reading, total } from '../observe/reading.ts';
import type { BackupResult } from '../state/repair/backup.ts';
import { fault, messageOf } from '../state/tables/durable.ts';

/**
 * Decides when an automatic backup is due, and reports on the backups in `/readyz` and in the metrics.
 *
 * A backup is due when the newest one, or the last attempt, is older than the interval, so that a server that restarts often makes backups
 * too. Without any backup the first one is due an interval after the start.
 */
export interface AutomaticBackups {
  /** Makes a backup if one is due and none is being made. Resolves when it is made. */
  poll(nowMs: number): Promise<void>;
  status(): AssetStatus;
  readonly readings: readonly Reading[];
}

export interface BackupParts {
  /** 0 turns automatic backups off. */
  readonly everyMs: number;
  readonly startedAtMs: number;
  /** Returns when the existing automatic backups were made, newest first. */
  readonly list: () => readonly number[];
  readonly make: (nowMs: number) => Promise<BackupResult>;
  readonly log: Log;
}

export function createAutomaticBackups({ everyMs, startedAtMs, list, make, log }: BackupParts): AutomaticBackups {
  let madeAtMs = list()[0] ?? null;
  /** Time from which the interval is counted. A backup in the future was made before the machine's clock was set back. */
  let sinceMs = madeAtMs === null || madeAtMs > startedAtMs ? startedAtMs : madeAtMs;
  let isRunning = false;
  let isFailing = false;
  let failures = 0;
  let bytes = 0;

  function record(result: BackupResult, nowMs: number): void {
    isFailing = result.kind === 'fault';
    if (result.kind === 'fault') {
      failures++;
      log.error({ code: result.code, detail: result.detail }, 'automatic backup failed');
    } else {
      madeAtMs = nowMs;
      bytes = result.bytes;
    }
  }

  return {
    async poll(nowMs) {
      // The machine's clock may be set back while the server runs.
      if (sinceMs > nowMs) sinceMs = nowMs;
      if (everyMs === 0 || isRunning || nowMs - sinceMs < everyMs) return;
      isRunning = true;
      sinceMs = nowMs;
      record(await make(nowMs).catch(toFault), nowMs);
      isRunning = false;
    },
    status() {
      const version = madeAtMs === null ? null : new Date(madeAtMs).toISOString();
      if (everyMs === 0) return { state: 'absent', version, detail: 'automatic backups are turned off' };
      if (isFailing) return { state: 'broken', version, detail: 'the last automatic backup failed, see the log' };
      return { state: 'ok', version, detail: version === null ? 'no automatic backup yet' : '' };
    },
    readings: [
      level('gatehouse_backups', 'Automatic backups that are kept.', () => list().length),
      level(
        'gatehouse_backup_age_seconds',
        'Age of the newest automatic backup; time since the start without one.',
        () => Math.max(0, Date.now() - (madeAtMs ?? startedAtMs)) / 1000,
      ),
      level('gatehouse_backup_bytes', 'Size of the last automatic backup since the start, 0 before it.', () => bytes),
      total('gatehouse_backup_failures_total', 'Automatic backups that failed.', () => failures),
    ],
  };
}

function toFault(error: unknown): BackupResult {
  return fault('backup_failed', messageOf(error));
}
