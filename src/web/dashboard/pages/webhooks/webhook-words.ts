import type { DeliveryError, DeliveryStatus, DeliveryTrigger, NoticeEvent } from '../../../../contract/vocabulary.ts';
import type { DeliveryRow, WebhookRow } from '../../../../contract/wire-types.ts';
import type { Tone } from '../../components/state-mark.tsx';
import { countOf, formatAgo, formatTime } from '../../format.ts';

/** States of webhooks and deliveries in words. */

export interface InWords {
  readonly tone: Tone;
  readonly word: string;
  readonly why: string;
}

/** Failed deliveries in a row that make a webhook unhealthy. Source: contract, 10.7. */
const FAILURES_MAX = 10;

/** `now` in Unix seconds. */
export function healthOf(webhook: WebhookRow, now: number): InWords {
  const { consecutive_failures: failures, last_success_at: success, last_failure_at: failure } = webhook;
  const lastSuccess = success === null ? 'nothing was delivered yet' : `last delivered ${formatAgo(success, now)}`;
  if (webhook.disabled)
    return { tone: 'idle', word: 'Paused', why: 'Paused by you: nothing is sent, and pending deliveries are skipped' };
  if (webhook.status === 'unhealthy') {
    const since = webhook.unhealthy_since === null ? '' : ` since ${formatTime(webhook.unhealthy_since, now)}`;
    const next =
      webhook.next_probe_at === null
        ? 'a trial is being sent now'
        : webhook.next_probe_at <= now
          ? webhook.retry === 'patient'
            ? 'the oldest delivery is sent as a trial'
            : 'the next matching decision is sent as a trial'
          : `tried again at ${formatTime(webhook.next_probe_at, now)}`;
    return { tone: 'bad', word: 'Unhealthy', why: `${failures} failed in a row${since}, ${next}; ${lastSuccess}` };
  }
  if (failures > 0) {
    const last = failure === null ? '' : `, the last ${formatAgo(failure, now)}`;
    return {
      tone: 'warn',
      word: 'Failing',
      why: `${failures} failed in a row${last}; ${FAILURES_MAX} make it unhealthy`,
    };
  }
  if (success === null) return { tone: 'idle', word: 'Unused', why: 'Nothing was sent yet: open it to send a test' };
  return { tone: 'good', word: 'Healthy', why: `Last delivered ${formatAgo(success, now)}` };
}

export const STATUS_WORDS: Readonly<Record<DeliveryStatus, { readonly tone: Tone; readonly word: string }>> = {
  pending: { tone: 'idle', word: 'Pending' },
  succeeded: { tone: 'good', word: 'Delivered' },
  failed: { tone: 'bad', word: 'Failed' },
  skipped: { tone: 'warn', word: 'Skipped' },
};

export const TRIGGER_WORDS: Readonly<Record<DeliveryTrigger, string>> = {
  decision: 'decision',
  probe: 'trial of an unhealthy endpoint',
  test: 'test',
  manual: 'sent again',
  extraction: 'extraction',
  event: 'event',
};

const ERROR_WORDS: Readonly<Record<DeliveryError, string>> = {
  dns_error: 'the host name was not found',
  blocked_address: 'the host has an address that this service may not reach',
  connection_refused: 'the connection was refused: nothing listens there',
  connection_reset: 'the connection was closed before a response',
  connect_timeout: 'connecting timed out',
  timeout: 'the response timed out',
  tls_error: 'TLS failed: is the certificate valid for this name?',
  redirect_blocked: 'it redirects, which is never followed',
  response_too_large: 'the response was too large',
  http_status: 'the status is not 2xx',
  gone: 'the receiver responded 410 Gone, or the webhook was deleted',
  shutdown: 'the service stopped meanwhile',
  unhealthy: 'not sent: the endpoint was unhealthy',
  disabled: 'not sent: the webhook was paused',
  bad_response: 'the response is not valid HTTP',
};

/** `503: the status is not 2xx`; null without an error. */
export function errorWords(error: DeliveryError | null, statusCode: number | null): string | null {
  if (error === null) return null;
  return `${statusCode === null ? '' : `${statusCode}: `}${ERROR_WORDS[error]}`;
}

export interface Figures {
  readonly succeeded: number;
  readonly failed: number;
  /** Milliseconds of the attempts that got a response, oldest first. */
  readonly durationsMs: readonly number[];
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
}

/** Sums up deliveries, newest first. Tests count too: they reach the same receiver. */
export function deliveryFiguresOf(deliveries: readonly DeliveryRow[]): Figures {
  const durationsMs = deliveries
    .flatMap(({ attempts }) => attempts.filter(({ status_code: code }) => code !== null))
    .sort((a, b) => a.started_at - b.started_at)
    .map(({ duration_ms: ms }) => ms);
  const sorted = [...durationsMs].sort((a, b) => a - b);
  const at = (share: number): number | null => sorted[Math.ceil(sorted.length * share) - 1] ?? null;
  return {
    succeeded: deliveries.filter(({ status }) => status === 'succeeded').length,
    failed: deliveries.filter(({ status }) => status === 'failed').length,
    durationsMs,
    p50Ms: at(0.5),
    p95Ms: at(0.95),
  };
}

export function attemptsOf({ attempt_count: count }: DeliveryRow): string {
  return count === 0 ? 'none' : countOf(count, 'attempt');
}

/** Formats of bodies, in words. */
export const FORMAT_CHOICES = [
  { value: 'standard', title: 'Standard: JSON for your own receiver' },
  { value: 'slack', title: 'Slack: a message' },
  { value: 'teams', title: 'Microsoft Teams: a card by workflow' },
  { value: 'cef', title: 'CEF: a line for a SIEM' },
  { value: 'ocsf', title: 'OCSF: a finding for a SIEM' },
] as const;

export const RETRY_CHOICES = [
  { value: 'fast', title: 'Within seconds; skipped while the receiver is down' },
  { value: 'patient', title: 'For 35 hours; kept while the receiver is down' },
] as const;

/** Further events, in words. */
export const NOTICE_WORDS: Readonly<Record<NoticeEvent, string>> = {
  'review.verdict': 'Review verdict',
  'label.created': 'Label',
  'list.changed': 'List changed',
  'rule.tripped': 'Rule tripped',
  'webhook.unhealthy': 'Webhook unhealthy',
  'watch.changes': 'Changes of a watch',
};
