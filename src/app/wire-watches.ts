import { watchHandlers } from '../api/watches/watch-handlers.ts';
import type { EndpointFactory } from '../api/kit/endpoint-factory.ts';
import type { Cursors } from '../api/kit/paging.ts';
import { CONNECTORS } from '../extract/connectors/connector-table.ts';
import { WatchRunner } from '../extract/watch/watch-runner.ts';
import type { CustomerNumber } from '../kernel/brand.ts';
import type { Log } from '../observe/log.ts';
import type { Committer } from '../state/feed/changes.ts';
import type { Store } from '../state/feed/open-store.ts';
import { Slices } from '../state/tables/turns.ts';
import { hasRole } from './roles.ts';
import type { Settings } from './settings.ts';
import { createTargetCheck } from './target-check.ts';
import type { Cluster } from './wire-cluster.ts';
import type { OpenExtractions } from './wire-extractions.ts';

/** Wires watches: the timer that runs them, on nodes that run jobs, and their endpoints. */

/** Choice: due times are whole minutes, and a run that ends is seen within a second. */
const TICK_MS = 1_000;
/** Watches run by real time, as extractions do, even if the service runs on the virtual clock. */
const nowMs = (): number => Date.now();

export interface WatchWiring {
  readonly settings: Pick<Settings, 'roles' | 'egressAllow'>;
  readonly store: Store;
  readonly extractions: OpenExtractions;
  readonly cluster: Pick<Cluster, 'nodes'> | null;
  readonly log: Log;
}

/** Returns a function that ends the timer, and resolves when no step is on its way. */
export function startWatches({ settings, store, extractions, cluster, log }: WatchWiring): () => Promise<void> {
  if (!hasRole(settings.roles, 'extract')) return () => Promise.resolve();
  const membership = cluster?.nodes.membership ?? null;
  const runner = new WatchRunner({
    watches: store.watches,
    changes: store.changes,
    control: extractions.control,
    request: requestParts(settings, extractions),
    node: membership?.id ?? '',
    isAlive: (node) => membership?.peers().some(({ id, roles }) => id === node && roles.includes('extract')) ?? false,
    isSuspended: suspensionOf(store),
    resetRead: () => store.resetRead(),
    newSlices: () => new Slices(store.turns),
    nowMs,
    log,
  });
  const tick = (): void => {
    // A node that does not see the others cannot know who runs what.
    if (membership === null || membership.isJoined) void runner.tick();
  };
  const timer = setInterval(tick, TICK_MS);
  tick();
  return async () => {
    clearInterval(timer);
    await runner.stop();
  };
}

export function watchEndpoints(
  endpoint: EndpointFactory,
  parts: Omit<WatchWiring, 'cluster' | 'log'> & { readonly changes: Committer; readonly cursors: Cursors },
): ReturnType<typeof watchHandlers> {
  const { settings, store, extractions, changes, cursors } = parts;
  return watchHandlers(endpoint, {
    watches: store.watches,
    changes,
    request: requestParts(settings, extractions),
    cursors,
    resetRead: () => store.resetRead(),
    isSuspended: suspensionOf(store),
    nowMs,
  });
}

function suspensionOf({ customers }: Store) {
  return (customer: CustomerNumber): boolean => customers.suspended().has(customer);
}

function requestParts({ egressAllow }: WatchWiring['settings'], extractions: OpenExtractions) {
  return { connectors: CONNECTORS, checkTarget: createTargetCheck(egressAllow, () => extractions.listening()) };
}
