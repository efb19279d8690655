import { type Call, get, largestCalls, post } from './calls.ts';
import { flagged, type Side } from './server.ts';

/** What the busy customer does while the other one makes decisions. */
export interface Flood {
  readonly name: string;
  readonly atOnce: number;
  /**
   * `calls` are repeated in turn; `readers` send one and read a byte of the response a second; `senders` send a body, or an endless header,
   * in small pieces; `decisions` are signed, some a second.
   */
  readonly kind: 'calls' | 'readers' | 'senders' | 'decisions';
  readonly callsOf: (side: Side) => readonly Call[];
  /** Calls per second; the flood skips those that cannot start in time. */
  readonly perSecond: number;
}

/** Ten times the permitted rate of management calls. */
const FLOOD_PER_SECOND = 1_000;
/** As much as the load generator sends from one thread. */
const PREFLIGHTS_PER_SECOND = 4_000;
const LABELS = 500;
const OUTCOMES = 1_000;
/** Choice: one endpoint of each kind of hostile receiver four times. */
const HOSTILE_PER_SECOND = 50;
const PADDING_CHARACTERS = 64_000;

const calls = (name: string, atOnce: number, callsOf: Flood['callsOf']): Flood => ({
  name,
  atOnce,
  kind: 'calls',
  callsOf,
  perSecond: FLOOD_PER_SECOND,
});

const largest = (name: string, atOnce: number): Flood =>
  calls(name, atOnce, (side) => largestCalls(side).filter((call) => call.name === name));

const decisions = (name: string, perSecond: number, callsOf: Flood['callsOf']): Flood => ({
  name,
  atOnce: 1,
  kind: 'decisions',
  callsOf,
  perSecond,
});

const PREFLIGHTS: Flood = {
  ...calls('preflights', 64, () => [
    {
      name: 'preflight',
      method: 'OPTIONS',
      path: '/v1/decide',
      headers: { origin: 'https://shop.example', 'access-control-request-method': 'POST' },
      isKeyless: true,
    },
  ]),
  perSecond: PREFLIGHTS_PER_SECOND,
};

/** `nextBody` returns decide bodies. */
export function floods(nextBody: () => string): readonly Flood[] {
  return [
    // The control: requests of microseconds each, which nothing can wait for, at rates that take as much of a processor as the floods do.
    ...[1_000, 2_000, 4_000].map((perSecond) => ({
      ...calls(`control, ${perSecond.toLocaleString('en')} health checks a second`, 64, () => [
        { ...get('health', '/healthz'), isKeyless: true },
      ]),
      perSecond,
    })),
    largest('lists, 1,000 entries', 64),
    largest('list entry, 1 MB of numbers', 8),
    largest('connectors', 32),
    largest('records, JSON, 10 MB', 8),
    largest('lists/batch, 1,000 entries', 8),
    largest('top identities', 8),
    largest('lists, none of 10,000 fits', 32),
    largest('lists, with hits', 8),
    calls('simulations', 64, () =>
      Array.from({ length: 50 }, () => post('simulation', '/v1/simulate', flagged(nextBody()))),
    ),
    calls('sign-ins', 64, (side) => [signIn(side, side.busyKey)]),
    calls('sign-ins with unknown keys', 64, (side) => [signIn(side, `${side.busyKey.slice(0, -6)}abcdef`)]),
    calls('labels', 32, ({ requestIds }) =>
      Array.from({ length: LABELS }, (_, n) =>
        post('label', '/v1/labels', { request_id: requestIds[n], label: n % 2 === 0 ? 'fraud' : 'legitimate' }),
      ),
    ),
    calls('outcomes, 1,000 each', 8, ({ requestIds }) => [
      post('outcomes', '/v1/outcomes', {
        outcomes: Array.from({ length: OUTCOMES }, (_, n) => ({
          request_id: requestIds[n % requestIds.length],
          outcome: 'failed',
        })),
      }),
    ]),
    calls('decisions, none fits', 32, () => [get('decisions', '/v1/decisions?limit=1000&q=nothing-has-this')]),
    PREFLIGHTS,
    calls('signed bodies of 1 MB', 32, () => [
      { ...post('list entry', '/v1/lists', { note: 'n'.repeat(1_000_000) }), isSigned: true },
    ]),
    {
      ...calls('slow uploads', 200, () => [
        post('list entry', '/v1/lists', { note: 'n'.repeat(900_000) }),
        post('label', '/v1/labels', { note: 'n'.repeat(900_000) }),
      ]),
      kind: 'senders',
    },
    { ...calls('headers without an end', 200, () => [get('lists', '/v1/lists')]), kind: 'senders' },
    {
      name: 'slow readers of records',
      atOnce: 64,
      kind: 'readers',
      callsOf: ({ jobId }) => [get('records', `/v1/extractions/${jobId}/records?limit=1000`)],
      perSecond: FLOOD_PER_SECOND,
    },
    decisions('control, decisions with 64 KB in one text', HOSTILE_PER_SECOND, () => [
      post('decision', '/v1/decide', { session_token: 's', padding: 'x'.repeat(PADDING_CHARACTERS) }),
    ]),
    decisions('20 hostile webhooks at one host', HOSTILE_PER_SECOND, () =>
      Array.from({ length: 50 }, () => post('decision', '/v1/decide', flagged(nextBody()))),
    ),
  ];
}

function signIn({ port }: Side, key: string): Call {
  return {
    ...post('sign-in', '/dashboard/session', { key }),
    headers: { 'x-gatehouse': '1', origin: `http://127.0.0.1:${port}` },
    isKeyless: true,
  };
}
