import type { Facts } from '../risk/facts.ts';
import { type EventCounter, type HistoryEvent, NO_COUNTERS } from '../risk/history.ts';
import type { DecisionInput } from '../risk/conditions/decision-input.ts';
import type { CompiledCounter, CounterPart, CounterSubject } from '../risk/policy/compile-counters.ts';

/** Returns what the event says to the customer's own counters. `facts`: those that the event was made of. */
export function eventCounters(
  compiled: readonly CompiledCounter[],
  event: HistoryEvent,
  facts: Facts,
  inList: DecisionInput['inList'],
): readonly EventCounter[] {
  const { publicKey } = event;
  const { attributes } = facts;
  const input: DecisionInput = { facts, publicKey, attributes, score: 0, reasons: NONE, probability: null, inList };
  const counters: EventCounter[] = [];
  for (const { id, kind, window, by, of, when } of compiled) {
    const subject = valueOf(by, event, input);
    if (subject === undefined) continue;
    const counted = of === null ? 1 : valueOf(of, event, input);
    const counts = counted !== undefined && (when === null || when.holds(input));
    counters.push({
      id,
      kind,
      window,
      subject: String(subject),
      counts,
      member: kind === 'distinct' && counts ? String(counted) : '',
      value: kind === 'sum' && counts ? Number(counted) : 0,
    });
  }
  return counters.length === 0 ? NO_COUNTERS : counters;
}

const NONE: readonly string[] = [];

/** Undefined if the event does not have it. */
function valueOf(part: CounterPart, event: HistoryEvent, input: DecisionInput): string | number | undefined {
  if (part.kind === 'subject') return subjectOf(part.subject, event);
  if (part.kind === 'entity') return entityOf(part.name, event, input.facts);
  const value = part.read(input);
  return typeof value === 'string' || typeof value === 'number' ? value : undefined;
}

function subjectOf(
  subject: CounterSubject,
  { sessionId, networks, device, browser, entities }: HistoryEvent,
): string | undefined {
  switch (subject) {
    case 'account':
      return (entities.find(({ value }) => value.includes('@')) ?? entities[0])?.value;
    case 'device':
      return browser ?? device ?? undefined;
    case 'session':
      return sessionId;
    case 'ip':
      return networks?.host;
    case 'network':
      return networks?.site;
    case 'customer':
      return '';
  }
}

/** An e-mail is represented by its mailbox. Entities that identify no person count here too. */
function entityOf(name: string, { entities }: HistoryEvent, facts: Facts): string | undefined {
  const isIt = (one: { readonly name: string }): boolean => one.name === name;
  return (entities.find(isIt) ?? facts.entities.find(isIt))?.value;
}
