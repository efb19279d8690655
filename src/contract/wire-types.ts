import type * as z from 'zod';
import type { API_KEY, ME, NEW_API_KEY } from './responses/account-responses.ts';
import type { AUDIT_PAGE } from './responses/audit-responses.ts';
import type {
  EXPLAINED_DECISION,
  LOGGED_DECISION,
  LOGGED_DECISION_PAGE,
  SIMULATION,
} from './responses/decision-responses.ts';
import type { CONNECTOR } from './responses/connector-responses.ts';
import type { EXTRACTION, EXTRACTION_CREATED, RECORD_PAGE } from './responses/extraction-responses.ts';
import type { LABEL, SHADOW_REVIEW } from './responses/judgement-responses.ts';
import type { FINGERPRINT, LINK_SUMMARY } from './responses/link-responses.ts';
import type { CANDIDATE, LIST_BATCH_RESULT, LIST_ENTRY } from './responses/list-responses.ts';
import type {
  NAMED_ITEM,
  NAMED_ITEMS_CHANGED,
  NAMED_LIST,
  NAMED_LIST_LIST,
  NAMED_LIST_VERSION,
  NAMED_LIST_VERSION_LIST,
} from './responses/named-list-responses.ts';
import type { SIGNED_IN } from './responses/dashboard-responses.ts';
import type { READINESS } from './responses/operation-responses.ts';
import type { BACKTEST_JOB, BACKTEST_STARTED } from './responses/backtest-responses.ts';
import type { CHALLENGER_COUNTS, POLICY, POLICY_HISTORY, RULE_COUNTS } from './responses/policy-responses.ts';
import type { MODEL_COMPARISON, MODEL_ROWS, MODELS } from './responses/model-responses.ts';
import type { PROBLEM } from './responses/problem-responses.ts';
import type { CHECKED_RULE, FACT_LIST, OWN_RULE, OWN_RULE_LIST } from './responses/rule-responses.ts';
import type { STATS } from './responses/stats-responses.ts';
import type { TOP } from './responses/top-responses.ts';
import type { FEED_TOKEN, WATCH, WATCH_CHANGE, WATCH_CREATED } from './responses/watch-responses.ts';
import type { DELIVERY, DELIVERY_DETAIL, WEBHOOK } from './responses/webhook-responses.ts';

/** Types of responses as clients in TypeScript read them. Types only: nothing of it is loaded. */

/** A page of rows. Source: contract, 2.5. */
export interface WirePage<Row> {
  readonly data: readonly Row[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export type LoggedDecisionRow = z.infer<typeof LOGGED_DECISION>;
export type LoggedDecisionPage = z.infer<typeof LOGGED_DECISION_PAGE>;
export type ModelsBody = z.infer<typeof MODELS>;
export type ModelComparisonBody = z.infer<typeof MODEL_COMPARISON>;
export type ModelRowsBody = z.infer<typeof MODEL_ROWS>;
export type StatsBody = z.infer<typeof STATS>;
export type StatsPointBody = StatsBody['points'][number];
export type LinkSummaryBody = z.infer<typeof LINK_SUMMARY>;
export type FingerprintBody = z.infer<typeof FINGERPRINT>;
export type ListEntryRow = z.infer<typeof LIST_ENTRY>;
export type NamedListRow = z.infer<typeof NAMED_LIST>;
export type NamedListsBody = z.infer<typeof NAMED_LIST_LIST>;
export type NamedItemRow = z.infer<typeof NAMED_ITEM>;
export type NamedVersionRow = z.infer<typeof NAMED_LIST_VERSION>;
export type NamedVersionsBody = z.infer<typeof NAMED_LIST_VERSION_LIST>;
export type NamedItemsChangedBody = z.infer<typeof NAMED_ITEMS_CHANGED>;
export type CandidateRow = z.infer<typeof CANDIDATE>;
export type ListBatchBody = z.infer<typeof LIST_BATCH_RESULT>;
export type LabelBody = z.infer<typeof LABEL>;
export type ShadowReviewRow = z.infer<typeof SHADOW_REVIEW>;
export type WebhookRow = z.infer<typeof WEBHOOK>;
export type DeliveryRow = z.infer<typeof DELIVERY>;
export type DeliveryDetail = z.infer<typeof DELIVERY_DETAIL>;
export type AuditRow = z.infer<typeof AUDIT_PAGE>['data'][number];
export type ReadinessBody = z.infer<typeof READINESS>;
export type LayerBody = NonNullable<ReadinessBody['layers']>['store'];
export type ProblemBody = z.infer<typeof PROBLEM>;
export type ExplainedDecisionBody = z.infer<typeof EXPLAINED_DECISION>;
export type SimulationBody = z.infer<typeof SIMULATION>;
export type MeBody = z.infer<typeof ME>;
export type ApiKeyRow = z.infer<typeof API_KEY>;
export type NewApiKeyBody = z.infer<typeof NEW_API_KEY>;
export type PolicyBody = z.infer<typeof POLICY>;
export type PolicyHistoryBody = z.infer<typeof POLICY_HISTORY>;
export type RuleCountsBody = z.infer<typeof RULE_COUNTS>;
export type ChallengerCountsBody = z.infer<typeof CHALLENGER_COUNTS>;
export type OwnRuleRow = z.infer<typeof OWN_RULE_LIST>['data'][number];
export type OwnRuleListBody = z.infer<typeof OWN_RULE_LIST>;
export type OwnRuleBody = z.infer<typeof OWN_RULE>;
export type CheckedRuleBody = z.infer<typeof CHECKED_RULE>;
export type BacktestStartedBody = z.infer<typeof BACKTEST_STARTED>;
export type BacktestBody = z.infer<typeof BACKTEST_JOB>;
export type FactRow = z.infer<typeof FACT_LIST>['data'][number];
export type TopBody = z.infer<typeof TOP>;
export type SignedInBody = z.infer<typeof SIGNED_IN>;
export type ConnectorRow = z.infer<typeof CONNECTOR>;
export type OperationBody = ConnectorRow['operations'][number];
export type ExtractionRow = z.infer<typeof EXTRACTION>;
export type ExtractionCreatedBody = z.infer<typeof EXTRACTION_CREATED>;
export type WatchRow = z.infer<typeof WATCH>;
export type WatchCreatedBody = z.infer<typeof WATCH_CREATED>;
export type WatchChangeRow = z.infer<typeof WATCH_CHANGE>;
export type FeedTokenBody = z.infer<typeof FEED_TOKEN>;
export type RecordPageBody = z.infer<typeof RECORD_PAGE>;
