import { InvalidArgumentError } from 'commander';
import { DECISIONS, NOTICE_EVENTS, type NoticeEvent } from '../contract/vocabulary.ts';
import type { Decision } from '../risk/decision.ts';

/** Reads names of decisions, separated by commas, in any case. */
export function parseDecisions(text: string): readonly Decision[] {
  const names = [...new Set(text.split(',').map((name) => name.trim().toUpperCase()))];
  const decisions = DECISIONS.filter((decision) => names.includes(decision));
  if (decisions.length !== names.length) throw new InvalidArgumentError(`some of ${DECISIONS.join(', ')}`);
  return decisions;
}

/** What a webhook subscribes to. */
export interface SubscribedEvents {
  readonly decisions: readonly Decision[];
  readonly notices: readonly NoticeEvent[];
}

/** Reads names of decisions and of further events, separated by commas, in any case. */
export function parseEvents(text: string): SubscribedEvents {
  const names = [...new Set(text.split(',').map((name) => name.trim().toLowerCase()))];
  const decisions = DECISIONS.filter((decision) => names.includes(decision.toLowerCase()));
  const notices = NOTICE_EVENTS.filter((event) => names.includes(event));
  if (decisions.length + notices.length !== names.length)
    throw new InvalidArgumentError(`some of ${[...DECISIONS, ...NOTICE_EVENTS].join(', ')}`);
  return { decisions, notices };
}
