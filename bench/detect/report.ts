import { computeRoc, type Roc } from './roc.ts';
import type { CampaignResult, SessionResult, Tally } from './tally.ts';

/** A count and its total. */
export interface Share {
  readonly part: number;
  readonly of: number;
}

/** Honest sessions and people of one kind, or of all kinds. */
export interface HonestRow {
  readonly kind: string;
  readonly isOrdinary: boolean;
  /** Challenged or worse. */
  readonly sessions: Share;
  readonly people: Share;
  readonly firstHours: Share;
  readonly later: Share;
  /** Sessions from an office or a school: on the first day that it uses the customer, and on later days. */
  readonly officeFirstDay: Share;
  readonly officeLater: Share;
}

export interface AttackRow {
  readonly kind: string;
  readonly challenged: Share;
  readonly heldBack: Share;
  /** Events that passed before a campaign's first stop: the median over all campaigns, including those that were never stopped. */
  readonly throughFirst: number;
  readonly campaigns: number;
  readonly neverStopped: number;
  /** Events of the kind that were not held back. */
  readonly through: Share;
}

/** Rules that fired at the first challenged event of honest sessions. */
export interface ReasonRow {
  readonly kind: string;
  readonly challenged: number;
  /** Number of sessions per rule, descending. */
  readonly rules: readonly (readonly [code: string, sessions: number])[];
  /** Number of sessions per combination of rules that fired together, descending. */
  readonly together: readonly (readonly [codes: string, sessions: number])[];
}

/** Sessions in which a rule fired at any event. */
export interface RuleRow {
  readonly code: string;
  readonly honest: Share;
  readonly ordinary: Share;
  readonly attacks: Share;
  /** Kinds of attacks by share of sessions in which the rule fired, descending. */
  readonly kinds: readonly (readonly [kind: string, share: number])[];
}

export interface Report {
  readonly events: number;
  readonly honest: HonestRow;
  /** Sessions of people whose network, device and habits have nothing special. */
  readonly ordinary: HonestRow;
  readonly honestKinds: readonly HonestRow[];
  readonly attackSessions: number;
  readonly attackKinds: readonly AttackRow[];
  /** Means over kinds, so that all kinds have the same weight regardless of their number of sessions; NaN without attacks. */
  readonly meanChallenged: number;
  readonly meanHeldBack: number;
  /** Number of kinds whose share of challenged sessions is at least 90 %, and below 10 %. */
  readonly kindsFrom90: number;
  readonly kindsUnder10: number;
  readonly kindsHeldFrom90: number;
  readonly kindsHeldUnder10: number;
  readonly roc: Roc;
  readonly reasons: readonly ReasonRow[];
  /** Rules that fired, by number of attack sessions, descending. */
  readonly rules: readonly RuleRow[];
}

/** Computes one report over several runs by adding their counts. */
export function computeReport(rowCounters: readonly Tally[]): Report {
  const sessions = rowCounters.flatMap((tally) => [...tally.sessions.values()]);
  // Actor numbers are unique only within a run, so the key of a person includes the run.
  const personOf = new Map<SessionResult, string>();
  for (const [run, tally] of rowCounters.entries())
    for (const session of tally.sessions.values()) personOf.set(session, `${run}/${session.label.actor}`);
  const honest = sessions.filter(({ label }) => !label.isAttack);
  const attacks = sessions.filter(({ label }) => label.isAttack);
  const campaigns = groupBy(
    rowCounters.flatMap((tally) => [...tally.campaigns.values()]),
    ({ kind }) => kind,
  );
  const row = (kind: string, of: readonly SessionResult[]): HonestRow => honestRow(kind, of, personOf);
  const byKind = groupBy(honest, ({ label }) => label.kind);
  const attackKinds = [...groupBy(attacks, ({ label }) => label.kind)].map(([kind, of]) =>
    attackRow(kind, of, campaigns.get(kind) ?? []),
  );
  const challenged = attackKinds.map(({ challenged }) => fractionOf(challenged));
  const held = attackKinds.map(({ heldBack }) => fractionOf(heldBack));
  return {
    events: rowCounters.reduce((sum, { events }) => sum + events, 0),
    honest: row('all', honest),
    ordinary: row(
      'ordinary',
      honest.filter(({ label }) => label.isOrdinary),
    ),
    honestKinds: [...byKind].map(([kind, of]) => row(kind, of)),
    attackSessions: attacks.length,
    attackKinds,
    meanChallenged: meanOf(challenged),
    meanHeldBack: meanOf(held),
    kindsFrom90: countFrom90(challenged),
    kindsUnder10: countUnder10(challenged),
    kindsHeldFrom90: countFrom90(held),
    kindsHeldUnder10: countUnder10(held),
    roc: computeRoc(sessions.map(({ score, label }) => ({ score, isAttack: label.isAttack }))),
    reasons: [...byKind]
      .map(([kind, of]) => reasonRow(kind, of))
      .filter((row) => row.challenged > 0)
      .sort((a, b) => b.challenged - a.challenged),
    rules: ruleRows(honest, attacks),
  };
}

function honestRow(
  kind: string,
  sessions: readonly SessionResult[],
  personOf: ReadonlyMap<SessionResult, string>,
): HonestRow {
  const people = new Set(sessions.map((session) => personOf.get(session)));
  const annoyed = new Set(sessions.filter(({ isChallenged }) => isChallenged).map((session) => personOf.get(session)));
  return {
    kind,
    isOrdinary: sessions.every(({ label }) => label.isOrdinary),
    sessions: challengedOf(sessions),
    people: { part: annoyed.size, of: people.size },
    firstHours: challengedOf(sessions.filter(({ isFirstHours }) => isFirstHours)),
    later: challengedOf(sessions.filter(({ isFirstHours }) => !isFirstHours)),
    officeFirstDay: challengedOf(sessions.filter(({ label }) => label.officeFirstDay === true)),
    officeLater: challengedOf(sessions.filter(({ label }) => label.officeFirstDay === false)),
  };
}

function attackRow(kind: string, sessions: readonly SessionResult[], campaigns: readonly CampaignResult[]): AttackRow {
  const events = sessions.reduce((sum, session) => sum + session.events, 0);
  return {
    kind,
    challenged: shareOf(sessions, ({ isChallenged }) => isChallenged),
    heldBack: shareOf(sessions, ({ isHeldBack }) => isHeldBack),
    throughFirst: medianOf(campaigns.map(({ throughFirst }) => throughFirst)),
    campaigns: campaigns.length,
    neverStopped: campaigns.filter(({ isStopped }) => !isStopped).length,
    through: { part: sessions.reduce((sum, { through }) => sum + through, 0), of: events },
  };
}

function reasonRow(kind: string, sessions: readonly SessionResult[]): ReasonRow {
  const challenged = sessions.filter(({ isChallenged }) => isChallenged);
  return {
    kind,
    challenged: challenged.length,
    rules: countMost(challenged.flatMap(({ reasons }) => reasons)),
    together: countMost(challenged.map(({ reasons }) => reasons.join(' + '))),
  };
}

function ruleRows(honest: readonly SessionResult[], attacks: readonly SessionResult[]): RuleRow[] {
  const codes = new Set([...honest, ...attacks].flatMap(({ fired }) => [...fired]));
  const ordinary = honest.filter(({ label }) => label.isOrdinary);
  const kinds = [...groupBy(attacks, ({ label }) => label.kind)];
  const rows = [...codes].map((code): RuleRow => {
    const hits = (sessions: readonly SessionResult[]): Share => shareOf(sessions, ({ fired }) => fired.has(code));
    const byKind = kinds.map(([kind, of]): readonly [string, number] => [kind, fractionOf(hits(of))]);
    return {
      code,
      honest: hits(honest),
      ordinary: hits(ordinary),
      attacks: hits(attacks),
      kinds: byKind.filter(([, share]) => share > 0).sort((a, b) => b[1] - a[1]),
    };
  });
  return rows.sort((a, b) => b.attacks.part - a.attacks.part);
}

function countMost(names: readonly string[]): (readonly [string, number])[] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}

function challengedOf(sessions: readonly SessionResult[]): Share {
  return shareOf(sessions, ({ isChallenged }) => isChallenged);
}

function shareOf(sessions: readonly SessionResult[], test: (session: SessionResult) => boolean): Share {
  return { part: sessions.filter(test).length, of: sessions.length };
}

/** Returns NaN when the total is 0. */
export function fractionOf({ part, of }: Share): number {
  return of === 0 ? Number.NaN : part / of;
}

function countFrom90(shares: readonly number[]): number {
  return shares.filter((share) => share >= 0.9).length;
}

function countUnder10(shares: readonly number[]): number {
  return shares.filter((share) => share < 0.1).length;
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}

function groupBy<T>(rows: readonly T[], nameOf: (row: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const row of rows) {
    const group = groups.get(nameOf(row));
    if (group === undefined) groups.set(nameOf(row), [row]);
    else group.push(row);
  }
  return groups;
}
