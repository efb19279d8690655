/**
 * Words with a fixed set of values on the wire, each in its order. Free of zod, so that the decide path may import it.
 * Positions cross threads and are stored, so a new value is appended unless its comment says otherwise.
 */

/** The five decisions, mildest first; the position is the number passed between threads. Source: contract, 6.1. */
export const DECISIONS = ['ALLOW', 'ALLOW_WATCH', 'SOFT_CHALLENGE', 'REVIEW', 'BLOCK'] as const;
export type Decision = (typeof DECISIONS)[number];

/** Source: contract, 5.2. */
export const SESSION_MODES = ['full', 'unverified', 'degraded', 'no_session'] as const;
export type SessionMode = (typeof SESSION_MODES)[number];

/** `observe`: a rule of the customer's own is evaluated and kept, without an effect. Source: contract, 6.7. */
export const OWN_RULE_MODES = ['observe', 'enforce'] as const;
export type OwnRuleMode = (typeof OWN_RULE_MODES)[number];

/** Actions of a customer's own list for a fingerprint. Source: contract, 7.2. */
export const LIST_ACTIONS = ['block', 'allow', 'watch'] as const;
export type ListAction = (typeof LIST_ACTIONS)[number];

/** A customer's label for a decision. Source: contract, 9.2. */
export const LABELS = ['fraud', 'legitimate'] as const;
export type Label = (typeof LABELS)[number];

/** A reviewer's verdict in the shadow queue. Source: contract, 9.3. */
export const VERDICTS = ['fraud', 'legitimate', 'unsure'] as const;
export type ReviewVerdict = (typeof VERDICTS)[number];

/** What a crawler comes for; a policy decides about verified ones by it. Source: contract, 6.2. */
export const AGENT_PURPOSES = ['search', 'ai_training', 'ai_user', 'monitor', 'preview', 'shopping'] as const;
export type AgentPurpose = (typeof AGENT_PURPOSES)[number];

/**
 * How a crawler proved that it is what it names: by its address, by the name of that, or by its signature; `none`: it comes from
 * elsewhere. Its position is stored, so new ones must be appended. Source: contract, 9.4.
 */
export const AGENT_VERIFICATIONS = ['none', 'range', 'dns', 'signature'] as const;
export type AgentVerification = (typeof AGENT_VERIFICATIONS)[number];

/** Outcomes of the action that an event reports. Their position is stored, so new ones must be appended. Source: contract, 4.2. */
export const OUTCOMES = ['succeeded', 'failed', 'declined', 'challenge_passed', 'challenge_failed'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Why a decision is in the shadow review queue; `risk/shadow.ts` says when each applies. Source: contract, 9.3. */
export const SHADOW_REASONS = ['sample', 'near_block', 'challenger'] as const;
export type ShadowReason = (typeof SHADOW_REASONS)[number];

/** Why a decision is in the review queue; `review`: it is a REVIEW to which no shadow reason applies. Positions are stored. */
export const REVIEW_REASONS = ['sample', 'near_block', 'challenger', 'review'] as const;
export type ReviewReason = (typeof REVIEW_REASONS)[number];

/** What a verdict on a row of the shadow review queue is about. */
export type ReviewKind = 'passed' | 'stopped' | 'sampled';

/**
 * Shares of the shadow review queue: decisions that passed and on which a challenger differs, those that were stopped and on which it
 * differs, and samples. What one kind leaves unused goes to the others.
 * Choice: a model learns most where it would stop what the rules let pass, and only a sample finds what both are wrong about.
 * Measured: docs/models.md, "Fifty verdicts".
 */
export const REVIEW_SHARES: Readonly<Record<ReviewKind, number>> = { passed: 0.6, stopped: 0.2, sampled: 0.2 };

/** `effective`: in observe mode the decision that would have been. */
export function reviewKindOf(why: ReviewReason, effective: Decision): ReviewKind {
  if (why !== 'challenger') return 'sampled';
  return effective === 'ALLOW' || effective === 'ALLOW_WATCH' ? 'passed' : 'stopped';
}

/** The parts of the review queue: decisions with `shadow_routed`, every REVIEW, or both. Source: contract, 9.3. */
export const REVIEW_QUEUES = ['shadow', 'review', 'all'] as const;
export type ReviewQueue = (typeof REVIEW_QUEUES)[number];

export const REVIEW_ORDERS = ['newest', 'oldest', 'score'] as const;
export type ReviewOrder = (typeof REVIEW_ORDERS)[number];

/** An open row has no verdict and was not closed. */
export const REVIEW_STATES = ['open', 'done'] as const;
export type ReviewState = (typeof REVIEW_STATES)[number];

/** Kinds of entries in the audit log. Source: contract, 9.6. */
export const AUDIT_KINDS = [
  'customer.created',
  'key.created',
  'key.revoked',
  'list.put',
  'list.batch',
  'list.removed',
  'registry.imported',
  'registry.removed',
  'label.set',
  'review.judged',
  'webhook.created',
  'webhook.changed',
  'webhook.removed',
  'webhook.rotated',
  'webhook.health',
  'review.changed',
  'rule.put',
  'rule.removed',
  'customer.changed',
  'customer.deleted',
  'named_list.put',
  'named_list.items',
  'named_list.removed',
  'key.replaced',
  'model.promoted',
  'model.rolled_back',
  'model.resumed',
  'privacy.erase',
  'privacy.export',
  'watch.created',
  'watch.changed',
  'watch.removed',
] as const;
export type AuditKind = (typeof AUDIT_KINDS)[number];

export const DELIVERY_STATUSES = ['pending', 'succeeded', 'failed', 'skipped'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** The position is stored, so new ones are appended. */
export const DELIVERY_TRIGGERS = ['decision', 'probe', 'test', 'manual', 'extraction', 'event'] as const;
export type DeliveryTrigger = (typeof DELIVERY_TRIGGERS)[number];

/** Events of extraction jobs are delivered in the same way as decisions. Source: contract, 13.3. */
export const EXTRACTION_EVENTS = ['extraction.records', 'extraction.completed', 'extraction.failed'] as const;

/** What a webhook may subscribe to beside decisions. The position is stored, so new ones are appended. Source: contract, 10.13. */
export const NOTICE_EVENTS = [
  'review.verdict',
  'label.created',
  'list.changed',
  'rule.tripped',
  'webhook.unhealthy',
  'watch.changes',
] as const;
export type NoticeEvent = (typeof NOTICE_EVENTS)[number];

/** Every event of a delivery. The position is stored, so new ones are appended. */
export const DELIVERY_EVENTS = [...DECISIONS, ...EXTRACTION_EVENTS, ...NOTICE_EVENTS] as const;
export type DeliveryEvent = (typeof DELIVERY_EVENTS)[number];

/** Why an attempt or a delivery failed. The position is stored, so new ones must be appended. */
export const DELIVERY_ERRORS = [
  'dns_error',
  'blocked_address',
  'connection_refused',
  'connection_reset',
  'connect_timeout',
  'timeout',
  'tls_error',
  'redirect_blocked',
  'response_too_large',
  'http_status',
  'gone',
  'shutdown',
  'unhealthy',
  'disabled',
  'bad_response',
] as const;
export type DeliveryError = (typeof DELIVERY_ERRORS)[number];

/** Source: contract, 12.2; a status only moves from left to right. */
export const EXTRACTION_STATUSES = ['queued', 'running', 'succeeded', 'failed'] as const;
export type ExtractionStatus = (typeof EXTRACTION_STATUSES)[number];

/** The generic reasons of a failed job. Source: contract, 12.4. */
export const FAILURE_REASONS = [
  'source_unavailable',
  'source_not_found',
  'access_denied',
  'rate_limited_by_source',
  'robots_disallowed',
  'login_required',
  'session_expired',
  'unsupported_content',
  'parse_failed',
  'schema_mismatch',
  'timeout',
  'limit_reached',
  'cancelled',
  'internal_error',
] as const;
export type FailureReason = (typeof FAILURE_REASONS)[number];

/**
 * Codes of a job's `notes`, in wire order. The position of a code is its bit in the stored state, so new codes are appended.
 */
export const JOB_NOTES = [
  'records_truncated',
  'records_dropped',
  'list_incomplete',
  'page_limit_reached',
  'depth_limit_reached',
] as const;
export type JobNote = (typeof JOB_NOTES)[number];

/** What a watch tells about a record. Source: contract, 11.7. */
export const WATCH_CHANGE_KINDS = ['new', 'changed', 'gone'] as const;
export type WatchChangeKind = (typeof WATCH_CHANGE_KINDS)[number];

/** How the records of a run were compared. */
export const WATCH_NOTES = ['duplicate_key', 'missing_key', 'incomplete', 'selector_drift'] as const;
export type WatchNote = (typeof WATCH_NOTES)[number];

/** Formats of the changes of a watch. */
export const WATCH_FORMATS = ['json', 'ndjson', 'atom', 'rss'] as const;
export type WatchFormat = (typeof WATCH_FORMATS)[number];

/** Languages of an explanation for the person whom a decision is about. */
export const EXPLANATION_LANGUAGES = ['en', 'de', 'fr', 'es'] as const;

export const OUTPUT_FORMATS = ['json', 'ndjson', 'csv'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** Formats of a page of records: those of a job's output, and Markdown. */
export const RECORD_FORMATS = [...OUTPUT_FORMATS, 'md', 'parquet'] as const;
export type RecordFormat = (typeof RECORD_FORMATS)[number];

/** The member that every record of an extraction has besides its fields. */
export const META = '_meta';

/** Kinds of values that a customer lists, beside identities, which have `ENTITY_KIND` and their name. Source: contract, 7.1. */
export const LIST_KINDS = [
  'fingerprint',
  'browser',
  'ip',
  'network',
  'asn',
  'country',
  'email',
  'email_domain',
  'user_agent',
] as const;
export const ENTITY_KIND = 'entity.';
/** The kind of a named list of any texts. Source: contract, 7.6. */
export const TEXT_KIND = 'text';

/** Formats of a webhook's bodies. Source: contract, 10.11. */
export const WEBHOOK_FORMATS = ['standard', 'slack', 'teams', 'cef', 'ocsf'] as const;
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number];

/** What the standard format contains. Source: contract, 10.11. */
export const WEBHOOK_FIELDS = ['event', 'full'] as const;
export type WebhookFields = (typeof WEBHOOK_FIELDS)[number];

/** How long a webhook's failed deliveries are retried. Source: contract, 10.14. */
export const WEBHOOK_RETRIES = ['fast', 'patient'] as const;
export type WebhookRetry = (typeof WEBHOOK_RETRIES)[number];
