import { problem } from './base/problem.ts';
import { sendProblem } from './base/reply.ts';
import { versionOfInstallation } from './base/programs.ts';
import type { Clock } from './base/clock.ts';
import type { DueJournal, Journal } from './decide/journal.ts';
import { Keyring } from './decide/keyring.ts';
import { LocalReplayGuard } from './decide/replay-guard.ts';
import type { Dispatcher } from './deliver/dispatcher.ts';
import { openDoor, type Door } from './door.ts';
import { openExtractions, type OpenExtractions } from './extractions.ts';
import { makeDemoCustomer, printDemoKeys } from './first-start.ts';
import { openInstallation, type Installation } from './installation.ts';
import { createLedger, type Ledger } from './ledger.ts';
import { faultsOfMachine } from './machine-check.ts';
import { startingHandler } from './manage/starting.ts';
import { createLog, type Log } from './observe/log.ts';
import { openPolicyFile, type PolicyFile } from './pools/policy-file.ts';
import { openScorePool, type ScorePool } from './pools/score-pool.ts';
import { openJournalAndClock, openMemory } from './reload.ts';
import { createService, type Service } from './service.ts';
import { EXIT_SETTINGS, readSettings, type Settings } from './settings.ts';
import { StartFault } from './start-fault.ts';
import { stopOnSignals } from './stop-on-signals.ts';
import type { DecisionLog } from './store/decision-log.ts';
import { makeFilesPrivate } from './store/private-files.ts';
import { keyPoller, reportFaults, startUpkeep } from './upkeep.ts';
import type { VelocityMemory } from './velocity/memory.ts';
import type { TableUpkeep } from './velocity/table-thread.ts';
import { openDispatcher } from './webhooks.ts';

/** Starts everything and runs it until a signal ends it. Nothing imports this file but the command `serve`. */

export async function serve(env: NodeJS.ProcessEnv): Promise<void> {
  const startedAtMs = performance.now();
  makeFilesPrivate();
  const read = readSettings(env);
  const faults = [...(read.kind === 'faults' ? read.faults : []), ...(await faultsOfMachine(env))];
  if (read.kind === 'faults' || faults.length > 0) {
    for (const fault of faults) process.stderr.write(`gatehouse: ${fault}\n`);
    process.exitCode = EXIT_SETTINGS;
    return;
  }
  const log = createLog(read.settings.logLevel);
  for (const warning of read.warnings) log.warn(warning);
  try {
    const running = await start(read.settings, log);
    log.info({ ...running.summary, start_ms: Math.round(performance.now() - startedAtMs) }, 'serving');
    log.flush();
    stopOnSignals(running, log);
  } catch (error) {
    const exitCode = error instanceof StartFault ? error.exitCode : 1;
    process.stderr.write(`gatehouse: ${error instanceof Error ? error.message : String(error)}\n`);
    // Threads may hold LMDB open, so the process is ended here and not left to run out.
    log.flush(() => process.exit(exitCode));
  }
}

/** What the steps of a start make, each from those before it. */
interface Parts {
  readonly settings: Settings;
  readonly log: Log;
  readonly door: Door;
  readonly installation: Installation;
  readonly recovered: Recovered;
  readonly senders: Senders;
  readonly pool: ScorePool;
  readonly service: Service;
}

interface Running {
  readonly summary: Readonly<Record<string, unknown>>;
  stop(): Promise<void>;
}

/** The port comes first: a start that cannot have it makes and changes nothing. Until all is up it answers that it starts. */
async function start(settings: Settings, log: Log): Promise<Running> {
  const version = versionOfInstallation();
  const door = await takePort(settings, version, log);
  const installation = await openInstallation(settings, log);
  if (installation.isFirstStart) {
    // Printed before anything else can fail: nobody can ask for them again.
    printDemoKeys(await makeDemoCustomer(installation.store, Date.now()), door.url);
  }
  const recovered = await recover(settings, installation, log);
  const senders = openSenders(settings, installation, recovered, log);
  const pool = await startThreads(settings, installation, recovered, senders, log);
  const service = createService({ settings, installation, ...recovered, ...senders, pool, door, version, log });
  await senders.dispatcher.listens([door.address]);
  senders.extractions.listens([door.address]);
  door.lead(service.onRequest, service.onCrash);
  return run({ settings, log, door, installation, recovered, senders, pool, service });
}

async function takePort(settings: Settings, version: string, log: Log): Promise<Door> {
  const door = await openDoor(settings, startingHandler(version), (error, exchange) => {
    log.error({ err: error }, 'a request failed while the service started');
    sendProblem(exchange, problem('internal_error', 'The request failed.'), { close: true });
  });
  if (door.kind === 'fault') throw new StartFault(door.detail, door.isSetting ? EXIT_SETTINGS : 1);
  if (door.transport.name === 'node' && settings.transport === 'auto') {
    log.warn({ detail: door.transportDetail }, 'serving by node:http, which takes about two thirds of the load');
  }
  return door;
}

/** What the last run left, read back into memory. */
interface Recovered {
  readonly replay: LocalReplayGuard;
  readonly journal: Journal & DueJournal;
  readonly clock: Clock;
  readonly keyring: Keyring;
  readonly pollKeys: () => void;
  readonly policyFile: PolicyFile;
  readonly memory: VelocityMemory;
  readonly table: TableUpkeep;
  readonly decisions: DecisionLog;
  readonly ledger: Ledger;
}

async function recover(settings: Settings, { store, keyFor }: Installation, log: Log): Promise<Recovered> {
  const replay = new LocalReplayGuard(settings.replayIds, keyFor('replay-hash'));
  const { journal, clock } = openJournalAndClock(settings, replay, store.deliveries.storedUpToSequence(), log);
  const revoked = await store.apiKeys.reconcileRevocations();
  if (revoked.kind === 'fault') throw new StartFault(revoked.detail);
  if (revoked.value > 0) log.warn({ keys: revoked.value }, 'keys of a restored store were revoked again');
  const keyring = new Keyring();
  const pollKeys = keyPoller(store, keyring);
  pollKeys();
  const policies = await openPolicyFile({
    file: settings.policyFile,
    pollMs: 1_000,
    log,
    customerNumberOf: (id) => store.customers.findById(id)?.number ?? null,
  });
  if (policies.kind === 'faults') throw new StartFault(policies.faults.join('\ngatehouse: '), EXIT_SETTINGS);
  const { policyFile } = policies;
  const { memory, table } = openMemory(settings, keyFor('velocity-hash'), clock, log);
  const decisions = store.openDecisionLog();
  const ledger = createLedger(store, decisions, clock);
  return { replay, journal, clock, keyring, pollKeys, policyFile, memory, table, decisions, ledger };
}

/** What sends deliveries and what fetches for jobs. Their threads start with the first thing that they have to do. */
interface Senders {
  readonly dispatcher: Dispatcher;
  readonly extractions: OpenExtractions;
}

function openSenders(settings: Settings, { store, keyFor }: Installation, { journal }: Recovered, log: Log): Senders {
  const extractions = openExtractions({ store, settings, key: keyFor('extraction-secrets'), log });
  const dispatcher = openDispatcher({
    store,
    key: keyFor('webhook-secrets'),
    journal,
    extractionEndpoint: (id) => extractions.endpointOf(id),
    egressAllow: settings.egressAllow,
    log,
  });
  return { dispatcher, extractions };
}

/** The threads that decide and those that have something to go on with start at the same time. */
async function startThreads(
  settings: Settings,
  { layers }: Installation,
  { policyFile, memory }: Recovered,
  { dispatcher, extractions }: Senders,
  log: Log,
): Promise<ScorePool> {
  const [pool] = await Promise.all([
    openScorePool(
      settings.workers,
      { dataDir: settings.dataDir, layers: layers.initial(), policies: policyFile.initial(), velocity: memory },
      {
        onError: (error) => log.error({ err: error }, 'a score worker failed'),
        onWorkerEnded: (threadId) => layers.forgetWorker(threadId),
      },
    ),
    dispatcher.start().then(() => extractions.start(dispatcher)),
  ]);
  return pool;
}

/** In the background; `/readyz` says `starting` until it is done. */
function warm({ settings, recovered, service, log }: Parts): void {
  const touched = recovered.table.touch();
  if (!settings.warmUp) return;
  void Promise.all([service.warmUp(), touched]).then(([warmed]) => log.info(warmed, 'ready'));
}

function run(parts: Parts): Running {
  const { settings, log, door, installation, recovered, service } = parts;
  warm(parts);
  const stopUpkeep = startUpkeep({
    ...recovered,
    store: installation.store,
    dataDir: settings.dataDir,
    decide: service.decide,
    log,
  });
  return {
    summary: {
      url: door.url,
      transport: door.transport.name,
      workers: settings.workers,
      simulated_time: settings.simulatedTime,
      ...service.summary(),
    },
    async stop() {
      service.stopping();
      stopUpkeep();
      await stop(parts);
    },
  };
}

/** The order of a stop: from the port inwards, the store last. */
async function stop({ log, door, installation, recovered, senders, pool, service }: Parts): Promise<void> {
  const { ledger, journal, table, clock, policyFile } = recovered;
  door.transport.drain();
  await service.decide.drain();
  // Calls that wait for a test's end get it from the dispatcher, at the latest when its grace is over; those that wait for a
  // job get it as it stands.
  await Promise.all([senders.dispatcher.stop(), senders.extractions.stop(), service.managed.drain()]);
  reportFaults(await ledger.flush(), log);
  // Answers that were just written still have to leave the socket.
  await new Promise((done) => setTimeout(done, 100));
  journal.close();
  await pool.close();
  await service.close();
  const saved = await table.save(clock.nowMs());
  await table.close();
  if (saved.kind === 'failed') log.error({ detail: saved.detail }, 'memory could not be saved');
  await installation.layers.close();
  await policyFile.close();
  await installation.store.close();
  await installation.lock.release();
}
