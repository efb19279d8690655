import type { CustomerNumber } from '../kernel/brand.ts';
import type { Decision } from '../risk/decision.ts';
import type { DecisionRecord } from '../risk/decision-record.ts';
import { readEventTime } from './event-time.ts';
import type { PolicyNote } from '../risk/policy/policy-document.ts';
import type { PolicyExpectation, PolicyTestEvent } from './policy-test-file.ts';
import { Replay } from './replay.ts';
import { numberedId, type Replayed, type ReplayEngine } from './replay-engine.ts';

/** What an event was decided. */
export interface TestedDecision {
  /** In observe mode the one that would have been made. */
  readonly decision: Decision;
  readonly score: number;
  readonly reasons: readonly string[];
  /** Codes of own rules in mode observe that fired. */
  readonly observed: readonly string[];
}

/** An event that was not decided as expected. */
export interface TestDifference {
  /** Position in the file, from 0. */
  readonly event: number;
  readonly name: string | null;
  /** One line for each difference. */
  readonly differences: readonly string[];
  /** Null if the body is no decide request. */
  readonly decided: TestedDecision | null;
}

export interface PolicyTestResult {
  /** Decisions that were made, repeats included. */
  readonly decisions: number;
  /** Events with an expectation. */
  readonly expectations: number;
  readonly differences: readonly TestDifference[];
}

/** The time of the first event if it names none: 2026-01-01, noon. */
const FIRST_AT_MS = Date.UTC(2026, 0, 1, 12);
const AFTER_SECONDS = 1;
/** The only customer of a test. */
export const TESTED_CUSTOMER = 1 as CustomerNumber;

/** Returns the times of each event and its repeats, Unix ms; or the first event that is earlier than the one before it. */
export function timesOfEvents(
  events: readonly PolicyTestEvent[],
):
  | { readonly kind: 'ok'; readonly times: readonly (readonly number[])[] }
  | { readonly kind: 'fault'; readonly fault: PolicyNote } {
  let lastMs = Number.NEGATIVE_INFINITY;
  const times: number[][] = [];
  for (const [at, event] of events.entries()) {
    const { repeat = 1, after = AFTER_SECONDS } = event;
    const follows = at === 0 ? FIRST_AT_MS : lastMs + after * 1_000;
    const firstMs = readEventTime(event.at) ?? follows;
    if (firstMs < lastMs)
      return { kind: 'fault', fault: { pointer: `/events/${at}/at`, message: 'is earlier than the event before it' } };
    lastMs = firstMs + (repeat - 1) * after * 1_000;
    times.push(Array.from({ length: repeat }, (_none, n) => firstMs + n * after * 1_000));
  }
  return { kind: 'ok', times };
}

/** Plays the events in their order, at the times of `timesOfEvents`. The same file and policy give the same result. */
export async function runPolicyTest(
  events: readonly PolicyTestEvent[],
  times: readonly (readonly number[])[],
  engine: ReplayEngine,
): Promise<PolicyTestResult> {
  const differences: TestDifference[] = [];
  let decisions = 0;
  let sent = 0;
  let expectations = 0;
  const replay = new Replay<{ readonly at: number; readonly isLast: boolean }>(
    engine,
    (replayed, _, { at, isLast }) => {
      decisions++;
      const { name = null, expect } = events[at] ?? {};
      if (replayed.kind === 'decided' && (!isLast || expect === undefined)) return;
      if (expect !== undefined && isLast) expectations++;
      const found = differencesOf(replayed, expect ?? {});
      if (found.length === 0) return;
      const decided = replayed.kind === 'decided' ? testedDecision(replayed.record) : null;
      differences.push({ event: at, name, differences: found, decided });
    },
  );
  for (const [at, event] of events.entries()) {
    const { repeat = 1, outcome, key } = event;
    const body = Buffer.from(JSON.stringify(event.request));
    for (const [n, atMs] of (times[at] ?? []).entries()) {
      const requestId = numberedId(++sent);
      const request = { customer: TESTED_CUSTOMER, atMs, body, publicKey: key === 'public', requestId, originHash: 0 };
      await replay.request(request, { at, isLast: n === repeat - 1 }, outcome !== undefined);
      if (outcome !== undefined) await replay.outcome({ customer: TESTED_CUSTOMER, requestId, outcome, atMs });
    }
  }
  await replay.flush();
  return { decisions, expectations, differences };
}

function testedDecision({ wouldBe, decision, score, contributions, observed }: DecisionRecord): TestedDecision {
  return { decision: wouldBe ?? decision, score, reasons: codesOf(contributions), observed: codesOf(observed) };
}

/** Returns one line for each difference; empty if there is none. */
function differencesOf(replayed: Replayed, expect: PolicyExpectation): string[] {
  if (replayed.kind === 'refused') return [`the request is refused: ${replayed.problem}`];
  const { decision, score, reasons, observed } = testedDecision(replayed.record);
  const lines: string[] = [];
  if (expect.decision !== undefined && expect.decision !== decision)
    lines.push(`decision is ${decision}, expected ${expect.decision}`);
  for (const code of expect.reasons ?? []) if (!reasons.includes(code)) lines.push(`reason ${code} is missing`);
  for (const code of expect.no_reasons ?? []) if (reasons.includes(code)) lines.push(`reason ${code} is not expected`);
  for (const code of expect.observed ?? [])
    if (!observed.includes(code)) lines.push(`own rule ${code} was not observed to fire`);
  if (score < (expect.score_min ?? 0)) lines.push(`score is ${score}, expected at least ${expect.score_min}`);
  if (score > (expect.score_max ?? 100)) lines.push(`score is ${score}, expected at most ${expect.score_max}`);
  return lines;
}

function codesOf(all: readonly { readonly code: string }[]): string[] {
  return all.map(({ code }) => code);
}
