import type { Decision } from '../../risk/decision.ts';
import type { EventDetail, EventInput } from '../webhook-event.ts';

/** What the formats share: texts of an event for people, and how grave a decision is. */

/** A decision as a format gets it. */
export interface FormattedEvent {
  readonly event: EventInput;
  /** Null if the record of the decision is not known. */
  readonly detail: EventDetail | null;
}

/** Choice: no value of an event needs more; a message has at most some 5 KB. */
const VALUE_CHARACTERS_MAX = 300;
/** Choice: as many as a person reads in a message. */
const REASONS_SHOWN_MAX = 10;

/** Control characters, and those that turn or hide the text around them. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Returns a text on one line, without invisible characters, truncated. */
export function cleanText(text: string): string {
  const clean = text.replace(UNSAFE, ' ').trim();
  return clean.length <= VALUE_CHARACTERS_MAX ? clean : `${clean.slice(0, VALUE_CHARACTERS_MAX - 1)}…`;
}

/** Returns title and clean value of what is known of the decision, in the order of importance; at most 8. */
export function eventFacts({ event, detail }: FormattedEvent): readonly (readonly [title: string, value: string])[] {
  const shown = event.reasons.slice(0, REASONS_SHOWN_MAX);
  const more = event.reasons.length - shown.length;
  const facts: readonly (readonly [string, string | null])[] = [
    ['Score', String(event.score)],
    ['Event', detail?.eventType ?? null],
    ['Address', detail?.ip ?? null],
    ['Country', detail?.country ?? null],
    ['Page', detail?.path ?? null],
    ['Reasons', shown.length === 0 ? null : shown.join(', ') + (more > 0 ? ` and ${more} more` : '')],
    ['Fingerprint', detail?.fingerprintHash ?? null],
    ['Request', event.requestId],
  ];
  return facts.flatMap(([title, value]) =>
    value === null || value === '' ? [] : [[title, cleanText(value)] as const],
  );
}

/** `BLOCK with a score of 97.5: payment`, and `Test: ` before it for a test key. */
export function eventTitle({ event, detail }: FormattedEvent): string {
  const type = detail === null || detail.eventType === '' ? '' : `: ${cleanText(detail.eventType)}`;
  return `${event.isTest === true ? 'Test: ' : ''}${event.decision} with a score of ${event.score}${type}`;
}

/** How grave each decision is: 0 to 10 as CEF has it, and `severity_id` of OCSF (1 informational to 5 critical). Choice: ours. */
export const SEVERITIES: Readonly<Record<Decision, { readonly cef: number; readonly ocsf: number }>> = {
  ALLOW: { cef: 0, ocsf: 1 },
  ALLOW_WATCH: { cef: 3, ocsf: 2 },
  SOFT_CHALLENGE: { cef: 5, ocsf: 3 },
  REVIEW: { cef: 7, ocsf: 3 },
  BLOCK: { cef: 9, ocsf: 4 },
};
