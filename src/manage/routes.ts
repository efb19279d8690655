import type { Route } from '../base/exchange.ts';
import type { DecisionLog } from '../store/decision-log.ts';
import type { Store } from '../store/open-store.ts';
import { candidateRoutes } from './candidates.ts';
import { decisionRoutes } from './decisions.ts';
import { labelRoutes } from './labels.ts';
import { listRoutes } from './lists.ts';
import type { Managed } from './managed.ts';
import type { Cursors } from './paging.ts';
import { shadowReviewRoutes } from './shadow-reviews.ts';

export interface ManagementParts {
  readonly managed: Managed;
  readonly cursors: Cursors;
  readonly store: Store;
  readonly decisions: DecisionLog;
}

/** Every endpoint of customers' own but decide. */
export function managementRoutes({ managed, cursors, store, decisions }: ManagementParts): Route[] {
  const { lists, registry, sightings, labels } = store;
  return [
    ...listRoutes(managed, {
      lists,
      registry,
      cursors,
      onBlocked: (customer, hashes, now) => sightings.noteBlocks(customer, hashes, now),
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
  ];
}
