import { lookUpReadings } from './wire-look-ups.ts';
import { countOfRefusedReplies } from '../cluster/store/link.ts';
import { operationHandlers } from '../api/operation-handlers.ts';
import { staticFile } from '../http/static-files.ts';
import { readOpenApi } from '../kernel/programs.ts';
import { countReadings, type DecisionCounts } from '../observe/decision-counts.ts';
import { createMetrics, type Metrics } from '../observe/metrics.ts';
import { level, type Reading, total } from '../observe/reading.ts';
import { RULES } from '../risk/rules/rule-table.ts';
import { deliveryReadings } from '../webhooks/delivery-metrics.ts';
import { StreamMarks } from '../velocity/stream-marks.ts';
import {
  addressStatus,
  type AssetStates,
  isDegraded,
  layerReadings,
  layersWithBreaker,
  modelReadings,
  storeStatus,
  velocityStatus,
} from './asset-states.ts';
import { forRoles } from './roles.ts';
import type { OpenVelocity, ServiceParts } from './service-parts.ts';
import { machineReadings } from './machine-metrics.ts';
import {
  attributeReadings,
  cellReading,
  connectionReadings,
  decisionReadings,
  exchangeReadings,
  repairReading,
  velocityReadings,
} from './store-metrics.ts';
import type { DecideRole } from './wire-decide.ts';

/** Health, readiness, metrics and the OpenAPI document: endpoints for operators, of every role. */
export interface OperationRole {
  readonly handlers: ReturnType<typeof operationHandlers>;
  assetStates(): AssetStates;
  /** Makes `/readyz` report that the decide path is compiled. */
  warmed(): void;
  /** Makes `/readyz` report from now on that the service is stopping. */
  stopping(): void;
}

/** `readings`: further metrics of the request handlers. */
export function wireOperation(
  parts: ServiceParts,
  role: DecideRole | null,
  counts: DecisionCounts,
  readings: readonly Reading[] = [],
): OperationRole {
  const { settings, journal, listener, deciding, cluster, log } = parts;
  const { roles } = settings;
  const recorder = role?.recorder ?? { storeFailedAtMs: Number.NEGATIVE_INFINITY };
  const assetStates = (): AssetStates => ({
    store: storeStatus(journal, recorder, parts.decisions, parts.installation.repairs),
    ...(deciding && layersWithBreaker(deciding.layers, parts.policies?.modelBreaker.detail ?? '')),
    ...(hasExchange(parts.velocity) && { velocity: velocityStatus(parts.velocity.memory) }),
    ...forRoles(roles, ['deliver'], () => ({ webhooks: parts.dispatcher.status })),
    ...forRoles(roles, ['extract'], () => ({ extraction: parts.extractions.status() })),
    ...(deciding && { policy: deciding.policyFile.status() }),
    ...(deciding && { addresses: addressStatus(parts.addresses.warnings(parts.clock.nowMs())) }),
    backups: parts.backups.status(),
    ...(parts.installation.feed && { feed: parts.installation.feed.status() }),
    ...(cluster && { cluster: cluster.status() }),
  });
  let isWarm = !settings.warmUp;
  let isStopping = false;
  const handlers = operationHandlers({
    version: parts.version,
    roles,
    transport: () => ({ name: listener.transport.name, detail: listener.transportDetail }),
    layers: assetStates,
    data: () => (deciding === null ? null : parts.feeds.reports()),
    degraded: () => isDegraded(assetStates()),
    starting: () => !isWarm,
    stopping: () => isStopping,
    closed: () => journal.broken !== null || cluster?.isClosed === true,
    openApi: staticFile({ contentType: 'application/json', isImmutable: false, load: readOpenApi }),
    metrics: metricsOf(parts, role, counts, assetStates, readings),
    metricsToken: settings.metricsToken,
    log,
  });
  return {
    handlers,
    assetStates,
    warmed() {
      isWarm = true;
    },
    stopping() {
      isStopping = true;
    },
  };
}

/** Whether this node exchanges the events of its velocity store with others. */
function hasExchange(velocity: OpenVelocity | null): velocity is OpenVelocity {
  return velocity !== null && velocity.exchange !== null;
}

function metricsOf(
  {
    settings,
    version,
    listener,
    keyCache,
    replay,
    velocity,
    decisions,
    installation,
    dispatcher,
    extractions,
    backups,
    feeds,
    cluster,
    work,
    deciding,
    policies,
    cellWords,
  }: ServiceParts,
  role: DecideRole | null,
  counts: DecisionCounts,
  assetStates: () => AssetStates,
  further: readonly Reading[],
): Metrics {
  const { store } = installation;
  const marks = hasExchange(velocity) ? new StreamMarks(velocity.memory.marks) : null;
  cluster?.countRefused({
    event: () => marks?.count('repeated') ?? 0,
    delivery: () => work?.mirror.refused ?? 0,
    job: () => extractions.refusedEntries(),
    reply: countOfRefusedReplies,
  });
  return createMetrics([
    ...countReadings(
      counts,
      RULES.map((rule) => rule.code),
    ),
    level('gatehouse_queue_requests', 'Requests waiting for a score worker.', () => role?.decide.queued() ?? 0),
    total(
      'gatehouse_inline_batches_total',
      'Batches that the main thread scored itself.',
      () => deciding?.pool.inlineBatches?.() ?? 0,
    ),
    level('gatehouse_keys', 'Accepted API keys.', () => keyCache.size),
    level('gatehouse_replay_ids', 'Request ids held for replay detection.', () => replay.size),
    ...machineReadings(settings, { version, transport: listener.transport.name }),
    ...connectionReadings(listener.transport.connections),
    cellReading(cellWords),
    ...(deciding === null ? [] : attributeReadings(deciding.policyFile.attributes)),
    ...(deciding === null ? [] : modelReadings(deciding.layers)),
    ...(policies?.trips.readings ?? []),
    ...(policies?.modelBreaker.readings ?? []),
    ...(velocity === null ? [] : velocityReadings(velocity.memory)),
    ...(hasExchange(velocity) ? exchangeReadings(velocity.memory) : []),
    ...decisionReadings(decisions, store),
    ...deliveryReadings(dispatcher, store.deliveries, () => Date.now()),
    ...extractions.readings,
    ...backups.readings,
    ...(deciding === null ? [] : feeds.readings()),
    ...(deciding === null ? [] : lookUpReadings(deciding.lookUps)),
    repairReading(installation.repairs),
    ...(installation.feed?.readings ?? []),
    ...(cluster?.readings ?? []),
    ...(work?.readings ?? []),
    ...further,
    ...layerReadings(assetStates),
  ]);
}
