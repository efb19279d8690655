import { rmSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { CALM, decide, get, newcomer, newCustomer } from '../support/requests.ts';
import { appendToClass, installWithout } from '../support/installation.ts';
import { startNode, type RunningServer } from '../support/server.ts';

/**
 * Cells that throw. A copy of the installation gets traps in three places of a cell: while it takes a request, while it sends a response
 * whose decision is recorded, and outside of any request.
 */
let server: RunningServer | null = null;
let folder = '';
afterEach(async () => {
  await server?.stop();
  server = null;
  rmSync(folder, { recursive: true, force: true });
});

const TAKE = `
const take = CellDecider.prototype.take;
CellDecider.prototype.take = function (head, exchange, body, forward) {
  if (head.svcRequestId.startsWith('trap-take')) throw new Error('trapped while taking');
  if (head.svcRequestId.startsWith('trap-thread')) globalThis.setTimeout(() => { throw new Error('trapped outside of a request'); });
  exchange.isTrapped = head.svcRequestId.startsWith('trap-send');
  take.call(this, head, exchange, body, forward);
};
`;
const SEND = `
const send = UwsExchange.prototype.send;
UwsExchange.prototype.send = function (status, fields, body, close) {
  if (status === 200 && this.isTrapped) throw new Error('trapped while sending');
  send.call(this, status, fields, body, close);
};
`;

async function startTrapped(): Promise<RunningServer & { readonly secretKey: string }> {
  const installation = installWithout(() => false);
  folder = installation.folder;
  appendToClass(installation, 'CellDecider', TAKE);
  appendToClass(installation, 'UwsExchange', SEND);
  server = await startNode({ main: installation.main, env: { GATEHOUSE_CELLS: '2', GATEHOUSE_WORKERS: '1' } });
  const { url, dataDir } = server;
  const { secretKey } = await newCustomer(url, dataDir, 10_000);
  // At first the main thread decides: a cell opens what it needs after the start.
  const decidesInAll = async (): Promise<boolean> => {
    await Promise.all(Array.from({ length: 20 }, () => decide(url, secretKey)));
    const { text } = await get(url, '/metrics');
    return [...text.matchAll(/^gatehouse_cell_decisions_total\{cell="\d"\} [1-9]/gm)].length === 2;
  };
  await expect.poll(decidesInAll, { timeout: 20_000, interval: 50 }).toBe(true);
  return { ...server, secretKey };
}

async function metric(url: string, pattern: RegExp): Promise<number> {
  const { text } = await get(url, '/metrics');
  return Number(pattern.exec(text)?.[1] ?? 0);
}

test.each([
  ['while it takes a request', 'trap-take', /^gatehouse_refusals_total\{code="internal_error"\} (\d+)/m, false],
  ['while it sends a response', 'trap-send', /^gatehouse_batch_failures_total (\d+)/m, true],
] as const)(
  'A cell that throws %s loses this request only, which gets 500 and is counted',
  async (_where, trap, counter, isRecorded) => {
    const { url, secretKey } = await startTrapped();
    const outcomes = await Promise.all(
      Array.from({ length: 60 }, (_none, n) =>
        decide(url, secretKey, newcomer(), { requestId: n % 6 === 5 ? `${trap}-${n}` : `calm-${n}` }),
      ),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map((_one, n) => (n % 6 === 5 ? 500 : 200)));
    expect(outcomes[5]?.json).toMatchObject({ code: 'internal_error' });
    expect(await metric(url, counter)).toBe(10);
    // An id whose decision is recorded is used up.
    const again = await decide(url, secretKey, CALM, { requestId: `${trap}-5` });
    expect(again.json['code']).toBe(isRecorded ? 'replayed_request' : 'internal_error');
    expect((await decide(url, secretKey)).status).toBe(200);
  },
);

test('A fault of the thread itself ends the process by SIGKILL, for its supervisor to restart it', async () => {
  const running = await startTrapped();
  await decide(running.url, running.secretKey, CALM, { requestId: 'trap-thread-1' }).catch(() => null);
  await expect.poll(() => running.stdout(), { timeout: 10_000 }).toContain('trapped outside of a request');
  expect(running.stdout()).toContain('uncaught exception; exiting for a restart by the supervisor');
  await expect.poll(() => isAlive(running.pid), { timeout: 10_000 }).toBe(false);
  // Null: a signal has ended it.
  expect(await running.stop()).toBeNull();
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
