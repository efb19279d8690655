import type { CustomerNumber } from '../base/brand.ts';
import type { Route } from '../base/exchange.ts';
import type { DecisionRecord } from '../core/decision-record.ts';
import type { OutcomeMemory } from '../core/history.ts';
import type { DecisionLog } from '../store/decision-log.ts';
import type { Store } from '../store/open-store.ts';
import type { FingerprintReader } from '../core/fingerprint-history.ts';
import { candidateRoutes } from './candidates.ts';
import { decisionRoutes } from './decisions.ts';
import { deliveryRoutes } from './deliveries.ts';
import { labelRoutes } from './labels.ts';
import { listRoutes } from './lists.ts';
import type { Managed } from './managed.ts';
import { outcomeRoutes } from './outcomes.ts';
import type { Cursors } from './paging.ts';
import { shadowReviewRoutes } from './shadow-reviews.ts';
import type { DeliveryReader, WebhookControl, WebhookReader } from './webhook-control.ts';
import { type WebhookParts, webhookRoutes } from './webhooks.ts';

export interface ManagementParts {
  readonly managed: Managed;
  readonly cursors: Cursors;
  readonly store: Store;
  readonly decisions: DecisionLog;
  /** Where decisions are counted. */
  readonly memory: OutcomeMemory;
  readonly fingerprints: FingerprintReader;
  readonly webhooks: WebhookManagementParts;
}

/** What the endpoints of webhooks see of the side that keeps and sends. */
export interface WebhookManagementParts {
  readonly webhooks: WebhookReader;
  readonly deliveries: DeliveryReader;
  readonly control: WebhookControl;
  readonly checkTarget: WebhookParts['checkTarget'];
}

/** Every endpoint of customers' own but decide. */
export function managementRoutes(parts: ManagementParts): Route[] {
  const { managed, cursors, store, decisions, memory, fingerprints, webhooks } = parts;
  const { lists, registry, sightings, labels, outcomes } = store;
  if (outcomes === null) throw new Error('outcomes need the store open for writing');
  const findDecision = (customer: CustomerNumber, requestId: string, nowMs: number): DecisionRecord | null =>
    decisions.find(customer, requestId, nowMs)?.record ?? null;
  return [
    ...listRoutes(managed, {
      lists,
      registry,
      cursors,
      fingerprints,
      onBlocked: (customer, hashes, now, slices) => sightings.noteBlocks(customer, hashes, now, slices),
    }),
    ...candidateRoutes(managed, { decisions, lists, registry, cursors, fingerprints }),
    ...decisionRoutes(managed, {
      decisions,
      cursors,
      labelOf: (customer, requestId) => labels.labelOf(customer, requestId),
    }),
    ...labelRoutes(managed, { store, findDecision }),
    ...outcomeRoutes(managed, { outcomes, memory, findDecision }),
    ...shadowReviewRoutes(managed, { store, cursors }),
    ...deliveryRoutes(managed, { ...webhooks, cursors }),
    ...webhookRoutes(managed, { ...webhooks, cursors }),
  ];
}
