import { endProcess } from '../kernel/end-process.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Journal } from '../decide/journal.ts';
import type { EndedKey, KeyCache } from '../auth/key-cache.ts';
import type { DecidePipeline } from '../decide/pipeline.ts';
import type { ReplayGuard } from '../local/replay-guard.ts';
import { BATCH_STUCK_MS } from '../kernel/limits.ts';
import type { Log } from '../observe/log.ts';
import type { AutomaticBackups } from './automatic-backups.ts';
import type { DecisionWriter } from './decision-writer.ts';
import type { DecisionLog } from '../history/decision-log.ts';
import type { StoreFault } from '../state/tables/durable.ts';
import { type ApiKey, isKeyOver } from '../state/tables/key-table.ts';
import type { Store } from '../state/feed/open-store.ts';
import type { TableMaintenance } from '../velocity/table-thread.ts';

/**
 * Periodic maintenance of the server: polls keys, sweeps ids, writes pending decision records, watches its workers and its journal, makes
 * backups.
 */

/** Choice: well within the second after which a key created by the command line must be accepted. */
const KEYS_POLL_MS = 400;
/** Choice: sweeps the whole replay table in 51 s. */
const SWEEP_MS = 50;
const WATCH_MS = 1_000;
/** Choice: how much of the log a killed process may lose; at 40,000 decisions a second some 2 MB are pending. */
const FLUSH_MS = 250;
const PRUNE_MS = 1_000;
/** Choice: removes 1,000,000 expired rows within an hour. */
const DELIVERIES_PRUNE_ROWS = 500;
/** Choice: how much of the velocity store a killed process may lose. */
const SNAPSHOT_MS = 30_000;
/** Choice: a small part of the shortest interval between automatic backups, one minute. */
const BACKUP_POLL_MS = 5_000;

export interface MaintenanceParts {
  readonly store: Store;
  readonly backups: Pick<AutomaticBackups, 'poll'>;
  readonly replay: ReplayGuard;
  readonly journal: Journal;
  readonly clock: Clock;
  /** Null on a node that does not decide. */
  readonly decide: Pick<DecidePipeline, 'oldestInFlightMs'> | null;
  readonly decisionSink: DecisionWriter;
  readonly decisions: Pick<DecisionLog, 'broken'>;
  /** Null on a node without a velocity store. */
  readonly velocity: { readonly table: Pick<TableMaintenance, 'save'> } | null;
  readonly pollKeys: () => void;
  readonly log: Log;
}

/** Starts all maintenance tasks; returns a function that stops them. */
export function startMaintenance({
  store,
  backups,
  replay,
  journal,
  clock,
  decide,
  decisionSink,
  decisions,
  velocity,
  pollKeys,
  log,
}: MaintenanceParts): () => void {
  const timers = [
    setInterval(pollKeys, KEYS_POLL_MS),
    setInterval(() => sweep(replay, journal, clock), SWEEP_MS),
    setInterval(
      once(() => decisionSink.flush(), log),
      FLUSH_MS,
    ),
    setInterval(
      once(() => decisionSink.prune(), log),
      PRUNE_MS,
    ),
    setInterval(
      once(() => pruneDeliveries(store), log),
      PRUNE_MS,
    ),
    ...(velocity === null ? [] : [setInterval(snapshotSaver(velocity.table, clock, log), SNAPSHOT_MS)]),
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
      watcher(
        () => decisions.broken,
        'decisions cannot be logged; decisions continue',
        'decisions are logged again',
        log,
      ),
      WATCH_MS,
    ),
    ...(decide === null ? [] : [setInterval(stuckWatcher(decide, log), WATCH_MS)]),
    setInterval(() => void backups.poll(Date.now()), BACKUP_POLL_MS),
  ];
  return () => {
    for (const timer of timers) clearInterval(timer);
  };
}

/**
 * Loads the keys when they have changed, or when one has expired; another process may have changed them. A key of the revocation file is
 * never valid, whatever the table of keys says of it: changes that are applied again after a restore create it before they revoke it.
 */
export function keyPoller(
  store: Pick<Store, 'resetRead' | 'revocations' | 'apiKeys' | 'customers'>,
  keyCache: Pick<KeyCache, 'load'>,
  nowMs: () => number = Date.now,
): () => void {
  let seen = -1;
  let valid: ReadonlySet<string> = new Set();
  /** When the next of the loaded keys expires, Unix seconds. */
  let expirySeconds = Infinity;
  return () => {
    store.resetRead();
    const version = store.apiKeys.version();
    const nowSeconds = nowMs() / 1000;
    if (version === seen && nowSeconds < expirySeconds) return;
    const suspended = store.customers.suspended();
    const all = store.apiKeys.loadAll();
    const keys = all.filter((key) => !isKeyOver(key, nowSeconds) && !suspended.has(key.customer));
    // The file may have 8 MB, and only a key that was not valid before can be in it.
    const revoked = keys.every(({ hash }) => valid.has(hash)) ? null : readRevoked(store, seen >= 0);
    // Read again at the next poll: until then no key is added.
    if (revoked === 'unreadable') return;
    const left = revoked === null ? keys : keys.filter(({ hash }) => !revoked.has(hash));
    valid = new Set(left.map(({ hash }) => hash));
    keyCache.load(left, endedKeys(all, nowSeconds));
    expirySeconds = Math.min(...left.map(({ expiresAtSeconds }) => expiresAtSeconds ?? Infinity));
    seen = version;
  };
}

/** Returns the keys that are over, with the reason. A key that was revoked is not one that expired, whichever came first. */
function endedKeys(keys: readonly ApiKey[], nowSeconds: number): readonly EndedKey[] {
  return keys
    .filter((key) => isKeyOver(key, nowSeconds))
    .map(({ hash, kind, revokedAtSeconds }) => ({
      hash,
      kind,
      end: revokedAtSeconds === null ? 'expired' : 'revoked',
    }));
}

/** A file that cannot be read ends a start, and is read again later while the server runs. */
function readRevoked(
  { revocations }: Pick<Store, 'revocations'>,
  isRunning: boolean,
): ReturnType<Store['revocations']['read']> | 'unreadable' {
  try {
    return revocations.read();
  } catch (error) {
    if (!isRunning) throw error;
    return 'unreadable';
  }
}

function sweep(replay: ReplayGuard, journal: Journal, clock: Clock): void {
  const nowSeconds = Math.floor(clock.nowMs() / 1000);
  journal.prune(replay.sweep(nowSeconds));
  void journal.tend();
}

/** Never runs a round while the previous one is running. If the store is stuck, the process ends. */
function once(round: () => Promise<readonly StoreFault[]>, log: Log): () => void {
  let running = false;
  return () => {
    if (running) return;
    running = true;
    void round()
      .then((faults) => reportFaults(faults, log))
      .catch((error: unknown) => log.error({ err: error }, 'maintenance round failed'))
      .finally(() => (running = false));
  };
}

export function reportFaults(faults: readonly StoreFault[], log: Log): void {
  for (const { code, detail } of faults) {
    if (code !== 'store_stuck') {
      log.error({ code, detail }, 'the store refused a write');
      continue;
    }
    log.fatal('the store is stuck; exiting for a restart by the supervisor');
    log.flush(endProcess);
  }
}

/** Removes expired deliveries. Their age is measured in real time, independent of the service's clock. */
async function pruneDeliveries({ deliveries }: Store): Promise<readonly StoreFault[]> {
  const pruned = await deliveries.prune(Date.now(), DELIVERIES_PRUNE_ROWS);
  return pruned.kind === 'fault' ? [pruned] : [];
}

/** Logs once when snapshots fail and once when they work again. */
function snapshotSaver(table: Pick<TableMaintenance, 'save'>, clock: Clock, log: Log): () => void {
  let failing = false;
  return () =>
    void table.save(clock.nowMs()).then((saved) => {
      if (saved.kind === 'failed' && !failing) log.error({ detail: saved.detail }, 'velocity snapshot cannot be saved');
      if (saved.kind === 'saved' && failing) log.info('velocity snapshots are saved again');
      failing = saved.kind === 'failed';
    });
}

/** Logs once when something breaks and once when it has recovered. */
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
 * A stuck worker cannot be terminated without risk to the process, so the process exits and its supervisor restarts it. Requires two
 * rounds: if the whole process was suspended, the first round finds old batches, and their answers are handled before the second.
 */
function stuckWatcher(decide: Pick<DecidePipeline, 'oldestInFlightMs'>, log: Log): () => void {
  let rounds = 0;
  return () => {
    rounds = decide.oldestInFlightMs(performance.now()) < BATCH_STUCK_MS ? 0 : rounds + 1;
    if (rounds < 2) return;
    log.fatal('a score worker is stuck; exiting for a restart by the supervisor');
    log.flush(endProcess);
  };
}
