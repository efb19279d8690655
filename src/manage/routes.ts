import type { Route } from '../base/exchange.ts';
import type { DecisionLog } from '../store/decision-log.ts';
import type { Store } from '../store/open-store.ts';
import { candidateRoutes } from './candidates.ts';
import { decisionRoutes } from './decisions.ts';
import { deliveryRoutes } from './deliveries.ts';
import { labelRoutes } from './labels.ts';
import { listRoutes } from './lists.ts';
import type { Managed } from './managed.ts';
import type { Cursors } from './paging.ts';
import { shadowReviewRoutes } from './shadow-reviews.ts';
import type { DeliveryReader, WebhookControl, WebhookReader } from './webhook-control.ts';
import { type WebhookParts, webhookRoutes } from './webhooks.ts';

export interface ManagementParts {
  readonly managed: Managed;
  readonly cursors: Cursors;
  readonly store: Store;
  readonly decisions: DecisionLog;
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
export function managementRoutes({ managed, cursors, store, decisions, webhooks }: ManagementParts): Route[] {
  const { lists, registry, sightings, labels } = store;
  return [
    ...listRoutes(managed, {
      lists,
      registry,
      cursors,
      onBlocked: (customer, hashes, now, slices) => sightings.noteBlocks(customer, hashes, now, slices),
    }),
    ...candidateRoutes(managed, { decisions, lists, registry, cursors }),
    ...decisionRoutes(managed, {
      decisions,
      cursors,
      labelOf: (customer, requestId) => labels.labelOf(customer, requestId),
    }),
    ...labelRoutes(managed, {
      store,
      findDecision: (customer, requestId, nowMs) => decisions.find(customer, requestId, nowMs)?.record ?? null,
    }),
    ...shadowReviewRoutes(managed, { store, cursors }),
    ...deliveryRoutes(managed, { ...webhooks, cursors }),
    ...webhookRoutes(managed, { ...webhooks, cursors }),
  ];
}
