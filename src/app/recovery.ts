import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { EncryptedValues } from '../cluster/store/encrypted-values.ts';
import type { Link } from '../cluster/store/link.ts';
import { ClusterVelocity } from '../cluster/velocity/cluster-velocity.ts';
import { VelocityExchange } from '../cluster/velocity/velocity-exchange.ts';
import { unreachable } from '../kernel/brand.ts';
import { describeNewer, type NewerFormat } from '../kernel/formats.ts';
import { createSimulatedClock, systemClock, type Clock } from '../kernel/clock.ts';
import { type DueJournal, type Journal, openJournal } from '../decide/journal.ts';
import { findNewerFile, idsInFolder } from '../decide/journal-read.ts';
import type { ReplayGuard } from '../local/replay-guard.ts';
import { REPLAY_KEEP_SECONDS } from '../kernel/limits.ts';
import type { Log } from '../observe/log.ts';
import type { Settings } from './settings.ts';
import type { OutcomeMemory } from '../ports/velocity.ts';
import { LocalVelocity } from '../velocity/local-velocity.ts';
import { createVelocityMemory, type ExchangeSeed, type VelocityMemory } from '../velocity/memory.ts';
import { findNewerSnapshot, loadSnapshot } from '../velocity/snapshot.ts';
import { StreamMarks } from '../velocity/stream-marks.ts';
import { openTableMaintenance } from '../velocity/table-thread.ts';
import type { OpenVelocity } from './service-parts.ts';
import type { Cluster } from './wire-cluster.ts';

/** Recovery from `hot/` at a start: accepted request ids, and the velocity store. */

/**
 * Returns why the files of a newer build keep this one from starting; null if nothing does. Reads only. Failure direction: closed. A file
 * that cannot be read at all is not newer; the step that reads it reports it.
 */
export function newerFilesFault(dataDir: string): string | null {
  const newer =
    unlessUnreadable(() => findNewerFile(journalFolder(dataDir))) ??
    unlessUnreadable(() => firstOf(cellFolders(dataDir), ({ folder }) => findNewerFile(folder))) ??
    unlessUnreadable(() => findNewerSnapshot(velocityFolder(dataDir)));
  return newer === null ? null : describeNewer(newer);
}

function unlessUnreadable(find: () => NewerFormat | null): NewerFormat | null {
  try {
    return find();
  } catch {
    return null;
  }
}

function journalFolder(dataDir: string): string {
  return join(dataDir, 'hot', 'replay');
}

/** The journal of a cell. */
export function cellJournalFolder(dataDir: string, cell: number): string {
  return join(journalFolder(dataDir), `cell-${cell}`);
}

/** Returns the journals of cells, also of those that this start does not have. */
function cellFolders(dataDir: string): { readonly cell: number; readonly folder: string }[] {
  const folder = journalFolder(dataDir);
  const cells = existsSync(folder) ? readdirSync(folder).map((name) => Number(/^cell-(\d{1,2})$/.exec(name)?.[1])) : [];
  return cells.filter((cell) => cell >= 0).map((cell) => ({ cell, folder: cellJournalFolder(dataDir, cell) }));
}

function firstOf<T, R>(all: readonly T[], find: (one: T) => R | null): R | null {
  for (const one of all) {
    const found = find(one);
    if (found !== null) return found;
  }
  return null;
}

function velocityFolder(dataDir: string): string {
  return join(dataDir, 'hot', 'velocity');
}

/** Reads the journal back; the virtual clock continues where it stopped. `dueStoredUpTo` is the store's mark of stored outbox entries. */
export function openJournalAndClock(
  settings: Settings,
  replay: ReplayGuard,
  dueStoredUpTo: number,
  log: Log,
): { journal: Journal & DueJournal; clock: Clock } {
  const folder = journalFolder(settings.dataDir);
  const nowSeconds = settings.simulatedTime ? 0 : Math.floor(Date.now() / 1000);
  const startedAtMs = performance.now();
  const restorer = replay.restorer();
  const ofCells = cellFolders(settings.dataDir);
  const cellIds = ofCells.reduce((ids, one) => ids + idsInFolder(one.folder), 0);
  const { journal, read } = openJournal(
    folder,
    nowSeconds,
    (entry) => restorer.add(entry),
    (ids) => restorer.reserve(ids + cellIds),
    dueStoredUpTo,
  );
  for (const { cell, folder: cellFolder } of ofCells) {
    const ofCell = openJournal(cellFolder, nowSeconds, (entry) => restorer.add(entry));
    ofCell.journal.close();
    if (ofCell.read.damagedFiles > 0)
      log.warn({ cell, files: ofCell.read.damagedFiles }, 'journal truncated at corrupt block');
    // A start with more cells has left it, and its ids have expired.
    if (cell >= settings.cells && ofCell.read.entries === 0) rmSync(cellFolder, { recursive: true });
  }
  restorer.done();
  if (read.damagedFiles > 0) log.warn({ files: read.damagedFiles }, 'journal truncated at corrupt block');
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

/**
 * Loads the velocity store from the last snapshot. Events after that snapshot, at most 30 s, are lost on a node that works alone; on a node
 * of a cluster they are in the streams.
 */
export function openMemory(
  settings: Settings,
  keyFor: (purpose: string) => Uint8Array,
  clock: Clock,
  cluster: Pick<Cluster, 'link' | 'valuesKey'> | null,
  log: Log,
): OpenVelocity {
  const folder = velocityFolder(settings.dataDir);
  const memory = createVelocityMemory(settings.velocityMb * 1_048_576, keyFor('velocity-hash'));
  const startedAtMs = performance.now();
  const loaded = loadSnapshot(folder, memory, clock.nowMs());
  const ms = Math.round(performance.now() - startedAtMs);
  switch (loaded.kind) {
    case 'absent':
      break;
    case 'loaded':
      log.info(
        { records: loaded.records, skipped: loaded.skipped, age_s: loaded.ageSeconds, ms },
        'velocity snapshot loaded',
      );
      break;
    case 'set_aside':
      log.warn(
        { detail: loaded.detail, file: loaded.file },
        'velocity snapshot quarantined; starting with an empty velocity store',
      );
      break;
    case 'failed':
      log.error({ detail: loaded.detail }, 'velocity snapshot cannot be read; starting with an empty velocity store');
      break;
    default:
      unreachable(loaded);
  }
  const exchange = settings.cluster && cluster && exchangeSeed(settings.cluster, cluster.valuesKey);
  const marks = new StreamMarks(memory.marks);
  if (exchange !== null) marks.begin(randomBytes(8).readBigUInt64LE() | 1n);
  return {
    memory,
    exchange,
    table: openTableMaintenance(folder, memory, exchange),
    ...openOutcomes(memory, exchange, cluster?.link ?? null, log),
  };
}

function exchangeSeed({ urls, user, password }: NonNullable<Settings['cluster']>, valuesKey: Uint8Array): ExchangeSeed {
  return { address: { urls, user, password }, valuesKey };
}

/** The main thread's instance over the table: outcomes show at once in the decisions of all workers. */
function openOutcomes(
  memory: VelocityMemory,
  seed: ExchangeSeed | null,
  link: Link | null,
  log: Log,
): { readonly outcomes: OutcomeMemory; close(): Promise<void> } {
  const local = new LocalVelocity(memory);
  if (seed === null || link === null) return { outcomes: local, close: () => Promise.resolve() };
  const exchange = new VelocityExchange({ memory, values: new EncryptedValues(seed.valuesKey), link });
  const endWatch = watchUnreadable(new StreamMarks(memory.marks), log);
  return {
    outcomes: new ClusterVelocity(memory, local, exchange),
    async close() {
      endWatch();
      await exchange.flush();
      exchange.close();
    },
  };
}

/** Choice: an operator sees during an upgrade that counts lack events, without a line for each. */
const WATCH_MS = 1_000;
const LOGGED_MS = 60_000;

/** Logs, at most once a minute, that events of other nodes cannot be read. Returns a function that ends it. */
function watchUnreadable(marks: StreamMarks, log: Log): () => void {
  let logged = 0;
  let loggedMs = Number.NEGATIVE_INFINITY;
  const timer = setInterval(() => {
    const entries = marks.count('unreadable');
    if (entries === logged || performance.now() - loggedMs < LOGGED_MS) return;
    log.warn(
      { entries: entries - logged },
      'events of nodes of another version, or with another master key, are not counted here',
    );
    logged = entries;
    loggedMs = performance.now();
  }, WATCH_MS).unref();
  return () => clearInterval(timer);
}
