import type { CustomerNumber } from '../kernel/brand.ts';
import type { ProvenIds } from '../kernel/ids.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import type { SecretEndpointId } from '../contract/routes.ts';
import type { DecisionRecord } from '../risk/decision-record.ts';
import type { DecisionLog } from '../history/decision-log.ts';
import type { DecisionStats } from '../history/stats/decision-stats.ts';
import type { Store } from '../state/open-store.ts';
import type { FingerprintReader } from '../risk/fingerprint-history.ts';
import { auditHandlers } from './audit-handlers.ts';
import { candidateHandlers } from './candidate-handlers.ts';
import { decisionHandlers } from './decision-handlers.ts';
import { deliveryHandlers } from './delivery-handlers.ts';
import { linkHandlers } from './link-handlers.ts';
import type { LinkTargets } from './link-target.ts';
import { labelHandlers } from './label-handlers.ts';
import { listHandlers } from './list-handlers.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { Cursors } from './kit/paging.ts';
import { statsHandlers } from './stats-handlers.ts';
import { shadowReviewHandlers } from './review-handlers.ts';
import type { DeliveryReader, WebhookControl, WebhookReader } from './webhook-control-port.ts';
import { type WebhookParts, webhookHandlers } from './webhook-handlers.ts';

export interface ManagementParts {
  readonly endpoint: EndpointFactory;
  readonly cursors: Cursors;
  readonly store: Store;
  readonly decisions: DecisionLog;
  readonly requestIds: ProvenIds;
  readonly linkTargets: LinkTargets;
  readonly stats: Pick<DecisionStats, 'read'>;
  readonly fingerprints: FingerprintReader;
  readonly webhooks: WebhookManagementParts;
}

/** The parts of the delivery side that the webhook endpoints use. */
export interface WebhookManagementParts {
  readonly webhooks: WebhookReader;
  readonly deliveries: DeliveryReader;
  readonly control: WebhookControl;
  readonly checkTarget: WebhookParts['checkTarget'];
}

/** Excludes the endpoints of extractions, sessions and connectors, and outcomes, which belong to another role. */
type ManagementEndpointId = Exclude<
  SecretEndpointId,
  | `${string}Extraction${string}`
  | `${string}Session${string}`
  | `${string}Connector${string}`
  | 'listRecords'
  | 'reportOutcomes'
>;

/** Returns the handlers of the role `api`, except those of extraction. */
export function managementHandlers(parts: ManagementParts): SecretHandlers<ManagementEndpointId> {
  const { endpoint, cursors, store, decisions, requestIds, linkTargets, stats, fingerprints, webhooks } = parts;
  const { lists, changes, registry, sightingReports, labels } = store;
  const findDecision = (customer: CustomerNumber, requestId: string, nowMs: number): DecisionRecord | null =>
    decisions.find(customer, requestId, nowMs)?.record ?? null;
  return {
    ...listHandlers(endpoint, {
      lists,
      changes,
      registry,
      cursors,
      fingerprints,
      onBlocked: (customer, hashes, now, slices) => sightingReports.noteBlocks(customer, hashes, now, slices),
    }),
    ...candidateHandlers(endpoint, { decisions, lists, registry, cursors, fingerprints }),
    ...decisionHandlers(endpoint, {
      decisions,
      cursors,
      targets: linkTargets,
      labelOf: (customer, requestId) => labels.labelOf(customer, requestId),
    }),
    ...statsHandlers(endpoint, { stats }),
    ...linkHandlers(endpoint, { decisions, targets: linkTargets, lists, registry, fingerprints }),
    ...labelHandlers(endpoint, { store, findDecision, prove: (customer, id) => requestIds.prove(customer, id) }),
    ...auditHandlers(endpoint, { store, cursors }),
    ...shadowReviewHandlers(endpoint, { store, cursors }),
    ...deliveryHandlers(endpoint, { ...webhooks, cursors }),
    ...webhookHandlers(endpoint, { ...webhooks, cursors }),
  };
}
