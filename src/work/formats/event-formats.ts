import type { WebhookFields, WebhookFormat } from '../../contract/vocabulary.ts';
import { type DecidedEvent, eventBody, fullEventBody } from '../webhook-event.ts';
import { cefEvent } from './cef-event.ts';
import type { FormattedEvent } from './event-text.ts';
import { ocsfFinding } from './ocsf-finding.ts';
import { slackMessage } from './slack-message.ts';
import { teamsMessage } from './teams-message.ts';

/** What a webhook wants in its bodies. Absent: the standard format with the fields of the event. */
export interface BodyWishes {
  readonly format?: WebhookFormat | undefined;
  readonly fields?: WebhookFields | undefined;
}

const FORMATS: Readonly<Record<Exclude<WebhookFormat, 'standard'>, (decided: FormattedEvent) => string>> = {
  slack: slackMessage,
  teams: teamsMessage,
  cef: cefEvent,
  ocsf: ocsfFinding,
};

/** Returns the body of a delivery. Source: contract, 10.3 and 10.11. */
export function formatEvent(decided: DecidedEvent | FormattedEvent, { format, fields }: BodyWishes): string {
  if (format !== undefined && format !== 'standard') return FORMATS[format](decided);
  return fields === 'full' ? fullEventBody(decided) : eventBody(decided.event);
}

/** Returns the same text for webhooks that get the same bodies; empty for the default. */
export function variantOf({ format = 'standard', fields = 'event' }: BodyWishes): string {
  if (format !== 'standard') return format;
  return fields === 'full' ? 'full' : '';
}
