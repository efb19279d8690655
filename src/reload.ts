import { join } from 'node:path';
import { unreachable } from './base/brand.ts';
import { createSimulatedClock, systemClock, type Clock } from './base/clock.ts';
import { type DueJournal, type Journal, openJournal } from './decide/journal.ts';
import type { LocalReplayGuard } from './decide/replay-guard.ts';
import { REPLAY_KEEP_SECONDS } from './limits.ts';
import type { Log } from './observe/log.ts';
import type { Settings } from './settings.ts';
import { createVelocityMemory, type VelocityMemory } from './velocity/memory.ts';
import { loadSnapshot } from './velocity/snapshot.ts';
import { openTableUpkeep, type TableUpkeep } from './velocity/table-thread.ts';

/** What a start reads back from `hot/`: the request ids that were accepted, and what is remembered of velocity. */

/**
 * Reads the journal back; simulated time goes on where it stood. `dueStoredUpTo` is the store's mark of what is owed.
 */
export function openJournalAndClock(
  settings: Settings,
  replay: LocalReplayGuard,
  dueStoredUpTo: number,
  log: Log,
): { journal: Journal & DueJournal; clock: Clock } {
  const folder = join(settings.dataDir, 'hot', 'replay');
  const nowSeconds = settings.simulatedTime ? 0 : Math.floor(Date.now() / 1000);
  const startedAtMs = performance.now();
  const restorer = replay.restorer();
  const { journal, read } = openJournal(
    folder,
    nowSeconds,
    (entry) => restorer.add(entry),
    (ids) => restorer.reserve(ids),
    dueStoredUpTo,
  );
  restorer.done();
  if (read.damagedFiles > 0) log.warn({ files: read.damagedFiles }, 'journal files were read up to their damage');
  if (read.entries > 0) {
    log.info(
      { ids: read.entries, ms: Math.round(performance.now() - startedAtMs) },
      'request ids read from the journal',
    );
  }
  if (!settings.simulatedTime) return { journal, clock: systemClock };
  log.warn('SIMULATED TIME: the clock follows X-SVC-Ts. For demos, tests and replays only, never for real traffic.');
  const clock = createSimulatedClock((read.newestExpirySeconds - REPLAY_KEEP_SECONDS) * 1000);
  return { journal, clock };
}

/** Memory as the last snapshot has it; what came after that snapshot, 30 s at most, is forgotten. */
export function openMemory(
  settings: Settings,
  hashKey: Uint8Array,
  clock: Clock,
  log: Log,
): { memory: VelocityMemory; table: TableUpkeep } {
  const folder = join(settings.dataDir, 'hot', 'velocity');
  const memory = createVelocityMemory(settings.velocityMb * 1_048_576, hashKey);
  const startedAtMs = performance.now();
  const loaded = loadSnapshot(folder, memory, clock.nowMs());
  const ms = Math.round(performance.now() - startedAtMs);
  switch (loaded.kind) {
    case 'absent':
      break;
    case 'loaded':
      log.info({ records: loaded.records, skipped: loaded.skipped, age_s: loaded.ageSeconds, ms }, 'memory loaded');
      break;
    case 'set_aside':
      log.warn(
        { detail: loaded.detail, file: loaded.file },
        'the snapshot of memory was set aside; memory begins anew',
      );
      break;
    case 'failed':
      log.error({ detail: loaded.detail }, 'the snapshot of memory cannot be read; memory begins anew');
      break;
    default:
      unreachable(loaded);
  }
  return { memory, table: openTableUpkeep(folder, memory) };
}
