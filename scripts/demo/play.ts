import type { Client } from '../../src/client/client.ts';
import type { DecideBody, Persona, PlannedEvent } from './plan.ts';

export type Decision = (typeof DECISIONS)[number];
export const DECISIONS = ['ALLOW', 'ALLOW_WATCH', 'SOFT_CHALLENGE', 'REVIEW', 'BLOCK'] as const;

/** What the service said to one event. */
export interface PlayedEvent {
  readonly decision: Decision;
  readonly score: number;
  readonly reasons: readonly string[];
}

/** One session of a persona; `events` in the order sent. */
export interface PlayedSession {
  readonly persona: Persona;
  readonly events: PlayedEvent[];
}

/** Choice: more wait in the server and gain nothing. */
const IN_FLIGHT_MAX = 16;

export interface PlayOptions {
  readonly client: Client;
  /** Sets the client's clock, which signs the requests; the service's simulated clock follows it. */
  readonly setTime: (seconds: number) => void;
  readonly onEvent: (done: number, atSeconds: number) => void;
  readonly signal: AbortSignal;
}

interface Turn extends PlannedEvent {
  readonly session: PlayedSession;
}

/**
 * Sends every event in the order of simulated time. Only events of one and the same second are in flight together: the service's
 * clock is the newest timestamp it has seen, so anything else would let chance decide what a window of time holds.
 */
export async function play(
  planned: readonly { readonly session: PlayedSession; readonly events: readonly PlannedEvent[] }[],
  { client, setTime, onEvent, signal }: PlayOptions,
): Promise<void> {
  const turns = planned
    .flatMap(({ session, events }) => events.map((event): Turn => ({ ...event, session })))
    .sort((a, b) => a.atSeconds - b.atSeconds);
  let done = 0;
  while (done < turns.length && !signal.aborted) {
    const together = takeTogether(turns, done);
    await Promise.all(
      together.map(async ({ atSeconds, body, session }) => {
        setTime(atSeconds);
        session.events.push(await decide(client, body));
      }),
    );
    done += together.length;
    onEvent(done, together.at(-1)?.atSeconds ?? 0);
  }
}

/** The next events of one second, at most one of each session. */
function takeTogether(turns: readonly Turn[], from: number): Turn[] {
  const together: Turn[] = [];
  const sessions = new Set<PlayedSession>();
  for (let i = from; together.length < IN_FLIGHT_MAX; i++) {
    const turn = turns[i];
    if (turn === undefined || turn.atSeconds !== turns[from]?.atSeconds || sessions.has(turn.session)) break;
    sessions.add(turn.session);
    together.push(turn);
  }
  return together;
}

async function decide(client: Client, body: DecideBody): Promise<PlayedEvent> {
  const answer = await client.decide(body);
  if (answer.kind === 'unreachable') throw new Error(`the server did not answer: ${answer.detail}`);
  if (answer.status !== 200) throw new Error(`the server answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return readDecision(answer.body);
}

function readDecision(body: unknown): PlayedEvent {
  const { decision, score, reasons } = body as Record<string, unknown>;
  const known = DECISIONS.find((name) => name === decision);
  if (known === undefined || typeof score !== 'number' || !Array.isArray(reasons)) {
    throw new Error(`that is no decision: ${JSON.stringify(body)}`);
  }
  return { decision: known, score, reasons: reasons.map(String) };
}
