import type { NoticeEvent, WebhookFormat } from '../../contract/vocabulary.ts';
import { noticeBody, noticeFacts, noticeTitle, type SentNotice } from '../notice.ts';
import { cefLine } from './cef-event.ts';
import type { BodyWishes } from './event-formats.ts';
import { ocsfBaseEvent } from './ocsf-finding.ts';
import { slackBlocks } from './slack-message.ts';
import { teamsCard } from './teams-message.ts';

/** Severities as CEF (0 to 10) and OCSF (1 to 5) have them. Choice: what an operator must act on stands out. */
const NOTICE_SEVERITIES: Readonly<Record<NoticeEvent, { readonly cef: number; readonly ocsf: number }>> = {
  'review.verdict': { cef: 2, ocsf: 1 },
  'label.created': { cef: 2, ocsf: 1 },
  'list.changed': { cef: 3, ocsf: 1 },
  'rule.tripped': { cef: 7, ocsf: 3 },
  'webhook.unhealthy': { cef: 7, ocsf: 3 },
  'watch.changes': { cef: 3, ocsf: 1 },
};

const FORMATS: Readonly<Record<WebhookFormat, (notice: SentNotice) => string>> = {
  standard: noticeBody,
  slack: (notice) => slackBlocks(noticeTitle(notice), noticeFacts(notice), notice.occurredAtMs),
  teams: (notice) => teamsCard(noticeTitle(notice), noticeFacts(notice), notice.occurredAtMs),
  cef(notice) {
    const facts = noticeFacts(notice).map(([name, value]) => `${name}: ${value}`);
    return cefLine(notice.event, noticeTitle(notice), NOTICE_SEVERITIES[notice.event].cef, [
      ['rt', String(notice.occurredAtMs)],
      ['externalId', notice.eventId],
      ['msg', facts.join(', ')],
    ]);
  },
  ocsf: (notice) => ocsfBaseEvent(notice, noticeTitle(notice), NOTICE_SEVERITIES[notice.event].ocsf),
};

/** Returns the body of a notice. `fields` of a webhook concerns decisions only. */
export function formatNotice(notice: SentNotice, { format = 'standard' }: BodyWishes): string {
  return FORMATS[format](notice);
}
