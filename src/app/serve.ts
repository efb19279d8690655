import { setTimeout as sleep } from 'node:timers/promises';
import { problem } from '../contract/problem.ts';
import { sendProblem } from '../http/reply.ts';
import { usableProcessors } from '../kernel/processors.ts';
import { versionOfInstallation } from '../kernel/programs.ts';
import { BACKUPS_KEPT, DASHBOARD_CONNECTIONS_MAX, DASHBOARD_SOURCE_CONNECTIONS_MAX } from '../kernel/limits.ts';
import type { Dispatcher } from '../webhooks/dispatcher.ts';
import { type AutomaticBackups, createAutomaticBackups } from './automatic-backups.ts';
import { DataFeeds } from './data-feeds.ts';
import { type ControlServer, openControlServer } from './control-server.ts';
import { listenAddressesOf, openListener, type Listener } from './open-listener.ts';
import { CONNECTORS_WITH_BASE, openExtractionService, type OpenExtractions } from './wire-extractions.ts';
import { makeDemoCustomer, printDemoKeys } from './first-start.ts';
import { scoreSmallBatches } from './inline-scorer.ts';
import { openInstallation, type Installation } from './installation.ts';
import { completeDeletions } from './pending-deletions.ts';
import { faultsOfMachine } from './machine-check.ts';
import { startingHandler } from '../api/starting.ts';
import { lastRequests } from '../http/last-requests.ts';
import type { TransportOptions } from '../http/transport.ts';
import { createLog, type Log } from '../observe/log.ts';
import { openScorePool } from '../frames/score-pool.ts';
import { newerFilesFault } from './recovery.ts';
import { hasRole, undoneWork } from './roles.ts';
import type { Cells } from './cells.ts';
import type { Deciding } from './service-parts.ts';
import { openCells, scoreData } from './wire-cells.ts';
import type { Handler } from '../http/exchange.ts';
import { createService, type Service } from './service.ts';
import { EXIT_SETTINGS, readSettings, type Settings } from './settings.ts';
import { StartFault } from './start-fault.ts';
import { stopOnSignals } from './stop-on-signals.ts';
import type { StoreFault } from '../state/tables/durable.ts';
import { hashOfKey } from '../state/tables/key-table.ts';
import { listBackupTimes, rotateBackups } from '../state/repair/backup.ts';
import { makeFilesPrivate } from '../state/repair/private-files.ts';
import { reportFaults, startMaintenance } from './maintenance.ts';
import { linkCreator, openDashboard, signInLink } from './dashboard-state.ts';
import { followJudgement } from '../state/feed/feedback.ts';
import { type Cluster, openCluster } from './wire-cluster.ts';
import { startWatchdog } from './watchdog.ts';
import { openDispatcher, openNotices, ownDeliveries } from './wire-webhooks.ts';
import { openLookUps } from './wire-look-ups.ts';
import { startWatches } from './wire-watches.ts';
import { SharedWork } from './wire-work.ts';
import type { ClusterDeliveries } from '../cluster/reads/cluster-deliveries.ts';
import { followWebhookChange } from '../webhooks/follow-changes.ts';
import { recover, type Recovered } from './recovered-state.ts';

/** Starts all parts and runs them until a signal ends the process. Imported only by the command `serve`. */

export async function serve(env: NodeJS.ProcessEnv): Promise<void> {
  const startedAtMs = performance.now();
  makeFilesPrivate();
  const read = readSettings(env, CONNECTORS_WITH_BASE);
  const faults = [...(read.kind === 'faults' ? read.faults : []), ...(await faultsOfMachine(env))];
  if (read.kind === 'faults' || faults.length > 0) {
    for (const fault of faults) process.stderr.write(`gatehouse: ${fault}\n`);
    process.exitCode = EXIT_SETTINGS;
    return;
  }
  const log = createLog(read.settings.logLevel);
  for (const warning of read.warnings) log.warn(warning);
  if (process.pid === 1) log.warn('this is process 1, which the system does not let end after a fault; use an init');
  try {
    const running = await start(read.settings, log);
    // First, because a supervisor that waits for the line may send a signal at once.
    stopOnSignals(running, log);
    log.info({ ...running.summary, start_ms: Math.round(performance.now() - startedAtMs) }, 'serving');
    log.flush();
    startWatchdog(read.settings.logLevel !== 'silent');
  } catch (error) {
    const exitCode = error instanceof StartFault ? error.exitCode : 1;
    process.stderr.write(`gatehouse: ${error instanceof Error ? error.message : String(error)}\n`);
    // Threads may hold LMDB open, so the process exits explicitly.
    log.flush(() => process.exit(exitCode));
  }
}

/** The results of the steps of a start, each built from the earlier ones. */
interface Parts {
  readonly settings: Settings;
  readonly log: Log;
  readonly listener: Listener;
  readonly dashboardListener: Listener | null;
  readonly installation: Installation;
  /** Null on a node that works alone. */
  readonly cluster: Cluster | null;
  readonly recovered: Recovered;
  readonly senders: Senders;
  readonly deciding: Deciding | null;
  readonly service: Service;
  /** Takes changes of the command line. */
  readonly control: ControlServer;
  /** Null if the main thread decides alone. */
  readonly cells: Cells | null;
  readonly backups: AutomaticBackups;
  readonly feeds: DataFeeds;
}

interface Running {
  readonly summary: Readonly<Record<string, unknown>>;
  stop(): Promise<void>;
}

/**
 * Opens the port first: if that fails, the start creates and changes nothing. Until all parts are up, requests get the response that the
 * service is starting.
 */
async function start(settings: Settings, log: Log): Promise<Running> {
  const version = versionOfInstallation();
  const listener = await takePort(settings, version, log);
  try {
    return await startBehind(listener, settings, version, log);
  } catch (error) {
    await listener.transport.close?.();
    throw error;
  }
}

async function startBehind(listener: Listener, settings: Settings, version: string, log: Log): Promise<Running> {
  const dashboardListener = await takeDashboardPort(settings, listener, version, log);
  const ownDashboard = openDashboard(settings, dashboardListener ?? listener);
  if (ownDashboard?.guard.isUsable === false) {
    log.warn('nobody can sign in to the dashboard on plain HTTP; set GATEHOUSE_TLS_CERT or GATEHOUSE_PUBLIC_URL');
  }
  const newer = newerFilesFault(settings.dataDir);
  if (newer !== null) throw new StartFault(newer, EXIT_SETTINGS);
  const installation = await openInstallation(settings, log);
  // Before anything has rows in memory. The command refuses in a cluster.
  if (settings.cluster === null) await completeDeletions(installation.store, Date.now(), log);
  if (installation.isFirstStart) {
    // Printed before anything else can fail: the keys cannot be shown again.
    const keys = await makeDemoCustomer(installation.store, Date.now());
    const link = ownDashboard === null ? null : signInLink(ownDashboard, hashOfKey(keys.secretKey), Date.now());
    printDemoKeys(keys, listener.url, link);
  }
  const cluster = await openCluster(
    settings,
    installation,
    { version, url: listener.url, startedAtMs: Date.now() },
    log,
  );
  const share = (ownDashboard && cluster?.nodes.signIns(ownDashboard)) ?? null;
  const dashboard = ownDashboard && { ...ownDashboard, share };
  const recovered = await recover(settings, installation, cluster, log);
  const senders = openSenders(settings, installation, cluster, recovered, log);
  const deciding = await startThreads(settings, installation, recovered, senders, log);
  const backups = openBackups(settings, installation, log);
  const feeds = new DataFeeds(settings, log);
  const opened = { settings, log, listener, dashboardListener, installation, cluster, backups, feeds };
  const parts = { ...opened, recovered, senders, deciding };
  const cellCount = listener.transport.lead === undefined ? 0 : settings.cells;
  const cellWords = Array.from({ length: cellCount }, () => new Int32Array(new SharedArrayBuffer(4)));
  const service = createService({ ...parts, cellWords, ...recovered, ...senders, dashboard, version });
  const addresses = listenAddressesOf(listener, dashboardListener);
  await senders.dispatcher.listens(addresses);
  senders.extractions.listens(addresses);
  const { turns } = installation.store;
  // A command ends when its change counts on all nodes, as a call of the API does.
  const changes = cluster?.nodes.spread.over(installation.store.changes) ?? installation.store.changes;
  const onFault = (fault: StoreFault): void => reportFaults([fault], log);
  const createLink = linkCreator(dashboard, recovered.keyCache);
  const control = await openControlServer({ dataDir: settings.dataDir, changes, turns, log, onFault, createLink });
  cluster?.nodes.start();
  const cells = openCells({ settings, listener, installation, recovered, deciding, service, cellWords });
  const behindCells = (handler: Handler): Handler => cells?.recordFirst(handler) ?? handler;
  listener.lead(behindCells(service.onRequest), service.onCrash);
  if (service.onDashboardRequest !== null)
    dashboardListener?.lead(behindCells(service.onDashboardRequest), service.onCrash);
  return run({ ...parts, service, control, cells });
}

async function takePort(settings: Settings, version: string, log: Log): Promise<Listener> {
  const listener = await openStarting(settings, version, log, 'GATEHOUSE_PORT');
  if (listener.transport.name === 'node' && settings.cells > 1) {
    log.warn('GATEHOUSE_CELLS has no effect with node:http: the main thread serves alone');
  }
  if (listener.transport.name === 'node' && settings.transport === 'auto') {
    log.warn(
      { detail: listener.transportDetail },
      'serving with node:http, which handles about two thirds of the load',
    );
  }
  return listener;
}

/** Opens the dashboard's own port with the transport of the service's; null if it has none. */
async function takeDashboardPort(
  settings: Settings,
  { transport }: Listener,
  version: string,
  log: Log,
): Promise<Listener | null> {
  const { isOn, port } = settings.dashboard;
  if (!isOn || port === null || !hasRole(settings.roles, 'api')) return null;
  const own = {
    ...settings,
    port,
    transport: transport.name,
    cells: 1,
    connectionsMax: Math.min(settings.connectionsMax, DASHBOARD_CONNECTIONS_MAX),
    sourceConnectionsMax: Math.min(settings.sourceConnectionsMax, DASHBOARD_SOURCE_CONNECTIONS_MAX),
  };
  return openStarting(own, version, log, 'GATEHOUSE_DASHBOARD_PORT');
}

async function openStarting(settings: Settings, version: string, log: Log, setting: string): Promise<Listener> {
  const onCrash: TransportOptions['onCrash'] = (error, exchange) => {
    log.error({ err: error }, 'a request failed while the service started');
    sendProblem(exchange, problem('internal_error', 'The request failed.'), { close: true });
  };
  const listener = await openListener(settings, startingHandler(version), onCrash, setting);
  if (listener.kind === 'open') return listener;
  throw new StartFault(listener.detail, listener.isSetting ? EXIT_SETTINGS : 1);
}

function openBackups(settings: Settings, { store }: Installation, log: Log): AutomaticBackups {
  const { dataDir, backupMinutes } = settings;
  return createAutomaticBackups({
    everyMs: backupMinutes * 60_000,
    startedAtMs: Date.now(),
    list: () => listBackupTimes(dataDir),
    make: (nowMs) => rotateBackups(store, dataDir, BACKUPS_KEPT, nowMs),
    log,
  });
}

/** The parts that send deliveries and that run extraction jobs. Their threads start with their first work. */
interface Senders {
  readonly dispatcher: Dispatcher;
  readonly extractions: OpenExtractions;
  /** What nodes share of both; null on a node that works alone. */
  readonly work: SharedWork | null;
  readonly allDeliveries: ClusterDeliveries | null;
}

function openSenders(
  settings: Settings,
  { store, feed, keyFor }: Installation,
  cluster: Cluster | null,
  { journal, policies, privacy }: Recovered,
  log: Log,
): Senders {
  const { roles } = settings;
  const work =
    cluster && settings.cluster
      ? new SharedWork({ nodes: cluster.nodes, settings: settings.cluster, roles, key: cluster.valuesKey, log })
      : null;
  const key = keyFor('extraction-secrets');
  const extractions = openExtractionService({ store, settings, key, cluster: work?.engine ?? null, log });
  const dispatcher = openDispatcher({
    store,
    key: keyFor('webhook-secrets'),
    journal,
    extractionEndpoint: (id) => extractions.endpointOf(id),
    egressAllow: settings.egressAllow,
    roles,
    mirror: work?.mirror ?? null,
    log,
  });
  feed?.onOthersCommitted((change) => {
    followWebhookChange(dispatcher, store.webhooks, change);
    followJudgement(store, change);
    privacy.follow(change);
  });
  openNotices(dispatcher, store, policies);
  const allDeliveries = work?.reads(ownDeliveries(dispatcher, store.deliveries)) ?? null;
  return { dispatcher, extractions, work, allDeliveries };
}

/** Starts the deciding threads, and at the same time those with pending work. */
async function startThreads(
  settings: Settings,
  installation: Installation,
  recovered: Recovered,
  { dispatcher, extractions, work }: Senders,
  log: Log,
): Promise<Deciding | null> {
  const [deciding] = await Promise.all([
    openDeciding(settings, installation, recovered, log),
    dispatcher.start().then(() => extractions.start(dispatcher)),
  ]);
  work?.start(dispatcher, extractions, installation.store);
  return deciding;
}

/** Starts the deciding threads; null on a node that does not decide. */
async function openDeciding(
  settings: Settings,
  { layers, keyFor }: Installation,
  { policies, velocity, clock }: Recovered,
  log: Log,
): Promise<Deciding | null> {
  if (layers === null || policies === null || velocity === null) return null;
  const { policyFile } = policies;
  const { exchange } = velocity;
  const lookUps = openLookUps(settings, clock);
  const shared = lookUps?.memory ?? null;
  const data = { ...scoreData(settings.dataDir, keyFor, layers, policyFile, velocity.memory, shared), exchange };
  const pool = await openScorePool(settings.workers, data, {
    onError: (error) => log.error({ err: error }, 'a score worker failed'),
    onWorkerEnded: (threadId) => layers.forgetWorker(threadId),
  });
  return { layers, policyFile, lookUps, pool: exchange === null ? await scoreSmallBatches(pool, data) : pool };
}

/** Warms up in the background; `/readyz` reports `starting` until it is done. */
function warm({ settings, recovered, service, log }: Parts): void {
  const caughtUp = recovered.velocity?.table.catchUp();
  if (!settings.warmUp) return;
  const touched = recovered.velocity?.table.touch();
  void Promise.all([service.warmUp(), touched, caughtUp]).then(([warmed]) => log.info(warmed ?? {}, 'ready'));
}

function run(parts: Parts): Running {
  const { settings, log, listener, installation, recovered, service, backups } = parts;
  const undone = undoneWork(settings.roles);
  if (undone !== '') log.warn({ roles: settings.roles }, undone);
  warm(parts);
  const stopMaintenance = startMaintenance({
    ...recovered,
    store: installation.store,
    backups,
    decide: service.decide,
    log,
  });
  const { extractions } = parts.senders;
  const { store } = installation;
  const stopWatches = startWatches({ settings, store, extractions, cluster: parts.cluster, log });
  if (parts.deciding !== null) parts.feeds.start();
  void recovered.privacy.start();
  return {
    summary: {
      url: listener.url,
      ...(parts.dashboardListener !== null && { dashboard_url: parts.dashboardListener.url }),
      roles: settings.roles,
      transport: listener.transport.name,
      cells: listener.transport.close === undefined ? 1 : settings.cells,
      workers: parts.deciding === null ? 0 : settings.workers,
      processors: usableProcessors(),
      simulated_time: settings.simulatedTime,
      ...service.summary(),
    },
    async stop() {
      service.stopping();
      // Awaited with the other work.
      void Promise.all([recovered.privacy.close(), recovered.personExports.close()]);
      stopMaintenance();
      parts.feeds.close();
      parts.deciding?.lookUps?.close();
      await stopWatches();
      await stop(parts);
    },
  };
}

/** Stops the parts in order: from the port inwards, the store last. */
async function stop(parts: Parts): Promise<void> {
  const { log, listener, dashboardListener, installation, cluster, recovered, senders, deciding, service, control } =
    parts;
  const { cells } = parts;
  const { decisionSink, requests, stats, journal, velocity, clock, policies } = recovered;
  listener.transport.drain();
  dashboardListener?.transport.drain();
  await control.close();
  await service.decide?.drain();
  // Calls that wait for a webhook test get its result from the dispatcher, at the latest after the grace period. Calls that wait for a job
  // get its present state.
  const ending = [senders.dispatcher.stop(), senders.extractions.stop(), service.endpoint.drain()];
  await Promise.all([...ending, recovered.privacy.close(), recovered.personExports.close()]);
  await senders.work?.close();
  await lastRequests(listener.transport);
  // Nothing is decided from now on: it might not be recorded, and its response not leave.
  await service.decide?.close();
  await cells?.stop();
  reportFaults(await decisionSink.flush(), log);
  await requests.close();
  await stats.close();
  // Gives responses that were just written time to leave the socket.
  await sleep(100);
  await listener.transport.close?.();
  journal.close();
  await deciding?.pool.close();
  await service.close();
  await velocity?.close();
  const saved = await velocity?.table.finish(clock.nowMs());
  if (saved?.kind === 'failed') log.error({ detail: saved.detail }, 'velocity snapshot could not be saved');
  await deciding?.layers.close();
  await policies?.policyFile.close();
  await policies?.policyArchive.close();
  await installation.feed?.close();
  await cluster?.close();
  await installation.store.close();
  await installation.lock.release();
}
