import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startHostile, type HostileConduct, type HostileServer } from '../support/hostile-server.ts';
import { get, newCustomer } from '../support/requests.ts';
import type { RunningServer } from '../support/server.ts';
import { decideTo, startDeliveringServer, startReceiver, webhookClient, type Receiver } from '../support/webhooks.ts';

/** Every behaviour that a receiver may have, one attempt each, all at once. Bytes read and time spent are bounded for each. */

/** The behaviour → the error of the attempt, or null if it succeeds. */
const ENDS: Readonly<Partial<Record<HostileConduct, string | null>>> = {
  answers: null,
  no_content: null,
  /** The receiver gets one copy. */
  continues: null,
  /** 50 KB that would decompress to 50 MiB. They are not decompressed. */
  gzip_bomb: null,
  /** The first response is valid. The data after it closes the connection. */
  two_answers: null,
  server_error: 'http_status',
  gone: 'gone',
  refuses: 'connection_refused',
  resets_at_accept: 'connection_reset',
  resets_on_request: 'connection_reset',
  closes_on_request: 'connection_reset',
  resets_mid_body: 'connection_reset',
  closes_mid_body: 'connection_reset',
  never_answers: 'timeout',
  drips_headers: 'timeout',
  huge_body: 'response_too_large',
  huge_chunked_body: 'response_too_large',
  huge_announced_body: 'response_too_large',
  huge_chunk_extensions: 'response_too_large',
  tiny_chunks_with_extensions: 'response_too_large',
  huge_trailers: 'response_too_large',
  huge_headers: 'response_too_large',
  continue_flood: 'response_too_large',
  early_hints_flood: 'response_too_large',
  garbage: 'bad_response',
  upgrades: 'bad_response',
  redirects_302: 'redirect_blocked',
  redirects_307: 'redirect_blocked',
  tls_self_signed: 'tls_error',
  tls_wrong_host: 'tls_error',
  tls_plain: 'tls_error',
  tls_silent: 'timeout',
};

const CONDUCTS = Object.keys(ENDS) as HostileConduct[];
/** The connection buffers of the system hold this much on this machine, in addition to what was read. */
const SOCKET_BYTES_MAX = 12 * 2 ** 20;
const WEBHOOKS_MAX = 20;

let server: RunningServer;
let receiver: Receiver;
let hostile: HostileServer[] = [];
beforeAll(async () => {
  server = await startDeliveringServer();
});
afterAll(() => server.stop());
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(async () => {
  await receiver.close();
  for (const one of hostile) await one.close();
  hostile = [];
});

interface Tested {
  readonly status: string;
  readonly last_error: string | null;
  readonly attempts: readonly { readonly duration_ms: number }[];
}

describe('one attempt at each hostile receiver', () => {
  test.each([CONDUCTS.slice(0, WEBHOOKS_MAX - 1), CONDUCTS.slice(WEBHOOKS_MAX - 1)].map((group) => [group] as const))(
    'One attempt at each of these receivers ends in time, with its own error, and reads little: %s',
    async (group) => {
      const { url } = server;
      const { secretKey } = await newCustomer(url, server.dataDir);
      const { ask, create } = webhookClient(url, secretKey);
      const cases = await Promise.all(
        group.map(async (conduct) => {
          const one = await startHostile(conduct);
          hostile.push(one);
          return { conduct, one, id: (await create(`${one.url}/hook`, 'BLOCK')).id };
        }),
      );
      await create(receiver.url, 'ALLOW');
      const testing = Promise.all(
        cases.map(async ({ conduct, one, id }) => {
          const tested = (await ask('POST', `/v1/webhooks/${id}/test`)) as unknown as Tested;
          return { conduct, one, tested };
        }),
      );
      const lateMs: number[] = [];
      for (let i = 0; i < 20; i++) {
        const before = receiver.arrivals.length;
        await decideTo(url, secretKey, 'ALLOW');
        const sinceMs = Date.now();
        const arrival = (await receiver.arrived(before + 1)).at(-1);
        lateMs.push((arrival?.atMs ?? Number.POSITIVE_INFINITY) - sinceMs);
      }
      for (const { conduct, one, tested } of await testing) {
        const error = ENDS[conduct] ?? null;
        expect([conduct, tested.status, tested.last_error]).toEqual([
          conduct,
          error === null ? 'succeeded' : 'failed',
          error,
        ]);
        expect(tested.attempts).toHaveLength(1);
        expect(tested.attempts[0]?.duration_ms).toBeLessThan(6_500);
        expect(one.connections()).toBeLessThanOrEqual(1);
        expect(one.bytesTaken()).toBeLessThan(SOCKET_BYTES_MAX);
        expect(one.requests().every(({ head }) => head.startsWith('POST /hook '))).toBe(true);
      }
      // The receivers run in this process too. One that compresses 50 MiB blocks it briefly, and one that hangs takes 5 s.
      expect(lateMs.sort((a, b) => a - b)[15]).toBeLessThan(3_000);
      expect((await get(url, '/metrics')).text).toMatch(/^gatehouse_webhook_attempts_in_flight 0$/m);
    },
    120_000,
  );
});
