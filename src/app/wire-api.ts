import { readModels } from '../assets/model-candidates.ts';
import { chooseModel, whyNoChoice } from './model-choice.ts';
import type { EndpointFactory } from '../api/kit/endpoint-factory.ts';
import { Cursors } from '../api/kit/paging.ts';
import { ProvenIds } from '../kernel/ids.ts';
import { LIST_VALUES_PURPOSE, ListKeys } from '../risk/lists/list-key.ts';
import { LinkTargets } from '../api/link-target.ts';
import type { OwnPolicies } from '../api/own-policies.ts';
import { managementHandlers } from '../api/resource-handlers.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import type { SecretEndpointId } from '../contract/routes.ts';
import { newestRequests } from '../history/request-log/newest-requests.ts';
import type { FingerprintLookup } from '../velocity/fingerprint-lookup.ts';
import { LINKS_PURPOSE, REQUESTS_PURPOSE } from './installation.ts';
import type { ModelBreaker } from './model-breaker.ts';
import type { RuleTrips } from './rule-trips.ts';
import type { OpenPolicies, ServiceParts } from './service-parts.ts';
import { modelStatus } from './asset-states.ts';
import { extractHandlers } from './wire-extractions.ts';
import { watchEndpoints } from './wire-watches.ts';
import { webhookParts } from './wire-webhooks.ts';

/** What the role `api` shows of the velocity store and the policies. */
export interface ApiReadings {
  readonly fingerprints: FingerprintLookup;
  readonly policyFile: OpenPolicies['policyFile'];
  readonly policies: OwnPolicies;
  readonly trips: Pick<RuleTrips, 'ofFile'>;
  readonly modelBreaker: Pick<ModelBreaker, 'silenceOf'>;
}

/** The role `api`: all endpoints for customers except those that need the role `decide`. They give way to decisions. */
export function wireApi(
  parts: ServiceParts,
  endpoint: EndpointFactory,
  { fingerprints, policyFile, policies, trips, modelBreaker }: ApiReadings,
): SecretHandlers<Exclude<SecretEndpointId, 'reportOutcomes' | 'simulateDecision'>> {
  const { settings, installation, history, dispatcher, extractions } = parts;
  const { store, keyFor } = installation;
  const { egressAllow } = settings;
  const changes = parts.cluster?.nodes.spread.over(store.changes) ?? store.changes;
  const cursors = new Cursors(keyFor('cursor'));
  return {
    ...managementHandlers({
      endpoint,
      cursors,
      store,
      changes,
      decisions: history,
      stats: parts.historyStats,
      newestRequests: (customer) => newestRequests({ dataDir: settings.dataDir, customer, keyFor }),
      unreadNames: policyFile.attributes,
      trippedInFile: (customer) => trips.ofFile(customer),
      addressWarning: (customer) => parts.addresses.warningOf(customer, parts.clock.nowMs()),
      linkTargets: new LinkTargets(keyFor(LINKS_PURPOSE)),
      linkSecret: keyFor(LINKS_PURPOSE),
      listKeys: new ListKeys(keyFor(LIST_VALUES_PURPOSE)),
      hasAsnData: () => parts.deciding?.layers.status().geoip_asn.state !== 'absent',
      requestIds: new ProvenIds(keyFor(REQUESTS_PURPOSE)),
      fingerprints,
      policies,
      backtests: parts.requests.backtests,
      privacy: parts.privacy,
      personExports: parts.personExports,
      readModels: () => readModels(settings.modelsDir, (slot) => modelStatus(parts.deciding, slot)),
      silenceOf: (customer) => modelBreaker.silenceOf(customer),
      whyNoChoice: () => whyNoChoice(store, parts.cluster !== null),
      choose: (action, options) => chooseModel(settings.modelsDir, action, options),
      keyUse: parts.cluster?.nodes.keyUse(parts.keyUsage) ?? parts.keyUsage,
      isPolicyRefused: () => policyFile.status().refused === true,
      version: parts.version,
      webhooks: webhookParts({
        store,
        changes,
        key: keyFor('webhook-secrets'),
        dispatcher,
        allDeliveries: parts.allDeliveries,
        egressAllow,
      }),
    }),
    ...extractHandlers(endpoint, { extractions, cursors, egressAllow }),
    ...watchEndpoints(endpoint, { settings, store, extractions, changes, cursors }),
  };
}
