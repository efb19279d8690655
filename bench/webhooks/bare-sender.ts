import { Pool } from 'undici';
import { newId } from '../../src/kernel/ids.ts';
import { signedHeaders } from '../../src/webhooks/sign-delivery.ts';
import { bodyOf, newSecret } from './seed.ts';

/**
 * The reference for deliveries: the same bodies, signed and sent by an undici pool, without store, queue or address check. Arguments: port,
 * deliveries, paths, connections. Prints the processor time of its sending, µs, and exits after the last response.
 */
const [port, count, paths, connections] = process.argv.slice(2).map(Number);
if (port === undefined || count === undefined || paths === undefined || connections === undefined)
  throw new Error('usage: bare-sender.js <port> <deliveries> <paths> <connections>');

const pool = new Pool(`http://127.0.0.1:${port}`, { connections, pipelining: 1, headersTimeout: 5_000 });
const secrets = Array.from({ length: paths }, () => ({ current: newSecret(), previous: [] }));
const prepared = Array.from({ length: count }, () => {
  const nowMs = Date.now();
  return { deliveryId: newId('dlv', nowMs), body: bodyOf(newId('req', nowMs)) };
});
let next = 0;
const before = process.cpuUsage();
await Promise.all(Array.from({ length: connections }, sendOn));
const { user, system } = process.cpuUsage(before);
console.log(user + system);
await pool.close();

async function sendOn(): Promise<void> {
  for (;;) {
    const at = next++;
    const delivery = prepared[at];
    const secret = secrets[at % secrets.length];
    if (delivery === undefined || secret === undefined) return;
    const headers = signedHeaders({ ...delivery, secrets: secret, nowMs: Date.now() });
    const answer = await pool.request({
      path: `/hook/${at % secrets.length}`,
      method: 'POST',
      headers,
      body: delivery.body,
    });
    await answer.body.dump();
    if (answer.statusCode !== 204) throw new Error(`the receiver returned ${answer.statusCode}`);
  }
}
