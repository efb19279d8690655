import type { ProvenIds } from '../kernel/ids.ts';
import type { SecretHandlers } from '../http/handlers.ts';
import type { SecretEndpointId } from '../contract/routes.ts';
import type { DecisionReader } from '../history/decision-reader.ts';
import type { HistoryStats } from '../ports/decision-history.ts';
import type { Slices } from '../state/tables/turns.ts';
import type { Committer } from '../state/feed/changes.ts';
import type { Store } from '../state/feed/open-store.ts';
import type { FingerprintReader } from '../risk/fingerprint-history.ts';
import { accountHandlers } from './account-handlers.ts';
import { auditHandlers } from './audit-handlers.ts';
import { backtestHandlers } from './backtest-handlers.ts';
import type { BacktestQueue } from './backtest-port.ts';
import { candidateHandlers } from './candidate-handlers.ts';
import type { ListsOf } from './condition-errors.ts';
import { decisionHandlers } from './decision-handlers.ts';
import { deliveryHandlers } from './delivery-handlers.ts';
import type { ListKeys } from '../risk/lists/list-key.ts';
import { linkHandlers } from './link-handlers.ts';
import type { LinkTargets } from './link-target.ts';
import { type ModelParts, modelHandlers } from './model-handlers.ts';
import { labelHandlers } from './label-handlers.ts';
import { namedListHandlers } from './lists/named-list-handlers.ts';
import { listHandlers } from './lists/list-handlers.ts';
import type { EndpointFactory } from './kit/endpoint-factory.ts';
import type { Cursors } from './kit/paging.ts';
import type { OwnPolicies } from './own-policies.ts';
import { ownRuleHandlers, type OwnRuleParts } from './own-rule-handlers.ts';
import { policyHandlers } from './policy-handlers.ts';
import { privacyHandlers } from './privacy-handlers.ts';
import type { PersonExportQueue, PrivacyQueue } from './privacy-port.ts';
import { ruleCountHandlers } from './rule-count-handlers.ts';
import { ruleHandlers } from './rule-handlers.ts';
import type { RuleSampleParts } from './rule-sample.ts';
import { keyHandlers } from './key-handlers.ts';
import { topHandlers } from './top-handlers.ts';
import type { KeyUseReader } from '../ports/key-use.ts';
import { statsHandlers, type StatsParts } from './stats-handlers.ts';
import { shadowReviewHandlers } from './review-handlers.ts';
import type { DeliveryReader, WebhookControl, WebhookReader } from './webhook-control-port.ts';
import { type WebhookHandlerParts, webhookHandlers } from './webhook-handlers.ts';
import { recoveryHandlers } from './webhook-recovery.ts';

export interface ManagementParts {
  readonly endpoint: EndpointFactory;
  readonly cursors: Cursors;
  readonly store: Store;
  /** Takes the changes that customers make. */
  readonly changes: Committer;
  readonly decisions: DecisionReader;
  readonly requestIds: ProvenIds;
  readonly linkTargets: LinkTargets;
  /** The key of links (`RecordKeys`). */
  readonly linkSecret: Uint8Array;
  readonly listKeys: ListKeys;
  /** Whether a database knows the autonomous systems of addresses. */
  readonly hasAsnData: () => boolean;
  readonly stats: Pick<HistoryStats<Slices>, 'read'>;
  readonly newestRequests: RuleSampleParts['newestRequests'];
  readonly unreadNames: OwnRuleParts['unreadNames'];
  readonly trippedInFile: OwnRuleParts['trippedInFile'];
  readonly addressWarning: StatsParts['addressWarning'];
  readonly fingerprints: FingerprintReader;
  readonly policies: OwnPolicies;
  readonly backtests: BacktestQueue;
  readonly privacy: PrivacyQueue;
  readonly personExports: PersonExportQueue;
  readonly keyUse: KeyUseReader;
  readonly readModels: ModelParts['readModels'];
  readonly silenceOf: ModelParts['silenceOf'];
  readonly whyNoChoice: ModelParts['whyNoChoice'];
  readonly choose: ModelParts['choose'];
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
  readonly checkTarget: WebhookHandlerParts['checkTarget'];
}

/** Excludes the endpoints of extractions, sessions and connectors, and those that need the role `decide`. */
type ManagementEndpointId = Exclude<
  SecretEndpointId,
  | `${string}Extraction${string}`
  | `${string}Session${string}`
  | `${string}Connector${string}`
  | `${string}Watch${string}`
  | 'rotateFeedToken'
  | 'listRecords'
  | 'reportOutcomes'
  | 'simulateDecision'
>;

/** Returns the handlers of the role `api`, except those of extraction. */
export function managementHandlers(parts: ManagementParts): SecretHandlers<ManagementEndpointId> {
  const { endpoint, cursors, store, decisions, requestIds, linkTargets, stats, fingerprints, webhooks } = parts;
  const { changes, policies, isPolicyRefused, keyUse, version } = parts;
  const { lists, registry, sightingReports, labels } = store;
  const listsOf: ListsOf = (customer) => new Map(store.namedLists.of(customer).map(({ name, kind }) => [name, kind]));
  return {
    ...listHandlers(endpoint, {
      lists,
      changes,
      registry,
      cursors,
      fingerprints,
      decisions,
      listKeys: parts.listKeys,
      linkSecret: parts.linkSecret,
      hasAsnData: parts.hasAsnData,
      keepsIdentities: (customer) => policies.present(customer).view.policyOf('').logIdentities === 'plain',
      entriesOf: (customer) => store.tables.rowCounters.get('lists', customer),
      onBlocked: (customer, hashes, now, slices) => sightingReports.noteBlocks(customer, hashes, now, slices),
    }),
    ...namedListHandlers(endpoint, {
      namedLists: store.namedLists,
      versions: store.namedListVersions,
      rules: store.rules,
      policies,
      changes,
      listKeys: parts.listKeys,
      cursors,
      itemsOf: (customer) => store.tables.rowCounters.get('namedListItems', customer),
    }),
    ...candidateHandlers(endpoint, { decisions, lists, registry, cursors, fingerprints }),
    ...decisionHandlers(endpoint, {
      decisions,
      cursors,
      targets: linkTargets,
      labelOf: (customer, requestId) => labels.labelOf(customer, requestId),
      policies,
    }),
    ...accountHandlers(endpoint, {
      findCustomer: (customer) => store.customers.find(customer),
      policies,
      version,
    }),
    ...keyHandlers(endpoint, { apiKeys: store.apiKeys, keyUse, changes, cursors }),
    ...modelHandlers(endpoint, parts),
    ...policyHandlers(endpoint, { policies, isRefused: isPolicyRefused }),
    ...ruleCountHandlers(endpoint, { decisions, stats, labels, reviews: store.shadowReviews, policies }),
    ...backtestHandlers(endpoint, parts.backtests),
    ...ruleHandlers(endpoint, { ...parts, listsOf }),
    ...ownRuleHandlers(endpoint, {
      policies,
      listsOf,
      rules: store.rules,
      changes,
      decisions,
      unreadNames: parts.unreadNames,
      trippedInFile: parts.trippedInFile,
    }),
    ...topHandlers(endpoint, { decisions }),
    ...statsHandlers(endpoint, { stats, addressWarning: parts.addressWarning }),
    ...linkHandlers(endpoint, { decisions, targets: linkTargets, lists, registry, fingerprints }),
    ...labelHandlers(endpoint, { store, decisions, prove: (customer, id) => requestIds.prove(customer, id) }),
    ...auditHandlers(endpoint, { store, cursors }),
    ...privacyHandlers(endpoint, parts.privacy, parts.personExports),
    ...shadowReviewHandlers(endpoint, { store, decisions, cursors }),
    ...deliveryHandlers(endpoint, { ...webhooks, cursors }),
    ...webhookHandlers(endpoint, { ...webhooks, cursors }),
    ...recoveryHandlers(endpoint, { ...webhooks, decisions }),
  };
}
