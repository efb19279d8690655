import { Connection } from '../open-loop/connection.ts';
import { createTraffic, requestOf } from '../traffic.ts';
import type { ClientOrder, ClientReport } from './closed-loop.ts';

/**
 * A client process that sends a fixed number of signed requests over a fixed number of connections, one in flight per connection, so that
 * the server's batches are alike in every slice. It signs all requests before it reports `ready`. Connections to a server stay open from
 * slice to slice. Measured: with 64 new ones per slice of 500 requests, the cost of the bare echo server on `node:http` was mostly that of
 * accepting connections (65 µs per request at the start of a round, 30 at its end).
 */

const CONNECTIONS = 64;
/** Choice: fewer sessions than the throughput bench, so that a warm-up of about 10,000 requests reaches the steady state. */
const SESSIONS = 1_000;
const SEED = 20_261_122;
const SESSION_TOKEN = /"session_token":"[^"]*",/;

let nextBody: (() => string) | null = null;
let serial = 0;
let prepared: Buffer[] = [];
let slice: Slice | null = null;
const open = new Map<string, Set<Connection>>();

/** Requests of one order that are still to be sent or answered. */
interface Slice {
  readonly requests: IterableIterator<Buffer>;
  left: number;
  failed: number;
  readonly onEnd: () => void;
}

const tell = (report: ClientReport): void => {
  process.send?.(report);
};

process.on('message', (order: ClientOrder) => {
  if (order.kind === 'prepare') {
    prepared = prepare(order);
    tell({ kind: 'ready' });
  } else void run(order.origin).then(tell);
});
process.on('disconnect', () => process.exit());

function prepare({ count, key, withSession }: Extract<ClientOrder, { kind: 'prepare' }>): Buffer[] {
  const nowSeconds = Math.floor(Date.now() / 1_000);
  nextBody ??= createTraffic(SEED, nowSeconds, { sessions: SESSIONS });
  return Array.from({ length: count }, () => {
    const body = nextBody?.() ?? '';
    const sent = withSession ? body : body.replace(SESSION_TOKEN, '');
    return requestOf(++serial, sent, key, '127.0.0.1', nowSeconds);
  });
}

/** Sends all prepared requests and resolves with the last response. */
async function run(origin: string): Promise<ClientReport> {
  const connections = connectionsTo(origin);
  const fromMs = performance.now();
  const failed = await new Promise<number>((done) => {
    const current: Slice = {
      requests: prepared.values(),
      left: prepared.length,
      failed: 0,
      onEnd: () => done(current.failed),
    };
    slice = current;
    for (const connection of connections) sendNext(connection);
  });
  slice = null;
  return { kind: 'done', failed, wallMs: performance.now() - fromMs };
}

function sendNext(connection: Connection): void {
  const { value } = slice?.requests.next() ?? {};
  if (value !== undefined) connection.send(value);
}

function settle(status: number): void {
  if (slice === null) return;
  if (status !== 200) slice.failed++;
  if (--slice.left === 0) slice.onEnd();
}

/** Returns the open connections to a server and opens those that are missing. */
function connectionsTo(origin: string): ReadonlySet<Connection> {
  const connections = open.get(origin) ?? new Set();
  open.set(origin, connections);
  while (connections.size < CONNECTIONS) {
    const connection: Connection = new Connection(new URL(origin), {
      onResponse(status) {
        settle(status);
        sendNext(connection);
      },
      onEnd(wasBusy) {
        connections.delete(connection);
        if (wasBusy) settle(0);
      },
    });
    connections.add(connection);
  }
  return connections;
}
