import { Connection } from '../open-loop/connection.ts';
import { createTraffic, requestOf } from '../traffic.ts';
import type { ClientOrder, ClientReport } from './closed-loop.ts';

/**
 * A client process that sends a fixed number of signed requests over a fixed number of connections, each with one request in
 * flight, so that the server's batches are alike in every slice. It signs before it says that it is ready.
 */

const CONNECTIONS = 64;
/** Choice: fewer than the bench of throughput has, so that some 10,000 requests of warm-up reach the steady state. */
const SESSIONS = 1_000;
const SEED = 20_261_122;
const SESSION_TOKEN = /"session_token":"[^"]*",/;

let nextBody: (() => string) | null = null;
let serial = 0;
let prepared: Buffer[] = [];
const open: Connection[] = [];

const tell = (report: ClientReport): void => {
  process.send?.(report);
};

process.on('message', (order: ClientOrder) => {
  if (order.kind === 'prepare') {
    prepared = prepare(order);
    tell({ kind: 'ready' });
  } else void run(new URL(order.origin)).then(tell);
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

/** Sends all that is prepared and resolves with the last response. */
async function run(origin: URL): Promise<ClientReport> {
  const requests = prepared.values();
  let failed = 0;
  let left = prepared.length;
  const fromMs = performance.now();
  await new Promise<void>((done) => {
    const settle = (status: number): void => {
      if (status !== 200) failed++;
      if (--left === 0) done();
    };
    for (let n = 0; n < Math.min(CONNECTIONS, prepared.length); n++) {
      const connection: Connection = new Connection(origin, {
        onResponse(status) {
          settle(status);
          const { value } = requests.next();
          if (value !== undefined) connection.send(value);
        },
        onEnd: (wasBusy) => {
          if (wasBusy) settle(0);
        },
      });
      open.push(connection);
      const { value } = requests.next();
      if (value !== undefined) connection.send(value);
    }
  });
  const wallMs = performance.now() - fromMs;
  for (const connection of open.splice(0)) connection.close();
  return { kind: 'done', failed, wallMs };
}
