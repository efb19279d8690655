import type { CustomerNumber } from '../kernel/brand.ts';
import type { ProvenIds } from '../kernel/ids.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import type { SecretEndpointId } from '../contract/routes.ts';
import type { DecisionRecord } from '../risk/decision-record.ts';
import type { OutcomeMemory } from '../ports/velocity.ts';
import type { DecisionLog } from '../history/decision-log.ts';
import type { DecisionStats } from '../history/stats/decision-stats.ts';
import type { Store } from '../state/open-store.ts';
import type { FingerprintReader } from '../risk/fingerprint-history.ts';
import { accountHandlers } from './account-handlers.ts';
import { auditHandlers } from './audit-handlers.ts';
import { candidateHandlers } from './candidate-handlers.ts';
import { decisionHandlers } from './decision-handlers.ts';
import { deliveryHandlers } from './delivery-handlers.ts';
import { linkHandlers } from './link-handlers.ts';
import type { LinkTargets } from './link-target.ts';
import { labelHandlers } from './label-handlers.ts';
import { listHandlers } from './list-handlers.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import { outcomeHandlers } from './outcome-handlers.ts';
import type { Cursors } from './kit/paging.ts';
import type { OwnPolicies } from './own-policies.ts';
import { policyHandlers } from './policy-handlers.ts';
import { simulateHandlers } from './simulate-handlers.ts';
import type { Simulator } from '../decide/simulator.ts';
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
  /** The velocity store, in which outcomes are counted. */
  readonly memory: OutcomeMemory;
  readonly fingerprints: FingerprintReader;
  readonly policies: OwnPolicies;
  readonly simulator: Simulator;
  /** Returns whether the present policy file is faulty, so that an older one applies. */
  readonly isPolicyRefused: () => boolean;
  /** Version of the service. */
  readonly version: string;
  readonly webhooks: WebhookManagementParts;
}

/** The parts of the delivery side that the webhook endpoints use. */
export interface WebhookManagementParts {
  readonly webhooks: WebhookReader;
  readonly deliveries: DeliveryReader;
  readonly control: WebhookControl;
  readonly checkTarget: WebhookParts['checkTarget'];
}

/** Excludes the endpoints of extractions, sessions and connectors, whose handlers are in `src/extract`. */
type ManagementEndpointId = Exclude<
  SecretEndpointId,
  `${string}Extraction${string}` | `${string}Session${string}` | `${string}Connector${string}` | 'listRecords'
>;

/** Returns the handlers of all endpoints that take a secret key, except those in `src/extract`. */
export function managementHandlers(parts: ManagementParts): SecretHandlers<ManagementEndpointId> {
  const { endpoint, cursors, store, decisions, requestIds, linkTargets, stats, memory, fingerprints, webhooks } = parts;
  const { policies, isPolicyRefused, simulator, version } = parts;
  const { lists, changes, registry, sightingReports, labels, outcomes } = store;
  if (outcomes === null) throw new Error('outcomes need the store open for writing');
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
      policies,
    }),
    ...accountHandlers(endpoint, { findCustomer: (customer) => store.customers.find(customer), policies, version }),
    ...policyHandlers(endpoint, { policies, isRefused: isPolicyRefused }),
    ...simulateHandlers(endpoint, { simulator, policies }),
    ...statsHandlers(endpoint, { stats }),
    ...linkHandlers(endpoint, { decisions, targets: linkTargets, lists, registry, fingerprints }),
    ...labelHandlers(endpoint, { store, findDecision, prove: (customer, id) => requestIds.prove(customer, id) }),
    ...outcomeHandlers(endpoint, { outcomes, memory, findDecision }),
    ...auditHandlers(endpoint, { store, cursors }),
    ...shadowReviewHandlers(endpoint, { store, cursors }),
    ...deliveryHandlers(endpoint, { ...webhooks, cursors }),
    ...webhookHandlers(endpoint, { ...webhooks, cursors }),
  };
}
