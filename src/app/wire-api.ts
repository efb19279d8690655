import { BodyPool } from '../api/kit/body-pool.ts';
import { createEndpointFactory, type EndpointFactory } from '../api/kit/endpoint-factory.ts';
import { Cursors } from '../api/kit/paging.ts';
import { createRemoteBodies } from '../api/kit/remote-bodies.ts';
import { Simulator } from '../decide/simulator.ts';
import { ProvenIds } from '../kernel/ids.ts';
import { LinkTargets } from '../api/link-target.ts';
import { OwnPolicies } from '../api/own-policies.ts';
import { managementHandlers } from '../api/resource-handlers.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import { sightingsTaken } from '../risk/registry/sighting-conditions.ts';
import { FingerprintLookup } from '../velocity/fingerprint-lookup.ts';
import { LocalVelocity } from '../velocity/local-velocity.ts';
import { LINKS_PURPOSE, REQUESTS_PURPOSE } from './installation.ts';
import type { ServiceParts } from './service-parts.ts';
import type { DecideRole } from './wire-decide.ts';
import { extractHandlers } from './wire-extractions.ts';
import { webhookParts } from './wire-webhooks.ts';

/** The role `api`: all endpoints for customers except decide. They give way to decisions. */
export interface ApiRole {
  readonly endpoint: EndpointFactory;
  readonly handlers: SecretHandlers;
  /** Ends the thread that parses large bodies. */
  close(): Promise<void>;
}

export function wireApi(
  parts: ServiceParts,
  { decide, failures }: DecideRole,
  onRefused: (code: string) => void,
): ApiRole {
  const { settings, clock, keyCache, admission, journal, log, listener, dashboardListener } = parts;
  const { store } = parts.installation;
  const bodyPool = new BodyPool({ egressAllow: settings.egressAllow, recordsMax: settings.extractRecordsMax });
  const listening = [listener, ...(dashboardListener === null ? [] : [dashboardListener])].map(
    ({ address }) => address,
  );
  store.turns.giveWayTo(() => decide.load(performance.now()));
  const endpoint = createEndpointFactory({
    clock,
    keyCache,
    failures,
    admission,
    journal,
    log,
    resetRead: () => store.resetRead(),
    onRefused,
    turns: store.turns,
    bodies: createRemoteBodies((reader, body, nowMs) => bodyPool.run({ reader, body, nowMs, listening })),
  });
  return { endpoint, handlers: customerHandlers(parts, endpoint), close: () => bodyPool.close() };
}

function customerHandlers(parts: ServiceParts, endpoint: EndpointFactory): SecretHandlers {
  const { settings, installation, memory, decisions, dispatcher, extractions } = parts;
  const { store, keyFor } = installation;
  const { egressAllow } = settings;
  const cursors = new Cursors(keyFor('cursor'));
  const fingerprints = new FingerprintLookup(memory);
  store.sightingReports.takeOnly(sightingsTaken(fingerprints));
  return {
    ...managementHandlers({
      endpoint,
      cursors,
      store,
      decisions,
      stats: parts.stats,
      linkTargets: new LinkTargets(keyFor(LINKS_PURPOSE)),
      requestIds: new ProvenIds(keyFor(REQUESTS_PURPOSE)),
      // Uses the same shared memory as the score workers, so changes are visible at once.
      memory: new LocalVelocity(parts.memory),
      fingerprints,
      policies: new OwnPolicies(parts.policyArchive, (customer) => store.customers.find(customer)?.id ?? ''),
      simulator: new Simulator(parts.pool),
      isPolicyRefused: () => parts.policyFile.status().refused === true,
      version: parts.version,
      webhooks: webhookParts({ store, key: keyFor('webhook-secrets'), dispatcher, egressAllow }),
    }),
    ...extractHandlers(endpoint, { extractions, cursors, egressAllow }),
  };
}
