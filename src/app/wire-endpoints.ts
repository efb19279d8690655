import { BodyPool } from '../api/kit/body-pool.ts';
import { createEndpointFactory, type EndpointFactory } from '../api/kit/endpoint-factory.ts';
import { createRemoteBodies } from '../api/kit/remote-bodies.ts';
import { outcomeHandlers } from '../api/outcome-handlers.ts';
import { FailedAuthentications } from '../decide/failed-authentications.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import { LocalOutcomes } from '../history/local-outcomes.ts';
import { DecisionCounts } from '../observe/decision-counts.ts';
import { RULES } from '../risk/rules/rule-table.ts';
import { listenAddressesOf } from './open-listener.ts';
import type { OpenVelocity, ServiceParts } from './service-parts.ts';

/** What the endpoints of all roles share. */
export interface SharedParts {
  readonly counts: DecisionCounts;
  readonly failures: FailedAuthentications;
  readonly onRefused: (code: string) => void;
}

export function openShared(): SharedParts {
  const counts = new DecisionCounts(RULES.length);
  return { counts, failures: new FailedAuthentications(), onRefused: (code) => counts.refused(code) };
}

/** Makes the endpoints that take a secret key. */
export interface OpenEndpoints {
  readonly endpoint: EndpointFactory;
  /** Ends the thread that parses large bodies. */
  close(): Promise<void>;
}

export function openEndpoints(parts: ServiceParts, { failures, onRefused }: SharedParts): OpenEndpoints {
  const { settings, clock, keyCache, admission, journal, log, listener, dashboardListener } = parts;
  const { store } = parts.installation;
  const bodyPool = new BodyPool({ egressAllow: settings.egressAllow });
  const listening = listenAddressesOf(listener, dashboardListener);
  const endpoint = createEndpointFactory({
    clock,
    keyCache,
    failures,
    admission,
    journal,
    log,
    resetRead: () => store.resetRead(),
    onRefused,
    keyUsage: parts.keyUsage,
    turns: store.turns,
    bodies: createRemoteBodies(
      (reader, body, nowMs) => bodyPool.run({ reader, body, nowMs, listening }),
      (workMs, heldMs) => store.turns.rest(workMs, heldMs),
    ),
  });
  return { endpoint, close: () => bodyPool.close() };
}

/** Outcomes of decisions, which the role `decide` takes: the next decisions use them. */
export function outcomesOf(
  { installation, decisions, cluster, requests }: ServiceParts,
  { outcomes: memory }: OpenVelocity,
  endpoint: EndpointFactory,
): SecretHandlers<'reportOutcomes'> {
  const { outcomes } = installation.store;
  if (outcomes === null) throw new Error('outcomes need the store open for writing');
  const local = new LocalOutcomes({ outcomes, decisions, memory, requestLog: requests.requestLog });
  return outcomeHandlers(endpoint, cluster?.nodes.outcomes(local) ?? local);
}
