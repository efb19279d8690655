import Table from 'cli-table3';
import type { Persona } from './plan.ts';
import { DECISIONS, type Decision, type PlayedEvent, type PlayedSession } from './play.ts';

/** What came out for one persona. */
export interface PersonaResult {
  readonly id: string;
  readonly title: string;
  readonly kind: Persona['kind'];
  /** What must be remembered to recognise it, null when nothing. */
  readonly history: string | null;
  readonly sessions: number;
  readonly events: number;
  readonly decisions: Readonly<Record<Decision, number>>;
  readonly median_score: number;
  /** The most frequent first, with the share of events that gave it. */
  readonly reasons: readonly { readonly reason: string; readonly share: number }[];
  /** Events with SOFT_CHALLENGE, REVIEW or BLOCK, and sessions with at least one of them. */
  readonly stopped_events: number;
  readonly stopped_sessions: number;
}

export interface Report {
  /** Midnight UTC at which the last simulated day ends. */
  readonly until: string;
  readonly sessions: number;
  readonly events: number;
  /** Share of the shoppers' events with SOFT_CHALLENGE or worse. */
  readonly false_alarm_rate: number;
  readonly personas: readonly PersonaResult[];
}

export function makeReport(until: string, personas: readonly Persona[], played: readonly PlayedSession[]): Report {
  const results = personas.map((persona) =>
    summarise(
      persona,
      played.filter((session) => session.persona === persona),
    ),
  );
  const shoppers = results.filter(({ kind }) => kind === 'shopper');
  return {
    until,
    sessions: sum(results, ({ sessions }) => sessions),
    events: sum(results, ({ events }) => events),
    false_alarm_rate: share(
      sum(shoppers, (one) => one.stopped_events),
      sum(shoppers, ({ events }) => events),
    ),
    personas: results,
  };
}

function summarise({ id, title, kind, history }: Persona, sessions: readonly PlayedSession[]): PersonaResult {
  const events = sessions.flatMap((session) => session.events);
  const counts = new Map<string, number>();
  for (const { reasons } of events) for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const scores = events.map(({ score }) => score).sort((a, b) => a - b);
  const decisions = Object.fromEntries(
    DECISIONS.map((name) => [name, events.filter(({ decision }) => decision === name).length]),
  ) as Record<Decision, number>;
  return {
    id,
    title,
    kind,
    history,
    sessions: sessions.length,
    events: events.length,
    decisions,
    median_score: scores[Math.floor((scores.length - 1) / 2)] ?? 0,
    reasons: [...counts]
      .sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
      .map(([reason, count]) => ({ reason, share: share(count, events.length) })),
    stopped_events: events.filter(isStopped).length,
    stopped_sessions: sessions.filter((session) => session.events.some(isStopped)).length,
  };
}

function isStopped({ decision }: PlayedEvent): boolean {
  return decision === 'SOFT_CHALLENGE' || decision === 'REVIEW' || decision === 'BLOCK';
}

const GROUPS: readonly (readonly [string, (result: PersonaResult) => boolean])[] = [
  ['SHOPPERS', ({ kind }) => kind === 'shopper'],
  ['ATTACKERS, one request shows them', ({ kind, history }) => kind === 'attacker' && history === null],
  ['ATTACKERS, only history shows them', ({ kind, history }) => kind === 'attacker' && history !== null],
  ['BROKEN INTEGRATIONS', ({ kind }) => kind === 'integration'],
];
const REASONS_SHOWN = 3;

export function tableOf({ personas }: Report): string {
  // Score is the typical one: the median.
  const head = [
    'Persona',
    'Sessions',
    'Events',
    'ALLOW',
    'WATCH',
    'CHALLENGE',
    'REVIEW',
    'BLOCK',
    'Score',
    'Top reasons, share of events',
  ];
  // No colours: what is piped or pasted stays plain.
  const table = new Table({
    head,
    style: { head: [], border: [] },
    // A line between any two rows would double the height.
    chars: { mid: '', 'left-mid': '', 'mid-mid': '', 'right-mid': '' },
    colAligns: ['left', ...Array.from({ length: 8 }, () => 'right' as const), 'left'],
  });
  for (const [title, belongs] of GROUPS) {
    const group = personas.filter(belongs);
    if (group.length > 0) table.push(head.map((_, column) => (column === 0 ? `\n${title}` : '')));
    for (const one of group) {
      const top = one.reasons.slice(0, REASONS_SHOWN);
      table.push([
        `  ${one.title}`,
        one.sessions,
        one.events,
        ...DECISIONS.map((name) => one.decisions[name] || ''),
        one.median_score.toFixed(1),
        top.map(({ reason, share }) => `${reason} ${percent(share)}`).join('\n') || '-',
      ]);
    }
  }
  return table.toString();
}

/** Choice: below this share of its sessions a persona counts as not caught. */
const CAUGHT_SHARE_MIN = 0.1;

/** The table in words. Every sentence follows from the results, so it changes when the rules do. */
export function readingOf({ personas, false_alarm_rate: falseAlarms }: Report): string {
  const lines: string[] = [];
  const shoppers = personas.filter(({ kind }) => kind === 'shopper');
  const events = sum(shoppers, (one) => one.events);
  const alarms = sum(shoppers, (one) => one.stopped_events);
  lines.push(
    `False alarms: ${alarms} of ${events} events of shoppers were challenged, reviewed or blocked (${percent(falseAlarms)}).`,
  );
  for (const one of shoppers.filter(({ stopped_events: stopped }) => stopped > 0)) {
    lines.push(`  ${one.title}: ${one.stopped_events} of ${one.events} (${reasonsOf(one)})`);
  }
  const attackers = personas.filter(({ kind }) => kind === 'attacker');
  lines.push('', 'Attackers, sessions with at least one challenge, review or block:');
  for (const one of attackers) {
    const caught = `${one.stopped_sessions} of ${one.sessions}`;
    lines.push(
      `  ${one.title.padEnd(38)}${caught.padStart(9)}  ${percent(share(one.stopped_sessions, one.sessions)).padStart(6)}`,
    );
  }
  const missed = attackers.filter((one) => share(one.stopped_sessions, one.sessions) < CAUGHT_SHARE_MIN);
  if (missed.length > 0) {
    lines.push('', 'Not caught by this version:');
    for (const one of missed) {
      lines.push(
        one.history === null
          ? `  ${one.title}: its requests show it, and yet it passed.`
          : `  ${one.title}: each request alone looks like a shopper's; it takes rules with memory (${one.history}).`,
      );
    }
  }
  return lines.join('\n');
}

function reasonsOf({ reasons }: PersonaResult): string {
  return reasons
    .slice(0, REASONS_SHOWN)
    .map(({ reason }) => reason)
    .join(', ');
}

function sum<T>(list: readonly T[], of: (one: T) => number): number {
  return list.reduce((total, one) => total + of(one), 0);
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((part / whole) * 10_000) / 10_000;
}

function percent(value: number): string {
  return `${(value * 100).toFixed(value === 0 || value === 1 ? 0 : 1)} %`;
}
