import type { Expectation, Persona } from './plan.ts';
import { DECISIONS, type Decision, type PlayedEvent, type PlayedSession } from './play.ts';

/** Result of one persona. */
export interface PersonaResult {
  readonly id: string;
  readonly title: string;
  readonly kind: Persona['kind'];
  /** What must be remembered to recognise it; null when each single request reveals it. */
  readonly history: string | null;
  readonly expectation: Expectation;
  /** Whether the result matches `expectation`. */
  readonly as_expected: boolean;
  readonly sessions: number;
  readonly events: number;
  readonly decisions: Readonly<Record<Decision, number>>;
  readonly median_score: number;
  /** Sorted by frequency, descending, with the share of events that had the reason. */
  readonly reasons: readonly ReasonShare[];
  /** Strongest reasons of the stopped events, sorted by frequency, descending, with their share of these events. */
  readonly strongest_reasons: readonly ReasonShare[];
  /** Events that were challenged, held for review or blocked, and sessions with at least one such event. */
  readonly stopped_events: number;
  readonly stopped_sessions: number;
  /** Events that come before the threshold of the rule that must stop the persona, and sessions that consist only of such events. */
  readonly early_events: number;
  readonly early_sessions: number;
  /** Events from that threshold on, the number of them that were stopped, and the number of sessions with such a stopped event. */
  readonly due_events: number;
  readonly stopped_due_events: number;
  readonly stopped_due_sessions: number;
  /** For attackers: the stopped share of what its expectation measures, either sessions or events from the threshold on. */
  readonly caught: number | null;
}

export interface ReasonShare {
  readonly reason: string;
  readonly share: number;
}

export interface Report {
  /** Midnight UTC at the end of the last simulated day. */
  readonly until: string;
  readonly days: number;
  readonly sessions: number;
  readonly events: number;
  /** Share of the shoppers' events with SOFT_CHALLENGE or worse, and of their sessions with at least one such event. */
  readonly false_alarm_rate: number;
  readonly false_alarm_session_rate: number;
  /** Share of the attackers' sessions with at least one event of SOFT_CHALLENGE or worse. */
  readonly catch_rate: number;
  /**
   * Like `catch_rate`, without the attackers that rules cannot distinguish from shoppers, and without sessions that end before a threshold.
   */
  readonly due_catch_rate: number;
  /** Number of the attackers' events by decision. */
  readonly attacker_decisions: Readonly<Record<Decision, number>>;
  readonly personas: readonly PersonaResult[];
}

/** Choice: bounds of "caught" and "not caught", as shares of what the expectation measures. */
export const CAUGHT_SHARE_MIN = 0.9;
export const NOT_CAUGHT_SHARE_MAX = 0.1;

export function makeReport(
  { until, days }: Pick<Report, 'until' | 'days'>,
  personas: readonly Persona[],
  played: readonly PlayedSession[],
): Report {
  const results = personas.map((persona) =>
    summarise(
      persona,
      played.filter((session) => session.persona === persona),
    ),
  );
  const shoppers = totalsOf(results.filter(({ kind }) => kind === 'shopper'));
  const attackers = results.filter(({ kind }) => kind === 'attacker');
  const all = totalsOf(attackers);
  const due = totalsOf(attackers.filter(({ expectation }) => expectation.kind === 'caught'));
  return {
    until,
    days,
    sessions: sum(results, ({ sessions }) => sessions),
    events: sum(results, ({ events }) => events),
    false_alarm_rate: share(shoppers.stoppedEvents, shoppers.events),
    false_alarm_session_rate: share(shoppers.stoppedSessions, shoppers.sessions),
    catch_rate: share(all.stoppedSessions, all.sessions),
    due_catch_rate: share(due.stoppedDueSessions, due.sessions - due.earlySessions),
    attacker_decisions: byDecision((name) => sum(attackers, ({ decisions }) => decisions[name])),
    personas: results,
  };
}

function byDecision(count: (decision: Decision) => number): Readonly<Record<Decision, number>> {
  return Object.fromEntries(DECISIONS.map((name) => [name, count(name)])) as Record<Decision, number>;
}

export interface Totals {
  readonly sessions: number;
  readonly events: number;
  readonly stoppedSessions: number;
  readonly stoppedEvents: number;
  readonly earlySessions: number;
  readonly stoppedDueSessions: number;
}

export function totalsOf(results: readonly PersonaResult[]): Totals {
  return {
    sessions: sum(results, ({ sessions }) => sessions),
    events: sum(results, ({ events }) => events),
    stoppedSessions: sum(results, (one) => one.stopped_sessions),
    stoppedEvents: sum(results, (one) => one.stopped_events),
    earlySessions: sum(results, (one) => one.early_sessions),
    stoppedDueSessions: sum(results, (one) => one.stopped_due_sessions),
  };
}

function summarise(persona: Persona, sessions: readonly PlayedSession[]): PersonaResult {
  const { id, title, kind, history, expectation } = persona;
  const events = sessions.flatMap((session) => session.events);
  const stopped = events.filter(isStopped);
  const due = events.filter(({ early }) => !early);
  const scores = events.map(({ score }) => score).sort((a, b) => a - b);
  const decisions = byDecision((name) => events.filter(({ decision }) => decision === name).length);
  const counts = {
    sessions: sessions.length,
    events: events.length,
    decisions,
    stopped_events: stopped.length,
    stopped_sessions: sessions.filter((session) => session.events.some(isStopped)).length,
    early_events: events.length - due.length,
    early_sessions: sessions.filter((session) => session.events.every(({ early }) => early)).length,
    due_events: due.length,
    stopped_due_events: due.filter(isStopped).length,
    stopped_due_sessions: sessions.filter((session) => session.events.some((one) => !one.early && isStopped(one)))
      .length,
  };
  const caught = kind === 'attacker' ? caughtShare(expectation, counts) : null;
  return {
    id,
    title,
    kind,
    history,
    expectation,
    as_expected: isAsExpected(expectation, counts, caught ?? 0),
    ...counts,
    median_score: scores[Math.floor((scores.length - 1) / 2)] ?? 0,
    reasons: sharesOf(events.map(({ reasons }) => reasons)),
    strongest_reasons: sharesOf(stopped.map(({ strongest }) => (strongest === null ? [] : [strongest]))),
    caught,
  };
}

type Counts = Pick<
  PersonaResult,
  | 'sessions'
  | 'events'
  | 'decisions'
  | 'stopped_events'
  | 'early_sessions'
  | 'due_events'
  | 'stopped_due_events'
  | 'stopped_due_sessions'
>;

function caughtShare(expectation: Expectation, counts: Counts): number {
  return expectation.kind === 'caught' && expectation.measure === 'events'
    ? share(counts.stopped_due_events, counts.due_events)
    : share(counts.stopped_due_sessions, counts.sessions - counts.early_sessions);
}

function isAsExpected({ kind }: Expectation, counts: Counts, caught: number): boolean {
  switch (kind) {
    case 'let_through':
      return counts.stopped_events === 0;
    case 'caught':
      return caught >= CAUGHT_SHARE_MIN;
    case 'not_caught':
      return caught <= NOT_CAUGHT_SHARE_MAX;
    case 'asked':
      return counts.decisions.SOFT_CHALLENGE === counts.events;
  }
}

function isStopped({ decision }: PlayedEvent): boolean {
  return decision === 'SOFT_CHALLENGE' || decision === 'REVIEW' || decision === 'BLOCK';
}

function sharesOf(lists: readonly (readonly string[])[]): ReasonShare[] {
  const counts = new Map<string, number>();
  for (const reason of lists.flat()) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts]
    .sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .map(([reason, count]) => ({ reason, share: share(count, lists.length) }));
}

function sum<T>(list: readonly T[], of: (one: T) => number): number {
  return list.reduce((total, one) => total + of(one), 0);
}

export function share(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((part / whole) * 10_000) / 10_000;
}
