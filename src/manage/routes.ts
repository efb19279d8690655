import type { Route } from '../base/exchange.ts';
import type { DecisionLog } from '../store/decision-log.ts';
import type { StoreWrite } from '../store/durable.ts';
import type { Store } from '../store/open-store.ts';
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
  /** Looks at the end of a write that no answer waits for. */
  readonly onWritten: (written: StoreWrite<unknown>) => void;
}

/** Every endpoint of customers' own but decide. */
export function managementRoutes({ managed, cursors, store, decisions, onWritten }: ManagementParts): Route[] {
  const { lists, registry, sightings } = store;
  return [
    ...listRoutes(managed, {
      lists,
      registry,
      cursors,
      // The entry is on the disk by then; what it means to the registry may follow its answer.
      onBlocked: (customer, hashes, now) => void sightings.noteBlocks(customer, hashes, now).then(onWritten),
      onUnblocked: (customer, hashes, now) => void sightings.forgetBlocks(customer, hashes, now).then(onWritten),
    }),
    ...labelRoutes(managed, {
      store,
      findDecision: (customer, requestId, nowMs) => decisions.find(customer, requestId, nowMs)?.record ?? null,
    }),
    ...shadowReviewRoutes(managed, { store, cursors }),
  ];
}
