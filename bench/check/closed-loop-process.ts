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

let nextBody: (() => string) | null = null;
let serial = 0;
/** Key → the requests signed with it. */
const prepared = new Map<string, readonly Buffer[]>();
const pools = new Map<string, Pool>();

/** Choice: how often a paced slice sends what is due; a server sees some requests at once, as it does from a busy backend. */
const PACE_MS = 5;

/** Connections to one server, and what is being sent over them. */
interface Pool {
  readonly connections: Set<Connection>;
  /** Connections without a request in flight, of a paced slice. */
  readonly idle: Connection[];
  slice: Slice | null;
}

/** Requests of one order that are still to be sent or answered. */
interface Slice {
  readonly requests: IterableIterator<Buffer>;
  left: number;
  failed: number;
  readonly isPaced: boolean;
  readonly onEnd: () => void;
}

const tell = (report: ClientReport): void => {
  process.send?.(report);
};

process.on('message', (order: ClientOrder) => {
  if (order.kind === 'run') return void run(order).then(tell);
  if (order.kind === 'begin') nextBody = null;
  else prepare(order);
  tell({ kind: 'ready' });
});
process.on('disconnect', () => process.exit());

/** All keys sign the same bodies, so that the servers get the same traffic. */
function prepare({ count, keys, isAnonymous }: Extract<ClientOrder, { kind: 'prepare' }>): void {
  const nowSeconds = Math.floor(Date.now() / 1_000);
  const nextOf = (nextBody ??= createTraffic(SEED, nowSeconds, { sessions: SESSIONS }));
  const bodies = Array.from({ length: count }, () => {
    const body = nextOf();
    return { id: ++serial, body: isAnonymous ? withoutIdentity(body) : body };
  });
  prepared.clear();
  for (const key of keys)
    prepared.set(
      key,
      bodies.map(({ id, body }) => requestOf(id, body, key, '127.0.0.1', nowSeconds)),
    );
}

/** Leaves out what the velocity store counts apart from the address. */
function withoutIdentity(body: string): string {
  const { session_token: _, entity_keys: __, ...rest } = JSON.parse(body) as Record<string, unknown>;
  return JSON.stringify(rest);
}

/** Sends all prepared requests and resolves with the last response. Several servers may be loaded at the same time. */
async function run({ origin, key, perSecond }: Extract<ClientOrder, { kind: 'run' }>): Promise<ClientReport> {
  const requests = (key === '' ? [...prepared.values()][0] : prepared.get(key)) ?? [];
  if (requests.length === 0) return { kind: 'done', origin, sent: 0, failed: 0 };
  const pool = poolOf(origin);
  const failed = await new Promise<number>((done) => {
    const current: Slice = {
      requests: requests.values(),
      left: requests.length,
      failed: 0,
      isPaced: perSecond !== null,
      onEnd: () => done(current.failed),
    };
    pool.slice = current;
    pool.idle.splice(0, Infinity, ...pool.connections);
    if (perSecond !== null) pace(pool, perSecond);
    else for (const connection of pool.connections) sendNext(pool, connection);
  });
  pool.slice = null;
  return { kind: 'done', origin, sent: requests.length, failed };
}

/** Sends what is due, and what was due earlier and found no idle connection. */
function pace(pool: Pool, perSecond: number): void {
  const fromMs = performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    const due = ((performance.now() - fromMs) / 1_000) * perSecond;
    if (pool.slice === null) return clearInterval(timer);
    for (; sent < due; sent++) {
      const connection = pool.idle.pop();
      if (connection === undefined) return;
      sendNext(pool, connection);
    }
  }, PACE_MS);
}

function sendNext({ slice }: Pool, connection: Connection): void {
  const { value } = slice?.requests.next() ?? {};
  if (value !== undefined) connection.send(value);
}

function settle({ slice }: Pool, status: number): void {
  if (slice === null) return;
  if (status !== 200) slice.failed++;
  if (--slice.left === 0) slice.onEnd();
}

/** Returns the open connections to a server and opens those that are missing. */
function poolOf(origin: string): Pool {
  const pool: Pool = pools.get(origin) ?? { connections: new Set(), idle: [], slice: null };
  pools.set(origin, pool);
  while (pool.connections.size < CONNECTIONS) {
    const connection: Connection = new Connection(new URL(origin), {
      onResponse(status) {
        settle(pool, status);
        if (pool.slice?.isPaced === true) pool.idle.push(connection);
        else sendNext(pool, connection);
      },
      onEnd(wasBusy) {
        pool.connections.delete(connection);
        if (wasBusy) settle(pool, 0);
      },
    });
    pool.connections.add(connection);
  }
  return pool;
}
