import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { problem } from './base/problem.ts';
import { sendProblem } from './base/reply.ts';
import { TrustedProxies } from './base/trusted-proxies.ts';
import { RULES } from './core/rules/index.ts';
import type { Journal } from './decide/journal.ts';
import { Keyring } from './decide/keyring.ts';
import { createDecidePipeline } from './decide/pipeline.ts';
import { warmUp } from './decide/warm-up.ts';
import { LocalRateWindows } from './decide/rate-windows.ts';
import { LocalReplayGuard } from './decide/replay-guard.ts';
import { visitorSource } from './decide/visitor-source.ts';
import { deliveryReadings } from './deliver/readings.ts';
import { extractRoutes, openExtractions } from './extractions.ts';
import { makeDemoCustomer, printDemoKeys } from './first-start.ts';
import { listen } from './http/listen.ts';
import { loadUws } from './http/load-uws.ts';
import { createRouter } from './http/router.ts';
import type { Transport } from './http/transport.ts';
import { createLedger } from './ledger.ts';
import { healthRoutes } from './manage/health.ts';
import { createManaged } from './manage/managed.ts';
import { Cursors } from './manage/paging.ts';
import { createRemoteBodies } from './manage/remote-bodies.ts';
import { managementRoutes } from './manage/routes.ts';
import { DecisionRecorder } from './observe/decisions.ts';
import { createLog, type Log } from './observe/log.ts';
import { createMetrics, DecisionCounts } from './observe/metrics.ts';
import { BodyPool } from './pools/body-pool.ts';
import type { LayerStatus } from './pools/layer-messages.ts';
import { openLayers } from './pools/layers.ts';
import { openPolicyFile } from './pools/policy-file.ts';
import { policyStartFaults } from './pools/policy-read.ts';
import { openScorePool } from './pools/score-pool.ts';
import { readings } from './readings.ts';
import { openJournalAndClock, openMemory } from './reload.ts';
import { EXIT_SETTINGS, readSettings, type Settings } from './settings.ts';
import { ensureUsable } from './store/ensure-usable.ts';
import { deriveKey, openMasterKey, proveMasterKey } from './store/master-key.ts';
import type { DecisionLog } from './store/decision-log.ts';
import { openStore } from './store/open-store.ts';
import { makeFilesPrivate, makePrivateBelow } from './store/private-files.ts';
import { acquireServerLock } from './store/server-lock.ts';
import { keyPoller, reportFaults, startUpkeep } from './upkeep.ts';
import { openDispatcher, webhookParts } from './webhooks.ts';

/** Wires everything and runs it until a signal ends it. Nothing imports this file but the command `serve`. */

/** A start that cannot be made: wrong settings, or a data directory that cannot be used. */
class StartFault extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Choice: a command line's first use holds the lock for some 100 ms while it makes the store. */
const LOCK_WAIT_MS = 2_000;
/** Choice: supervisors wait 10 s before they kill. */
const STOP_MS = 8_000;
/** How long after a failed read the store counts as broken. */
const STORE_FAILED_MS = 10_000;

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
    running.greet();
    stopOnSignals(running, log);
  } catch (error) {
    const exitCode = error instanceof StartFault ? error.exitCode : 1;
    process.stderr.write(`gatehouse: ${error instanceof Error ? error.message : String(error)}\n`);
    // Threads may hold LMDB open, so the process is ended here and not left to run out.
    log.flush(() => process.exit(exitCode));
  }
}

/** Settings that are well formed and cannot be had on this machine, so that they are named together with the malformed ones. */
async function faultsOfMachine(env: NodeJS.ProcessEnv): Promise<string[]> {
  const faults: string[] = [];
  const { GATEHOUSE_TLS_CERT: certFile, GATEHOUSE_TLS_KEY: keyFile } = env;
  if (certFile && keyFile) {
    try {
      createSecureContext({ cert: readFileSync(certFile), key: readFileSync(keyFile) });
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error);
      faults.push(`GATEHOUSE_TLS_CERT and GATEHOUSE_TLS_KEY cannot be used: ${detail}`);
    }
  }
  const policyFile = env['GATEHOUSE_POLICY_FILE'];
  if (policyFile) faults.push(...(await policyStartFaults(policyFile)));
  if (env['GATEHOUSE_TRANSPORT'] === 'uws') {
    const loaded = loadUws();
    if (loaded.kind === 'unavailable') faults.push(`GATEHOUSE_TRANSPORT is uws, but ${loaded.detail}`);
  }
  return faults;
}

interface Running {
  readonly summary: Readonly<Record<string, unknown>>;
  /** Prints the demo keys after a first start. */
  greet(): void;
  stop(): Promise<void>;
}

async function start(settings: Settings, log: Log): Promise<Running> {
  const { dataDir } = settings;
  const locked = await acquireServerLock(dataDir, LOCK_WAIT_MS);
  if (locked.kind === 'fault') throw new StartFault(locked.detail);
  makePrivateBelow(dataDir);
  const nowMs = Date.now();
  // Both take a while and neither needs the other.
  const [usable, layers] = await Promise.all([
    ensureUsable({ dataDir, simulated: settings.simulatedTime, repair: true, nowMs }),
    openLayers({
      geoipDir: settings.geoipDir,
      modelsDir: settings.modelsDir,
      pollMs: 1_000,
      log,
      ...(settings.geoipPackages ? {} : { packages: [] }),
    }),
  ]);
  if (usable.kind === 'fault') {
    throw new StartFault(usable.detail, usable.code === 'simulated_time_mismatch' ? EXIT_SETTINGS : 1);
  }
  for (const notice of usable.notices) {
    if (notice.code === 'first_start') log.info(notice, 'store');
    else log.warn(notice, 'store');
  }
  const opened = openStore({ dataDir, readOnly: false });
  if (opened.kind === 'fault') throw new StartFault(opened.detail);
  const { store } = opened;
  const master = openMasterKey(dataDir, settings.masterKey ?? undefined);
  if (master.kind === 'fault') throw new StartFault(master.detail, settings.masterKey === null ? 1 : EXIT_SETTINGS);
  const webhookKey = deriveKey(master.key, 'webhook-secrets');
  const unproven = proveMasterKey(dataDir, master.key, () => store.webhooks.opensWith(webhookKey));
  if (unproven !== null) throw new StartFault(unproven.detail, settings.masterKey === null ? 1 : EXIT_SETTINGS);

  const replay = new LocalReplayGuard(settings.replayIds, deriveKey(master.key, 'replay-hash'));
  const { journal, clock } = openJournalAndClock(settings, replay, store.deliveries.storedUpToSequence(), log);
  const revoked = await store.apiKeys.reconcileRevocations();
  if (revoked.kind === 'fault') throw new StartFault(revoked.detail);
  if (revoked.value > 0) log.warn({ keys: revoked.value }, 'keys of a restored store were revoked again');
  const demo = usable.firstStart ? await makeDemoCustomer(store, nowMs) : null;
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
  const { memory, table } = openMemory(settings, deriveKey(master.key, 'velocity-hash'), clock, log);
  const decisions = store.openDecisionLog();
  const ledger = createLedger(store, decisions, clock);
  const extractions = openExtractions({ store, settings, key: deriveKey(master.key, 'extraction-secrets'), log });
  const dispatcher = openDispatcher({
    store,
    key: webhookKey,
    journal,
    extractionEndpoint: (id) => extractions.endpointOf(id),
    egressAllow: settings.egressAllow,
    log,
  });
  // The threads that decide and those that have something to go on with start at the same time.
  const [pool] = await Promise.all([
    openScorePool(
      settings.workers,
      { dataDir, layers: layers.initial(), policies: policyFile.initial(), velocity: memory },
      {
        onError: (error) => log.error({ err: error }, 'a score worker failed'),
        onWorkerEnded: (threadId) => layers.forgetWorker(threadId),
      },
    ),
    dispatcher.start().then(() => extractions.start(dispatcher)),
  ]);
  const counts = new DecisionCounts(RULES.length);
  const recorder = new DecisionRecorder(counts, log);
  const rates = new LocalRateWindows();
  const trustedProxies = new TrustedProxies(settings.trustedProxies);
  const decide = createDecidePipeline({
    clock,
    keyring,
    rates,
    visitorSource: visitorSource(trustedProxies),
    replay,
    journal,
    pool,
    ledger,
    due: dispatcher,
    observer: recorder,
  });

  let own: readonly { readonly host: string; readonly port: number }[] = [];
  const bodyPool = new BodyPool({ egressAllow: settings.egressAllow, recordsMax: settings.extractRecordsMax });
  store.turns.giveWayTo(() => decide.load(performance.now()));
  const managed = createManaged({
    clock,
    keyring,
    rates,
    replay,
    journal,
    log,
    resetRead: () => store.resetRead(),
    onRefused: (code) => counts.refused(code),
    turns: store.turns,
    bodies: createRemoteBodies((reader, body, nowMs) => bodyPool.run({ reader, body, nowMs, listening: own })),
  });
  const cursors = new Cursors(deriveKey(master.key, 'cursor'));

  const layerStates = (): Record<string, LayerStatus> => ({
    store: storeStatus(journal, recorder, decisions),
    ...layers.status(),
    webhooks: dispatcher.status,
    extraction: extractions.status(),
    policy: policyFile.status(),
  });
  const isDegraded = (): boolean => {
    const states = layerStates();
    return states['geoip_city']?.state !== 'ok' || Object.values(states).some(({ state }) => state === 'broken');
  };
  const metrics = createMetrics(
    counts,
    RULES.map((rule) => rule.code),
    {
      queued: decide.queued,
      keys: () => keyring.size,
      replayIds: () => replay.size,
      readings: [
        ...readings(memory, decisions, store),
        ...deliveryReadings(dispatcher, store.deliveries, () => Date.now()),
        ...extractions.readings,
      ],
      layers: () => Object.fromEntries(Object.entries(layerStates()).map(([name, { state }]) => [name, LEVEL[state]])),
    },
  );
  let stopping = false;
  let isWarm = !settings.warmUp;
  let transport: Transport | null = null;
  let transportDetail = '';
  const router = createRouter(
    [
      decide.route,
      ...managementRoutes({
        managed,
        cursors,
        store,
        decisions,
        webhooks: webhookParts({ store, key: webhookKey, dispatcher, egressAllow: settings.egressAllow }),
      }),
      ...extractRoutes(managed, { extractions, cursors, egressAllow: settings.egressAllow }),
      ...healthRoutes({
        version: versionOf(),
        transport: () => ({ name: transport?.name ?? '', detail: transportDetail }),
        layers: layerStates,
        degraded: isDegraded,
        starting: () => !isWarm,
        stopping: () => stopping,
        closed: () => journal.broken !== null,
        metrics,
        metricsToken: settings.metricsToken,
        log,
      }),
    ],
    (code) => counts.refused(code),
  );
  const listening = await listen(settings.transport, {
    host: settings.host,
    port: settings.port,
    tls: settings.tls,
    trustedProxies,
    onRequest: router,
    onCrash(error, exchange) {
      log.error({ err: error }, 'a request failed');
      counts.refused('internal_error');
      const more = decide.route.refusalFields?.(exchange) ?? '';
      sendProblem(exchange, problem('internal_error', 'The request failed.'), { close: true, more });
    },
  }).catch((error: unknown) => {
    throw new StartFault(error instanceof Error ? error.message : String(error));
  });
  if (listening.kind === 'unavailable') {
    throw new StartFault(`GATEHOUSE_TRANSPORT is uws, but ${listening.detail}`, EXIT_SETTINGS);
  }
  ({ transport, detail: transportDetail } = listening);
  const bound = transport;
  own = [{ host: settings.host, port: bound.port }];
  await dispatcher.listens(own);
  extractions.listens(own);
  if (transport.name === 'node' && settings.transport === 'auto') {
    log.warn({ detail: transportDetail }, 'serving by node:http, which takes about two thirds of the load');
  }

  if (settings.warmUp) {
    const unread = new DecisionRecorder(new DecisionCounts(RULES.length), log.child({}, { level: 'silent' }));
    void Promise.all([table.touch(), warmUp({ clock, pool, observer: unread })]).then(([, warmed]) => {
      isWarm = true;
      log.info(warmed, 'ready');
    });
  }
  const stopUpkeep = startUpkeep({
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
  });

  const scheme = settings.tls === null ? 'http' : 'https';
  const url = `${scheme}://${settings.host.includes(':') ? `[${settings.host}]` : settings.host}:${bound.port}`;
  return {
    summary: {
      url,
      transport: bound.name,
      workers: settings.workers,
      simulated_time: settings.simulatedTime,
      degraded: isDegraded(),
      layers: Object.fromEntries(Object.entries(layerStates()).map(([name, { state }]) => [name, state])),
    },
    greet() {
      if (demo !== null) printDemoKeys(demo, url);
    },
    async stop() {
      stopping = true;
      stopUpkeep();
      bound.drain();
      await decide.drain();
      // Calls that wait for a test's end get it from the dispatcher, at the latest when its grace is over; those that wait for a
      // job get it as it stands.
      await Promise.all([dispatcher.stop(), extractions.stop(), managed.drain()]);
      reportFaults(await ledger.flush(), log);
      // Answers that were just written still have to leave the socket.
      await new Promise((done) => setTimeout(done, 100));
      journal.close();
      await pool.close();
      await bodyPool.close();
      const saved = await table.save(clock.nowMs());
      await table.close();
      if (saved.kind === 'failed') log.error({ detail: saved.detail }, 'memory could not be saved');
      await layers.close();
      await policyFile.close();
      await store.close();
      await locked.lock.release();
    },
  };
}

const LEVEL = { ok: 1, absent: 0, broken: -1 } as const;

function storeStatus(journal: Journal, recorder: DecisionRecorder, decisions: DecisionLog): LayerStatus {
  if (journal.broken !== null) {
    return { state: 'broken', version: null, detail: 'request ids cannot be written to the journal' };
  }
  if (performance.now() - recorder.storeFailedAtMs < STORE_FAILED_MS) {
    return { state: 'broken', version: null, detail: 'score workers cannot read the store' };
  }
  if (decisions.broken !== null) {
    return { state: 'broken', version: null, detail: 'the log of decisions cannot be written' };
  }
  return { state: 'ok', version: 'lmdb', detail: '' };
}

function stopOnSignals(running: Running, log: Log): void {
  let stopping = false;
  const stop = (signal: string): void => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'stopping');
    const giveUp = setTimeout(() => process.kill(process.pid, 'SIGKILL'), STOP_MS);
    running.stop().then(
      () => {
        clearTimeout(giveUp);
        log.info('stopped');
        log.flush(() => process.exit(0));
      },
      (error: unknown) => {
        log.error({ err: error }, 'the stop was not orderly');
        log.flush(() => process.exit(1));
      },
    );
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop(signal));
  process.on('unhandledRejection', (error) => log.error({ err: error }, 'a rejection was not handled'));
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'an exception was not caught; the process ends, so that its supervisor starts it again');
    log.flush(() => process.kill(process.pid, 'SIGKILL'));
  });
}

function versionOf(): string {
  const file = new URL('../../package.json', import.meta.url);
  const parsed: unknown = JSON.parse(readFileSync(file, 'utf8'));
  const version = typeof parsed === 'object' && parsed !== null && 'version' in parsed ? parsed.version : '';
  return typeof version === 'string' ? version : '';
}
