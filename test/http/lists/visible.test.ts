import { Agent } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { IS_FULL } from '../../support/long.ts';
import { bearer, fingerprintOf } from '../../support/manage.ts';
import { CALM, decide, newCustomer, type Answer } from '../../support/requests.ts';
import { startServer, type RunningServer } from '../../support/server.ts';

const ROUNDS = IS_FULL ? 1_000 : 96;
const TOKEN = 'a-session-that-is-looked-at';
const HASH = fingerprintOf(TOKEN);
/** What a decide must report about the list after each kind of write. Such a busy session also triggers rules of its own. */
const EXPECTED = { block: ['list_block'], allow: ['list_allow'], none: [] } as const;
const STEPS = ['block', 'none', 'allow', 'block', 'allow', 'none'] as const;

describe('a list write that was answered', () => {
  let server: RunningServer;
  let load: Promise<void>[] = [];
  const end = new AbortController();
  let loaded = 0;

  beforeAll(async () => {
    server = await startServer({ env: { GATEHOUSE_WORKERS: '2' } });
    // Decides of another customer keep both workers busy, each with its own view of the store.
    const { secretKey } = await newCustomer(server.url, server.dataDir);
    const agent = new Agent({ keepAlive: true });
    const sender = async (): Promise<void> => {
      while (!end.signal.aborted) {
        const body = { ...CALM, session_token: loaded % 2 === 0 ? TOKEN : `session-${loaded}` };
        expect(listReasons(await decide(server.url, secretKey, body, { agent }))).toEqual([]);
        loaded++;
      }
    };
    load = Array.from({ length: 4 }, sender);
  });
  afterAll(async () => {
    end.abort();
    await Promise.all(load);
    await server.stop();
  });

  test(`a list write is seen by the next decides, ${ROUNDS} times under load, single or in a batch`, async () => {
    const agent = new Agent({ keepAlive: true });
    const { url, secretKey } = server;
    for (let round = 0; round < ROUNDS; round++) {
      const step = STEPS[round % STEPS.length] ?? 'none';
      const entry = { fingerprint_hash: HASH, action: step };
      const path = `/v1/lists/${HASH}`;
      const written =
        step === 'none'
          ? await bearer(url, secretKey, 'DELETE', path)
          : await (round % 2 === 0
              ? bearer(url, secretKey, 'POST', '/v1/lists', entry)
              : bearer(url, secretKey, 'POST', '/v1/lists/batch', [entry]));
      expect(written.status).toBeLessThan(300);
      // Several at once, so that both workers get some.
      const answers = await Promise.all(
        Array.from({ length: 3 }, () => decide(url, secretKey, { ...CALM, session_token: TOKEN }, { agent })),
      );
      for (const answer of answers) {
        expect([round, listReasons(answer)]).toEqual([round, EXPECTED[step]]);
        if (step !== 'none') expect(answer.json['decision']).toBe(step.toUpperCase());
      }
    }
    expect(loaded).toBeGreaterThan(ROUNDS);
  }, 120_000);
});

function listReasons({ status, json }: Answer): readonly string[] {
  expect(status).toBe(200);
  return (json['reasons'] as string[]).filter((reason) => reason.startsWith('list_'));
}
