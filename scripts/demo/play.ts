import type { Client } from '../../src/client/client.ts';
import type { DecideBody, Persona, PlannedEvent } from './plan.ts';

export type Decision = (typeof DECISIONS)[number];
export const DECISIONS = ['ALLOW', 'ALLOW_WATCH', 'SOFT_CHALLENGE', 'REVIEW', 'BLOCK'] as const;

/** The service's decision on one event. */
export interface PlayedEvent {
  readonly decision: Decision;
  readonly score: number;
  readonly reasons: readonly string[];
  /** Strongest reason, taken from the review hint; null when there is no hint. */
  readonly strongest: string | null;
  /** Whether the event came before the threshold of the rule that must stop its persona. */
  readonly early: boolean;
}

/** One session of a persona; `events` are in sending order. */
export interface PlayedSession {
  readonly persona: Persona;
  readonly events: PlayedEvent[];
}

export interface PlayOptions {
  readonly client: Client;
  /** Sets the client's clock, which is used for signing; the service's virtual clock follows it. */
  readonly setTime: (seconds: number) => void;
  readonly onEvent: (done: number, atSeconds: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Sends all events in time order, one after the other. Counters depend on the order: with two concurrent events it would be random which of
 * them is the 11th.
 */
export async function play(
  planned: readonly { readonly session: PlayedSession; readonly events: readonly PlannedEvent[] }[],
  { client, setTime, onEvent, signal }: PlayOptions,
): Promise<void> {
  const turns = planned
    .flatMap(({ session, events }) => events.map((event) => ({ ...event, session })))
    .sort((a, b) => a.atSeconds - b.atSeconds);
  for (const [i, { atSeconds, body, session, early = false }] of turns.entries()) {
    if (signal.aborted) return;
    setTime(atSeconds);
    session.events.push({ ...(await decide(client, body)), early });
    onEvent(i + 1, atSeconds);
  }
}

async function decide(client: Client, body: DecideBody): Promise<Omit<PlayedEvent, 'early'>> {
  const answer = await client.decide(body);
  if (answer.kind === 'unreachable') throw new Error(`the server did not respond: ${answer.detail}`);
  if (answer.status !== 200) throw new Error(`the server responded ${answer.status}: ${JSON.stringify(answer.body)}`);
  return readDecision(answer.body);
}

function readDecision(body: unknown): Omit<PlayedEvent, 'early'> {
  const { decision, score, reasons, review_hint: hint } = body as Record<string, unknown>;
  const known = DECISIONS.find((name) => name === decision);
  if (known === undefined || typeof score !== 'number' || !Array.isArray(reasons)) {
    throw new Error(`not a decision: ${JSON.stringify(body)}`);
  }
  const strongest = typeof hint === 'string' ? (/\((\w+)\)\.$/.exec(hint)?.[1] ?? null) : null;
  return { decision: known, score, reasons: reasons.map(String), strongest };
}
