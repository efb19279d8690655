import { Pool } from 'undici';
import { loadCommonJs } from '../../src/kernel/load-package.ts';
import { newId } from '../../src/kernel/ids.ts';
import { signedHeaders } from '../../src/webhooks/sign-delivery.ts';
import { bodyOf, newSecret } from './seed.ts';

/**
 * The reference for deliveries: the same bodies, signed and sent by undici, without store, queue or address check. Arguments: `pool` (as
 * users of undici send) or `client` (one `Client` per connection with the leanest handler: the least that undici can cost), port,
 * deliveries, paths, connections, deliveries that count as warm-up. Prints the processor time of its sending, µs: in all, and after the
 * warm-up. Exits after the last response.
 */
const [mode, ...words] = process.argv.slice(2);
const [port, count, paths, connections = 64, warmUp] = words.map(Number);
if (port === undefined || count === undefined || paths === undefined)
  throw new Error('usage: bare-sender.js pool|client <port> <deliveries> <paths> <connections> <warm-up>');

const origin = `http://127.0.0.1:${port}`;
const secrets = Array.from({ length: paths }, () => ({ current: newSecret(), previous: [] }));
const prepared = Array.from({ length: count }, () => {
  const nowMs = Date.now();
  return { deliveryId: newId('dlv', nowMs), body: bodyOf(newId('req', nowMs)) };
});
let next = 0;
let ended = 0;
const before = process.cpuUsage();
let warm = before;
await (mode === 'client' ? sendByClients() : sendByPool());
console.log([usedSince(before), usedSince(warm)].join(' '));

async function sendByPool(): Promise<void> {
  const pool = new Pool(origin, { connections, pipelining: 1, headersTimeout: 5_000 });
  await atOnce(async () => {
    for (let signed = nextSigned(); signed !== null; signed = nextSigned()) {
      const answer = await pool.request({ ...signed, method: 'POST' });
      await answer.body.dump();
      onEnded(answer.statusCode);
    }
  });
  await pool.close();
}

/** As the service does, without what it adds: no limits of size and time, and no check of addresses. */
async function sendByClients(): Promise<void> {
  const Client = loadCommonJs('undici/lib/dispatcher/client.js') as new (
    origin: string,
    options: object,
  ) => { dispatch(request: object, handler: object): boolean; close(): Promise<void> };
  await atOnce(async () => {
    const client = new Client(origin, { pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
    await new Promise<void>((done, onError) => {
      const handler = {
        onConnect: () => {},
        onHeaders: (status: number) => onEnded(status),
        onData: () => true,
        onComplete: () => queueMicrotask(sendNext),
        onError,
      };
      function sendNext(): void {
        const signed = nextSigned();
        if (signed === null) {
          done();
          return;
        }
        const headers: string[] = [];
        for (const name in signed.headers) headers.push(name, signed.headers[name] ?? '');
        client.dispatch({ ...signed, method: 'POST', headers }, handler);
      }
      sendNext();
    });
    await client.close();
  });
}

async function atOnce(sendOn: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: connections }, sendOn));
}

function nextSigned(): { path: string; headers: Record<string, string>; body: Buffer } | null {
  const at = next++;
  const delivery = prepared[at];
  const secret = secrets[at % secrets.length];
  if (delivery === undefined || secret === undefined) return null;
  const headers = signedHeaders({ ...delivery, secrets: secret, nowMs: Date.now() });
  return { path: `/hook/${at % secrets.length}`, headers, body: delivery.body };
}

function onEnded(status: number): void {
  if (status !== 204) throw new Error(`the receiver returned ${status}`);
  if (++ended === warmUp) warm = process.cpuUsage();
}

function usedSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start);
  return user + system;
}
