import type { EndpointFactory } from '../../src/api/kit/endpoint-factory.ts';
import type { EndpointHandler, EndpointRequest } from '../../src/api/kit/endpoint-types.ts';
import { givePiece } from '../../src/api/kit/response-pieces.ts';
import { statsHandlers } from '../../src/api/stats-handlers.ts';
import type { DecisionStats } from '../../src/history/stats/decision-stats.ts';
import { openDecisionStats } from '../../src/history/open-decision-log.ts';
import { DECISIONS } from '../../src/risk/decision.ts';
import { RULES } from '../../src/risk/rules/rule-table.ts';
import { openStore } from '../../src/state/feed/open-store.ts';
import { Slices, Turns } from '../../src/state/tables/turns.ts';
import { CUSTOMER, makeFolder, NOW_SECONDS, removeFolder } from './fixtures.ts';
import { Spent } from './spent.ts';
import type { Stage } from './stage.ts';

const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 24 * HOUR_SECONDS;
/** Ends within an hour, so that the last one is not summed yet. */
const END_SECONDS = NOW_SECONDS - (NOW_SECONDS % HOUR_SECONDS) + HOUR_SECONDS / 2;
/** One more than a period counts by name. */
const EVENT_TYPES = 17;
const WARM_UP_CALLS = 30;
const REFUSALS = ['rate_limited', 'invalid_signature', 'duplicate_request', 'invalid_request', 'malformed_json'];

/** `GET /v1/stats` of a customer that had decisions in every minute, with every reason and as many event types as a period counts. */
export const stats: Stage = {
  name: 'stats',
  samplesMin: 100,
  async add(tasks, { smoke }) {
    const folder = makeFolder();
    const outcome = openStore({ dataDir: folder, readOnly: false });
    if (outcome.kind === 'fault') throw new Error(outcome.detail);
    const { store } = outcome;
    const all = openDecisionStats(store);
    const days = smoke ? 1 : 30;
    await fill(all, days);
    const answer = handlerOf(all);
    const notes: (() => string)[] = [];
    const cases = [
      ['by the hour', HOUR_SECONDS, days],
      ['by the day', DAY_SECONDS, days],
      ['by the minute', 60, 1],
    ] as const;
    for (const [name, step, daysRead] of cases) {
      const query = { from: END_SECONDS - daysRead * DAY_SECONDS, to: END_SECONDS, step };
      const first = new Spent();
      const turns = new MeasuredTurns();
      const bytes = await first.measure(() => bytesOf(answer, query, new Turns()));
      notes.push(
        () => `stats, ${daysRead} days ${name}, first call of ${bytes} bytes, ms: ${first.toString()}`,
        () => `stats, ${daysRead} days ${name}, slices, ms: ${turns.toString()}`,
      );
      // The first calls are those of a server that has just started: their processor time is mostly that of compilers.
      for (let n = smoke ? WARM_UP_CALLS : 0; n < WARM_UP_CALLS; n++) {
        await bytesOf(answer, query, turns);
        turns.endCall();
      }
      const spent = new Spent();
      tasks.addAsync(`${daysRead} days ${name}`, {
        perSample: 1,
        run: () => spent.measure(() => bytesOf(answer, query, new Turns())),
        isSane: (length) => length === bytes,
      });
      notes.push(() => `stats, ${daysRead} days ${name}, ms: ${spent.toString()}`);
    }
    return {
      notes: () => notes.map((note) => note()),
      async close() {
        await store.close();
        removeFolder(folder);
      },
    };
  },
};

/** Measures how long calls hold the thread before they yield, wall time: on a loaded machine the longest slices are interruptions. */
class MeasuredTurns extends Turns {
  readonly #slicesMs: number[] = [];
  #beganMs = 0;

  override async next(...given: Parameters<Turns['next']>): Promise<void> {
    if (this.#beganMs > 0) this.#slicesMs.push(performance.now() - this.#beganMs);
    await super.next(...given);
    this.#beganMs = performance.now();
  }

  /** Ends the last slice of a call, which yields no more. */
  endCall(): void {
    if (this.#beganMs > 0) this.#slicesMs.push(performance.now() - this.#beganMs);
    this.#beganMs = 0;
  }

  override toString(): string {
    const sorted = this.#slicesMs.toSorted((a, b) => a - b);
    const at = (share: number): string => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(2);
    return `median ${at(0.5)}, p99 ${at(0.99)} of ${sorted.length}`;
  }
}

/** Returns the endpoint's handler, which is called here without a server. */
function handlerOf(all: DecisionStats): EndpointHandler {
  const handlers: EndpointHandler[] = [];
  const endpoint = (_options: unknown, handler: EndpointHandler) => {
    handlers.push(handler);
    return () => {};
  };
  statsHandlers(endpoint as unknown as EndpointFactory, {
    stats: all,
    addressWarning: () => null,
  });
  const [handler] = handlers;
  if (handler === undefined) throw new Error('there is no handler for the statistics');
  return handler;
}

/** Returns the length of the response, whose memory is given back as after sending it. */
async function bytesOf(
  answer: EndpointHandler,
  query: Readonly<Record<string, number>>,
  turns: Turns,
): Promise<number> {
  const slices = new Slices(turns, CUSTOMER);
  await slices.begin();
  const request = {
    caller: { customer: CUSTOMER },
    query: new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, String(value)])),
    nowSeconds: END_SECONDS,
    slices,
    coverage: { isPartial: false },
  };
  const response = await answer(request as unknown as EndpointRequest);
  if (response.kind !== 'pieces') throw new Error(`the response is ${response.kind}`);
  let length = 0;
  for (const piece of response.pieces) {
    length += piece.length;
    givePiece(piece);
  }
  return length;
}

/** Counts decisions, in each minute of the last day, before that twice an hour, and sums the hours as the server does. */
async function fill(all: DecisionStats, days: number): Promise<void> {
  for (let at = END_SECONDS - days * DAY_SECONDS; at < END_SECONDS; at += 60) {
    const isHour = at % HOUR_SECONDS === 0;
    if (at % (HOUR_SECONDS / 2) !== 0 && at < END_SECONDS - DAY_SECONDS) continue;
    const counts = all.countsOf(CUSTOMER, at * 1_000);
    if (counts === null) throw new Error('the statistics must have room for one customer');
    for (let n = 0; n < 80; n++) {
      const seed = Math.imul(at + n, 2_654_435_761) >>> 0;
      counts.decided(seed % DECISIONS.length, seed % 101, 0.5 + (seed % 64) / 16, `event type ${seed % EVENT_TYPES}`);
      counts.reason(RULES[seed % RULES.length]?.code ?? '');
      if (n < REFUSALS.length) counts.refused(REFUSALS[n] ?? '');
    }
    if (isHour) await all.tend(at * 1_000);
  }
  await all.close();
}
