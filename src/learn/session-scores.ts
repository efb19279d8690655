import { type JudgedRow, type LearningRow, TRUTH_SOURCES, type TruthSource } from './learning-rows.ts';

/** A session, or a row without one, with what the model and the rules found in it. */
export interface ScoredSession {
  /** Highest probability of its rows, and the number of that row. */
  top: number;
  topRow: number;
  isFraud: boolean;
  /** The surest of its rows. */
  source: TruthSource;
  /** Whether the rules stop one of its rows. */
  isStopped: boolean;
  /** How many sessions it stands for, from 1. */
  weight: number;
}

/** Choice: one session of a sample below 1 % would decide shares alone. */
const STANDS_FOR_MAX = 100;

/** Joins the scores of rows by session; `scores` has one element for each of `judged`. */
export function scoreSessions(
  rows: readonly LearningRow[],
  judged: readonly JudgedRow[],
  scores: ArrayLike<number>,
  unknownRate: number,
): readonly ScoredSession[] {
  const sessions = new Map<string, ScoredSession>();
  for (const [at, { row, isFraud, source }] of judged.entries()) {
    const one = rows[row];
    if (one === undefined) continue;
    const key = one.session ?? `row ${row}`;
    const score = scores[at] ?? 0;
    const weight = Math.min(STANDS_FOR_MAX, 1 / (one.rate ?? unknownRate));
    const session = sessions.get(key);
    if (session === undefined) {
      sessions.set(key, { top: score, topRow: row, isFraud, source, isStopped: !one.isAllowed, weight });
      continue;
    }
    if (score > session.top) [session.top, session.topRow] = [score, row];
    const surer = TRUTH_SOURCES.indexOf(session.source) - TRUTH_SOURCES.indexOf(source);
    if (surer > 0 || (surer === 0 && isFraud)) [session.isFraud, session.source] = [isFraud, source];
    session.isStopped ||= !one.isAllowed;
    // A row that is always kept shows that none of its kind is missing.
    session.weight = Math.min(session.weight, weight);
  }
  return [...sessions.values()];
}

/** Choice: without a session to choose by, as likely fraud as not. */
export const THRESHOLD_DEFAULT = 0.5;

/**
 * Choice: without a session above the ones that may not be stopped, the threshold has twice their odds. Further up, a model that was
 * tested on few sessions would find nothing.
 */
const ODDS_ABOVE = 2;

/**
 * Returns the lowest threshold at which the model alone stops at most the share `budget` of the honest sessions, each counted as many
 * times as it stands for: between the sessions that may not be stopped and the next one above them. A budget of less than one session lets
 * none be stopped.
 */
export function thresholdFor(sessions: readonly ScoredSession[], budget: number): number {
  const honest = sessions.filter(({ isFraud }) => !isFraud);
  let left = budget * weightOf(honest);
  const passed = honest.filter(({ isStopped }) => !isStopped).sort((a, b) => b.top - a.top);
  // Equal ones pass together.
  for (let at = 0; at < passed.length;) {
    const { top } = passed[at] as ScoredSession;
    let end = at;
    let weight = 0;
    for (; passed[end]?.top === top; end++) weight += passed[end]?.weight ?? 0;
    if (weight > left) return justAbove(top, sessions);
    left -= weight;
    at = end;
  }
  return THRESHOLD_DEFAULT;
}

/** Returns a threshold between `top` and the next session above it, by their odds: probabilities at a low prior lie close to 0. */
function justAbove(top: number, sessions: readonly ScoredSession[]): number {
  let above = 1;
  for (const session of sessions) if (session.top > top) above = Math.min(above, session.top);
  const odds = Math.min(ODDS_ABOVE * oddsOf(top), Math.sqrt(oddsOf(top) * oddsOf(above)));
  const threshold = odds / (1 + odds);
  return threshold > top ? threshold : top + (above - top) / 2;
}

function oddsOf(probability: number): number {
  return probability / (1 - probability);
}

export function weightOf(sessions: readonly ScoredSession[]): number {
  return sessions.reduce((sum, { weight }) => sum + weight, 0);
}

/** Returns the share, by weight, of the sessions that `isPart` holds for; null of none. */
export function shareOfSessions(
  sessions: readonly ScoredSession[],
  isPart: (session: ScoredSession) => boolean,
): number | null {
  const all = weightOf(sessions);
  return all === 0 ? null : Math.round((weightOf(sessions.filter(isPart)) / all) * 1e6) / 1e6;
}
