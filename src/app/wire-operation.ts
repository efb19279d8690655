import { operationHandlers } from '../api/operation-handlers.ts';
import { staticFile } from '../http/static-files.ts';
import { readOpenApi } from '../kernel/programs.ts';
import { createMetrics, type Metrics } from '../observe/metrics.ts';
import { RULES } from '../risk/rules/rule-table.ts';
import { deliveryReadings } from '../webhooks/delivery-metrics.ts';
import { type AssetStates, isDegraded, storeStatus } from './asset-states.ts';
import type { ServiceParts } from './service-parts.ts';
import { connectionReadings, readings } from './store-metrics.ts';
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

export function wireOperation(parts: ServiceParts, role: DecideRole): OperationRole {
  const { settings, journal, listener, log } = parts;
  const assetStates = (): AssetStates => ({
    store: storeStatus(journal, role.recorder, parts.decisions),
    ...parts.installation.layers.status(),
    webhooks: parts.dispatcher.status,
    extraction: parts.extractions.status(),
    policy: parts.policyFile.status(),
  });
  let isWarm = !settings.warmUp;
  let isStopping = false;
  const handlers = operationHandlers({
    version: parts.version,
    transport: () => ({ name: listener.transport.name, detail: listener.transportDetail }),
    layers: assetStates,
    degraded: () => isDegraded(assetStates()),
    starting: () => !isWarm,
    stopping: () => isStopping,
    closed: () => journal.broken !== null,
    openApi: staticFile({ contentType: 'application/json', isImmutable: false, load: readOpenApi }),
    metrics: metricsOf(parts, role, assetStates),
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

function metricsOf(
  { listener, keyCache, replay, memory, decisions, installation, dispatcher, extractions }: ServiceParts,
  { counts, decide }: DecideRole,
  assetStates: () => AssetStates,
): Metrics {
  const { store } = installation;
  return createMetrics(
    counts,
    RULES.map((rule) => rule.code),
    {
      queued: decide.queued,
      keys: () => keyCache.size,
      replayIds: () => replay.size,
      readings: [
        ...connectionReadings(listener.transport.connections),
        ...readings(memory, decisions, store),
        ...deliveryReadings(dispatcher, () => Date.now()),
        ...extractions.readings,
      ],
      layers: assetStates,
    },
  );
}
