import { afterEach, beforeEach, expect, test } from 'vitest';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningServer } from '../support/server.ts';
import { decideTo, startDeliveringServer, startReceiver, webhookClient, type Receiver } from '../support/webhooks.ts';

/** A process that is stopped for seconds, as on a machine in standby: time limits pass meanwhile. */

/** GATEHOUSE_STOPS in the environment of the tests sets the number of stops, for a longer run. */
const STOPS = Number(process.env['GATEHOUSE_STOPS'] ?? 1);
/** Longer than the time after which a running worker or store write counts as stuck. */
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
  'After SIGSTOP for over 5 s and SIGCONT (%s), no delivery has more than four attempts, and all end',
  async () => {
    const { url, secretKey } = server;
    const { create, ended } = webhookClient(url, secretKey);
    await create(receiver.url, 'ALLOW');
    receiver.answers(500);
    const ids: string[] = [];
    for (let i = 0; i < 6; i++) ids.push(String((await decideTo(url, secretKey, 'ALLOW')).json['request_id']));
    // Some have had their second attempt. The third is due while the process is stopped.
    await receiver.arrived(8);
    // Workers have batches and the store has writes while the process is stopped. Neither counts as stuck.
    const decided = Promise.all(Array.from({ length: 20 }, () => decideTo(url, secretKey, 'ALLOW')));
    process.kill(server.pid, 'SIGSTOP');
    await sleep(STOP_MS);
    process.kill(server.pid, 'SIGCONT');
    for (const { status } of await decided) expect(status).toBe(200);
    for (const id of ids) {
      // A kept-alive connection may have timed out meanwhile.
      const row = await ended(`?request_id=${id}`).catch(() => ended(`?request_id=${id}`));
      expect(row).toMatchObject({ status: 'failed', last_error: 'http_status' });
      expect(row.attempt_count).toBeLessThanOrEqual(4);
      const seen = receiver.arrivals.filter(({ headers }) => headers['webhook-id'] === row.id);
      expect(seen.length).toBeLessThanOrEqual(4);
      // An attempt that was interrupted while connecting did not arrive. Each answered attempt did.
      const answered = row.attempts.filter(({ status_code: statusCode }) => statusCode !== null);
      expect(seen.length).toBeLessThanOrEqual(row.attempt_count);
      expect(seen.length).toBeGreaterThanOrEqual(answered.length);
    }
  },
  120_000,
);
