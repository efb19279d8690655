import { type NoticeEvent, NOTICE_EVENTS } from '../contract/vocabulary.ts';
import { cleanText } from './formats/event-text.ts';

/** Something that happened to an account and is no decision, for webhooks that subscribe to it by `events`. Source: contract, 10.13. */
export interface Notice {
  readonly event: NoticeEvent;
  /** The decision that it concerns; null for none. */
  readonly requestId: string | null;
  /** Members of the body beside those that every notice has. No identities, no free text. */
  readonly fields: Readonly<Record<string, string | number | null>>;
}

/** A notice as it is delivered. */
export interface SentNotice extends Notice {
  /** `evt_…`: the same for every webhook and retry. */
  readonly eventId: string;
  readonly occurredAtMs: number;
  /** Whether the account is that of test keys. */
  readonly isTest: boolean;
}

/** Returns the body in the standard format. */
export function noticeBody({ event, eventId, requestId, fields, occurredAtMs, isTest }: SentNotice): string {
  return JSON.stringify({
    event,
    event_id: eventId,
    ...(requestId !== null && { request_id: requestId }),
    ...fields,
    timestamp: Math.floor(occurredAtMs / 1_000),
    ...(isTest && { livemode: false }),
  });
}

const TITLES: Readonly<Record<NoticeEvent, string>> = {
  'review.verdict': 'Verdict of a review',
  'label.created': 'Decision labelled',
  'list.changed': 'List changed',
  'rule.tripped': 'Rule set back to observe',
  'webhook.unhealthy': 'Webhook unhealthy',
  'watch.changes': 'Changes found by a watch',
};

export function noticeTitle({ event, isTest }: SentNotice): string {
  return `${isTest ? 'Test: ' : ''}${TITLES[event]}`;
}

/** Returns title and clean value of each field, for people. */
export function noticeFacts({ requestId, fields }: Notice): readonly (readonly [title: string, value: string])[] {
  const all: readonly (readonly [string, string | number | null])[] = [
    ...Object.entries(fields),
    ...(requestId === null ? [] : [['request', requestId] as const]),
  ];
  return all.flatMap(([name, value]) => (value === null ? [] : [[titleOf(name), cleanText(String(value))] as const]));
}

function titleOf(name: string): string {
  const words = name.replaceAll('_', ' ');
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

const EXAMPLE_FIELDS: Readonly<Record<NoticeEvent, Notice['fields']>> = {
  'review.verdict': { verdict: 'fraud', decision: 'REVIEW', score: 70 },
  'label.created': { label: 'fraud' },
  'list.changed': { list: null, kind: 'ip', change: 'put', action: 'block', added: 1, removed: 0 },
  'rule.tripped': { rule: 'own_new_device', touched: 180, decisions: 400 },
  'webhook.unhealthy': { webhook_id: 'wh_01KB2R4T00AAAAAAAAAAAAAAAA', consecutive_failures: 10 },
  'watch.changes': { watch_id: 'wat_01KB2R4T00AAAAAAAAAAAAAAAA', run: 12, new: 2, changed: 3, gone: 1 },
};

/** Returns what a test of such a webhook sends, and what the documents show. */
export function exampleNotice(event: NoticeEvent, sent: Omit<SentNotice, 'event' | 'fields'>): SentNotice {
  const ofDecision = event === 'review.verdict' || event === 'label.created';
  return { ...sent, event, requestId: ofDecision ? sent.requestId : null, fields: EXAMPLE_FIELDS[event] };
}

export function isNoticeEvent(event: string): event is NoticeEvent {
  return (NOTICE_EVENTS as readonly string[]).includes(event);
}
