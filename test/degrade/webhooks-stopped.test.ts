import { afterEach, beforeEach, expect, test } from 'vitest';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningServer } from '../support/server.ts';
import { decideTo, startDeliveringServer, startReceiver, webhookClient, type Receiver } from '../support/webhooks.ts';

/** A process that stands still for seconds, as on a machine that sleeps: time limits have passed meanwhile. */

/** GATEHOUSE_STOPS in the environment of the tests makes a longer run. */
const STOPS = Number(process.env['GATEHOUSE_STOPS'] ?? 1);
/** Over the time after which a worker or a write of the store that runs counts as stuck. */
const STOP_MS = 5_500;

let server: RunningServer;
let receiver: Receiver;
beforeEach(async () => {
  server = await startDeliveringServer();
  receiver = await startReceiver();
});
afterEach(async () => {
  process.kill(server.pid, 'SIGCONT');
  await server.stop();
  await receiver.close();
});

test.each(Array.from({ length: STOPS }, (_none, at) => at + 1))(
  'SIGSTOP for over 5 s and SIGCONT (%s): no delivery has more than four attempts, and all end',
  async () => {
    const { url, secretKey } = server;
    const { create, ended } = webhookClient(url, secretKey);
    await create(receiver.url, 'ALLOW');
    receiver.answers(500);
    const ids: string[] = [];
    for (let i = 0; i < 6; i++) ids.push(String((await decideTo(url, secretKey, 'ALLOW')).json['request_id']));
    // Some have had their second attempt, and the time of the third comes while nothing runs.
    await receiver.arrived(8);
    // Batches are with the workers and writes with the store while nothing runs: neither is stuck.
    const decided = Promise.all(Array.from({ length: 20 }, () => decideTo(url, secretKey, 'ALLOW')));
    process.kill(server.pid, 'SIGSTOP');
    await sleep(STOP_MS);
    process.kill(server.pid, 'SIGCONT');
    for (const { status } of await decided) expect(status).toBe(200);
    for (const id of ids) {
      // A connection that was kept may have passed its time meanwhile.
      const row = await ended(`?request_id=${id}`).catch(() => ended(`?request_id=${id}`));
      expect(row).toMatchObject({ status: 'failed', last_error: 'http_status' });
      expect(row.attempt_count).toBeLessThanOrEqual(4);
      const seen = receiver.arrivals.filter(({ headers }) => headers['webhook-id'] === row.id);
      expect(seen.length).toBeLessThanOrEqual(4);
      // An attempt that was cut while it dialled did not arrive; each that was answered did.
      const answered = row.attempts.filter(({ status_code: statusCode }) => statusCode !== null);
      expect(seen.length).toBeLessThanOrEqual(row.attempt_count);
      expect(seen.length).toBeGreaterThanOrEqual(answered.length);
    }
  },
  120_000,
);
