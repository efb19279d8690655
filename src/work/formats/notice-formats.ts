import type { NoticeEvent } from '../../contract/vocabulary.ts';
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
};

/** Returns the body of a notice. `fields` of a webhook concerns decisions only. */
export function formatNotice(notice: SentNotice, { format }: BodyWishes): string {
  const { occurredAtMs: atMs } = notice;
  const title = noticeTitle(notice);
  switch (format) {
    case 'slack':
      return slackBlocks(title, noticeFacts(notice), atMs);
    case 'teams':
      return teamsCard(title, noticeFacts(notice), atMs);
    case 'cef':
      return cefLine(notice.event, title, NOTICE_SEVERITIES[notice.event].cef, [
        ['rt', String(atMs)],
        ['externalId', notice.eventId],
        [
          'msg',
          noticeFacts(notice)
            .map(([name, value]) => `${name}: ${value}`)
            .join(', '),
        ],
      ]);
    case 'ocsf':
      return ocsfBaseEvent(notice, title, NOTICE_SEVERITIES[notice.event].ocsf);
    default:
      return noticeBody(notice);
  }
}
