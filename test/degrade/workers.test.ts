import { rmSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { decide, get, newcomer } from '../support/requests.ts';
import { appendToClass, installWithout } from '../support/installation.ts';
import { startServer, type RunningServer } from '../support/server.ts';

/**
 * Score workers that fail. A copy of the installation gets an engine with a trap: an event type that makes it throw, exit, or run out of
 * memory. Only the request that triggered the trap is lost.
 */
let server: RunningServer | null = null;
let folder = '';
afterEach(async () => {
  await server?.stop();
  server = null;
  rmSync(folder, { recursive: true, force: true });
});

const TRAP = `
const real = Engine.prototype.scoreBatch;
Engine.prototype.scoreBatch = async function (requests, answers, from, count) {
  for (let at = from; at < from + count; at++) {
    const text = requests.body(at).toString();
    if (text.includes('"trap-throw"')) throw new Error('trapped');
    if (text.includes('"trap-exit"')) process.exit(9);
    if (text.includes('"trap-heap"')) { const all = []; for (;;) all.push(new Array(100000).fill(at)); }
    // Never gives the thread back, and takes no processor time from other tests.
    if (text.includes('"trap-loop"')) for (const cell = new Int32Array(new SharedArrayBuffer(4)); ; ) Atomics.wait(cell, 0, 0, 50);
  }
  return real.call(this, requests, answers, from, count);
};
`;

async function startTrapped(env: Record<string, string> = {}): Promise<RunningServer> {
  const installation = installWithout(() => false);
  folder = installation.folder;
  appendToClass(installation, 'Engine', TRAP);
  server = await startServer({ main: installation.main, env: { GATEHOUSE_WORKERS: '2', ...env } });
  return server;
}

/** Returns a body that is too large for the main thread. */
function forWorker(body: object): string {
  return JSON.stringify(body) + ' '.repeat(4_096);
}

describe('a poisoned request', () => {
  test('A poisoned request that throws on the main thread fails alone', async () => {
    const { url, secretKey } = await startTrapped({ GATEHOUSE_WORKERS: '1', GATEHOUSE_CELLS: '1' });
    const poisoned = await decide(url, secretKey, { ...newcomer(), event_type: 'trap-throw' });
    expect(poisoned).toMatchObject({ status: 500, json: { code: 'internal_error', detail: 'The decision failed.' } });
    expect((await decide(url, secretKey)).status).toBe(200);
    const { text } = await get(url, '/metrics');
    expect(text).toMatch(/^gatehouse_batch_failures_total [1-9]/m);
    expect(text).toMatch(/^gatehouse_inline_batches_total [3-9]/m);
  });

  test('A poisoned request fails alone, whatever it does to its worker, and the pool recovers', async () => {
    const { url, secretKey } = await startTrapped({ NODE_OPTIONS: '--max-old-space-size=128' });
    for (const trap of ['trap-throw', 'trap-exit', 'trap-heap', 'trap-exit', 'trap-throw', 'trap-heap']) {
      const bodies = Array.from({ length: 40 }, (_none, at) => ({
        ...newcomer(),
        event_type: at === 20 ? trap : 'search',
      }));
      const answers = await Promise.all(bodies.map((body) => decide(url, secretKey, forWorker(body))));
      const statuses = bodies.map((_body, at) => (at === 20 ? 500 : 200));
      expect([trap, ...answers.map(({ status }) => status)]).toEqual([trap, ...statuses]);
      expect(answers[20]?.json).toMatchObject({ code: 'internal_error', detail: 'The decision failed.' });
    }
    const since = performance.now();
    expect((await decide(url, secretKey)).status).toBe(200);
    expect(performance.now() - since).toBeLessThan(5_000);
    expect((await get(url, '/metrics')).text).toMatch(/^gatehouse_batch_failures_total [1-9]/m);
  });

  test('A poisoned request that never ends makes the process exit, for its supervisor to restart it', async () => {
    const { url, secretKey, pid } = await startTrapped({ GATEHOUSE_WORKERS: '1' });
    await expect(decide(url, secretKey, forWorker({ ...newcomer(), event_type: 'trap-loop' }))).rejects.toThrow();
    await expect
      .poll(() => {
        try {
          return process.kill(pid, 0);
        } catch {
          return false;
        }
      })
      .toBe(false);
    expect(server?.stdout()).toContain('a score worker is stuck');
  });
});
