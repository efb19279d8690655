import type { Clock } from './base/clock.ts';
import type { Handler } from './base/exchange.ts';
import { problem } from './base/problem.ts';
import { sendProblem } from './base/reply.ts';
import { sightingsTaken } from './core/sighting-conditions.ts';
import { RULES } from './core/rules/index.ts';
import type { Journal } from './decide/journal.ts';
import type { Keyring } from './decide/keyring.ts';
import { createDecidePipeline, type DecidePipeline } from './decide/pipeline.ts';
import { LocalRateWindows } from './decide/rate-windows.ts';
import type { LocalReplayGuard } from './decide/replay-guard.ts';
import { visitorSource } from './decide/visitor-source.ts';
import { warmUp, type WarmUpResult } from './decide/warm-up.ts';
import type { Dispatcher } from './deliver/dispatcher.ts';
import { deliveryReadings } from './deliver/readings.ts';
import type { Door } from './door.ts';
import { extractRoutes, type OpenExtractions } from './extractions.ts';
import { createRouter } from './http/router.ts';
import type { TransportOptions } from './http/transport.ts';
import type { Installation } from './installation.ts';
import { isDegraded, stateNames, storeStatus, type LayerStates } from './layer-states.ts';
import type { Ledger } from './ledger.ts';
import { healthRoutes } from './manage/health.ts';
import { createManaged, type Managed } from './manage/managed.ts';
import { Cursors } from './manage/paging.ts';
import { createRemoteBodies } from './manage/remote-bodies.ts';
import { managementRoutes } from './manage/routes.ts';
import { DecisionRecorder } from './observe/decisions.ts';
import { createUnreadLog, type Log } from './observe/log.ts';
import { createMetrics, DecisionCounts, type Metrics } from './observe/metrics.ts';
import { BodyPool } from './pools/body-pool.ts';
import type { PolicyFile } from './pools/policy-file.ts';
import type { ScorePool } from './pools/score-pool.ts';
import { readings } from './readings.ts';
import type { Settings } from './settings.ts';
import type { DecisionLog } from './store/decision-log.ts';
import { FingerprintLookup } from './velocity/fingerprint-lookup.ts';
import { LocalVelocity } from './velocity/local-velocity.ts';
import type { VelocityMemory } from './velocity/memory.ts';
import { webhookParts } from './webhooks.ts';

export interface ServiceParts {
  readonly settings: Settings;
  readonly installation: Installation;
  readonly door: Door;
  readonly replay: LocalReplayGuard;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly keyring: Keyring;
  readonly policyFile: PolicyFile;
  readonly memory: VelocityMemory;
  readonly decisions: DecisionLog;
  readonly ledger: Ledger;
  readonly dispatcher: Dispatcher;
  readonly extractions: OpenExtractions;
  readonly pool: ScorePool;
  readonly version: string;
  readonly log: Log;
}

/** All that answers requests. */
export interface Service {
  readonly onRequest: Handler;
  readonly onCrash: TransportOptions['onCrash'];
  readonly decide: DecidePipeline;
  readonly managed: Managed;
  /** For the log line of a start. */
  summary(): Readonly<Record<string, unknown>>;
  /** Compiles the decide path by made-up requests. Until it is done `/readyz` says `starting`. */
  warmUp(): Promise<WarmUpResult>;
  /** From now on `/readyz` says that the service stops. */
  stopping(): void;
  /** Ends the threads that read large bodies. */
  close(): Promise<void>;
}

export function createService(parts: ServiceParts): Service {
  const { settings, clock, keyring, replay, journal, pool, ledger, dispatcher, log } = parts;
  const { store } = parts.installation;
  const counts = new DecisionCounts(RULES.length);
  const recorder = new DecisionRecorder(counts, log);
  const rates = new LocalRateWindows();
  const onRefused = (code: string): void => counts.refused(code);
  const decide = createDecidePipeline({
    clock,
    keyring,
    rates,
    visitorSource: visitorSource(parts.door.trustedProxies),
    replay,
    journal,
    pool,
    ledger,
    due: dispatcher,
    observer: recorder,
  });
  const bodyPool = new BodyPool({ egressAllow: settings.egressAllow, recordsMax: settings.extractRecordsMax });
  const listening = [parts.door.address];
  store.turns.giveWayTo(() => decide.load(performance.now()));
  const managed = createManaged({
    clock,
    keyring,
    rates,
    replay,
    journal,
    log,
    resetRead: () => store.resetRead(),
    onRefused,
    turns: store.turns,
    bodies: createRemoteBodies((reader, body, nowMs) => bodyPool.run({ reader, body, nowMs, listening })),
  });
  const layerStates = (): LayerStates => ({
    store: storeStatus(journal, recorder, parts.decisions),
    ...parts.installation.layers.status(),
    webhooks: dispatcher.status,
    extraction: parts.extractions.status(),
    policy: parts.policyFile.status(),
  });
  let isWarm = !settings.warmUp;
  let stopping = false;
  const health = healthRoutes({
    version: parts.version,
    transport: () => ({ name: parts.door.transport.name, detail: parts.door.transportDetail }),
    layers: layerStates,
    degraded: () => isDegraded(layerStates()),
    starting: () => !isWarm,
    stopping: () => stopping,
    closed: () => journal.broken !== null,
    metrics: metricsOf(parts, counts, decide, layerStates),
    metricsToken: settings.metricsToken,
    log,
  });
  return {
    decide,
    managed,
    onRequest: createRouter([decide.route, ...customerRoutes(parts, managed), ...health], onRefused),
    onCrash(error, exchange) {
      log.error({ err: error }, 'a request failed');
      onRefused('internal_error');
      const more = decide.route.refusalFields?.(exchange) ?? '';
      sendProblem(exchange, problem('internal_error', 'The request failed.'), { close: true, more });
    },
    summary: () => ({ degraded: isDegraded(layerStates()), layers: stateNames(layerStates()) }),
    async warmUp() {
      const unread = new DecisionRecorder(new DecisionCounts(RULES.length), createUnreadLog(settings.logLevel));
      const warmed = await warmUp({
        clock,
        pool,
        observer: unread,
        listen: (onRequest) => parts.door.openBeside(onRequest),
      });
      isWarm = true;
      return warmed;
    },
    stopping() {
      stopping = true;
    },
    close: () => bodyPool.close(),
  };
}

/** Every endpoint of customers' own but decide. */
function customerRoutes(parts: ServiceParts, managed: Managed): ReturnType<typeof managementRoutes> {
  const { settings, installation, memory, decisions, dispatcher, extractions } = parts;
  const { store, keyFor } = installation;
  const { egressAllow } = settings;
  const cursors = new Cursors(keyFor('cursor'));
  const fingerprints = new FingerprintLookup(memory);
  store.sightings.takeOnly(sightingsTaken(fingerprints));
  return [
    ...managementRoutes({
      managed,
      cursors,
      store,
      decisions,
      // Over the same shared memory as the score workers', so they know at once.
      memory: new LocalVelocity(parts.memory),
      fingerprints,
      webhooks: webhookParts({ store, key: keyFor('webhook-secrets'), dispatcher, egressAllow }),
    }),
    ...extractRoutes(managed, { extractions, cursors, egressAllow }),
  ];
}

function metricsOf(
  { keyring, replay, memory, decisions, installation, dispatcher, extractions }: ServiceParts,
  counts: DecisionCounts,
  decide: DecidePipeline,
  layerStates: () => LayerStates,
): Metrics {
  const { store } = installation;
  return createMetrics(
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
      layers: layerStates,
    },
  );
}
