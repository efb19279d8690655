import type { Clock } from './base/clock.ts';
import type { Journal } from './decide/journal.ts';
import type { Keyring } from './decide/keyring.ts';
import type { DecidePipeline } from './decide/pipeline.ts';
import type { ReplayGuard } from './decide/replay-guard.ts';
import { BATCH_STUCK_MS } from './limits.ts';
import type { Log } from './observe/log.ts';
import type { Ledger } from './ledger.ts';
import { rotateBackups } from './store/backup.ts';
import type { DecisionLog } from './store/decision-log.ts';
import type { StoreFault } from './store/durable.ts';
import type { Store } from './store/open-store.ts';
import type { TableUpkeep } from './velocity/table-thread.ts';

/**
 * What the server does by the clock, beside answering: polls keys, sweeps ids, writes what decisions leave behind, watches its
 * workers and its journal, backs up.
 */

/** Choice: well inside the second within which a key made by the command line must count. */
const KEYS_POLL_MS = 400;
/** Choice: the whole replay table is swept in 51 s. */
const SWEEP_MS = 50;
const WATCH_MS = 1_000;
/** Choice: what a process that is killed may lose of the log; at 40,000 decisions a second some 2 MB wait. */
const FLUSH_MS = 250;
const PRUNE_MS = 1_000;
/** Choice: 1,000,000 rows that have run out are gone within an hour. */
const DELIVERIES_PRUNE_ROWS = 500;
/** Choice: what a process that is killed forgets of velocity. */
const SNAPSHOT_MS = 30_000;
const BACKUP_MS = 3_600_000;
const BACKUPS_KEPT = 3;

export interface UpkeepParts {
  readonly store: Store;
  readonly dataDir: string;
  readonly replay: ReplayGuard;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly decide: DecidePipeline;
  readonly ledger: Ledger;
  readonly decisions: Pick<DecisionLog, 'broken'>;
  readonly table: Pick<TableUpkeep, 'save'>;
  readonly pollKeys: () => void;
  readonly log: Log;
}

/** Starts all of it; what it gives ends all of it. */
export function startUpkeep({
  store,
  dataDir,
  replay,
  journal,
  clock,
  decide,
  ledger,
  decisions,
  table,
  pollKeys,
  log,
}: UpkeepParts): () => void {
  const timers = [
    setInterval(pollKeys, KEYS_POLL_MS),
    setInterval(() => sweep(replay, journal, clock), SWEEP_MS),
    setInterval(
      once(() => ledger.flush(), log),
      FLUSH_MS,
    ),
    setInterval(
      once(() => ledger.prune(), log),
      PRUNE_MS,
    ),
    setInterval(
      once(() => pruneDeliveries(store), log),
      PRUNE_MS,
    ),
    setInterval(snapshotSaver(table, clock, log), SNAPSHOT_MS),
    setInterval(
      watcher(
        () => journal.broken,
        'request ids cannot be written; decisions are refused',
        'request ids are written again',
        log,
      ),
      WATCH_MS,
    ),
    setInterval(
      watcher(() => decisions.broken, 'decisions cannot be logged; they go on', 'decisions are logged again', log),
      WATCH_MS,
    ),
    setInterval(stuckWatcher(decide, log), WATCH_MS),
    setInterval(() => void backUp(store, dataDir, log), BACKUP_MS),
  ];
  return () => {
    for (const timer of timers) clearInterval(timer);
  };
}

/** Loads the keys when they changed; another process may have changed them. */
export function keyPoller(store: Store, keyring: Keyring): () => void {
  let seen = -1;
  return () => {
    store.resetRead();
    const version = store.apiKeys.version();
    if (version === seen) return;
    seen = version;
    keyring.load(store.apiKeys.loadAll());
  };
}

function sweep(replay: ReplayGuard, journal: Journal, clock: Clock): void {
  const nowSeconds = Math.floor(clock.nowMs() / 1000);
  replay.sweep(nowSeconds);
  journal.prune(nowSeconds);
  void journal.tend();
}

/** A round that is still running is not begun again. A store that takes no write any more ends the process. */
function once(round: () => Promise<readonly StoreFault[]>, log: Log): () => void {
  let running = false;
  return () => {
    if (running) return;
    running = true;
    void round()
      .then((faults) => reportFaults(faults, log))
      .catch((error: unknown) => log.error({ err: error }, 'a round of the upkeep failed'))
      .finally(() => (running = false));
  };
}

export function reportFaults(faults: readonly StoreFault[], log: Log): void {
  for (const { code, detail } of faults) {
    if (code !== 'store_stuck') {
      log.error({ code, detail }, 'the store refused a write');
      continue;
    }
    log.fatal('the store is stuck; the process ends, so that its supervisor starts it again');
    log.flush(() => process.kill(process.pid, 'SIGKILL'));
  }
}

/** Their age is real time's, whatever the service's clock says. */
async function pruneDeliveries({ deliveries }: Store): Promise<readonly StoreFault[]> {
  const pruned = await deliveries.prune(Date.now(), DELIVERIES_PRUNE_ROWS);
  return pruned.kind === 'fault' ? [pruned] : [];
}

/** Says once when snapshots fail and once when they are saved again. */
function snapshotSaver(table: Pick<TableUpkeep, 'save'>, clock: Clock, log: Log): () => void {
  let failing = false;
  return () =>
    void table.save(clock.nowMs()).then((saved) => {
      if (saved.kind === 'failed' && !failing) log.error({ detail: saved.detail }, 'memory cannot be saved');
      if (saved.kind === 'saved' && failing) log.info('memory is saved again');
      failing = saved.kind === 'failed';
    });
}

/** Says once when something breaks and once when it is whole again. */
function watcher(broken: () => string | null, breaks: string, heals: string, log: Log): () => void {
  let wasBroken = false;
  return () => {
    const detail = broken();
    if ((detail !== null) === wasBroken) return;
    wasBroken = detail !== null;
    if (detail === null) log.info(heals);
    else log.error({ detail }, breaks);
  };
}

/**
 * A worker that is stuck cannot be ended without risk to the process, so the process ends and its supervisor starts it again. It
 * takes two rounds: where the whole process stood still, the first finds old batches, and their answers are heard before the second.
 */
function stuckWatcher(decide: Pick<DecidePipeline, 'oldestInFlightMs'>, log: Log): () => void {
  let rounds = 0;
  return () => {
    rounds = decide.oldestInFlightMs(performance.now()) < BATCH_STUCK_MS ? 0 : rounds + 1;
    if (rounds < 2) return;
    log.fatal('a score worker is stuck; the process ends, so that its supervisor starts it again');
    log.flush(() => process.kill(process.pid, 'SIGKILL'));
  };
}

async function backUp(store: Store, dataDir: string, log: Log): Promise<void> {
  const result = await rotateBackups(store, dataDir, BACKUPS_KEPT, Date.now());
  if (result.kind === 'fault') log.error({ code: result.code, detail: result.detail }, 'automatic backup failed');
}
