import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { CommanderError } from 'commander';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { readOptions } from '../../../bench/open-loop/options.ts';
import { planArrivals } from '../../../bench/open-loop/plan.ts';
import type { PhaseReport } from '../../../bench/open-loop/report.ts';
import { countStatuses, curve, slices, summarise } from '../../../bench/open-loop/summary.ts';
import type { SendOutcome } from '../../../bench/open-loop/sender.ts';

const BENCH = fileURLToPath(new URL('../../../dist/bench/open-loop.js', import.meta.url));

describe('planArrivals', () => {
  test('Even arrivals are spaced by one over the rate', () => {
    const due = planArrivals({ perSecond: 500, seconds: 2, process: 'even', seed: 1 });
    expect(due).toHaveLength(1_000);
    expect([due[0], due[1], due[999]]).toEqual([0, 2, 1_998]);
  });

  test('Poisson arrivals have the same mean rate, are in order, and repeat for the same seed', () => {
    const plan = { perSecond: 1_000, seconds: 20, process: 'poisson', seed: 7 } as const;
    const due = planArrivals(plan);
    expect(due).toEqual(planArrivals(plan));
    expect(due.every((atMs, n) => n === 0 || atMs >= (due[n - 1] ?? 0))).toBe(true);
    // The standard deviation of the last of 20,000 arrivals is 141 ms.
    expect(Math.abs((due.at(-1) ?? 0) - 20_000)).toBeLessThan(1_000);
    const gaps = due.map((atMs, n) => atMs - (due[n - 1] ?? 0));
    // Gaps of a Poisson process are longer than the mean with probability 1/e.
    expect(gaps.filter((gap) => gap > 1).length / gaps.length).toBeCloseTo(1 / Math.E, 1);
  });
});

describe('the summary of a phase', () => {
  const outcome: SendOutcome = {
    dueMs: Float64Array.from({ length: 200 }, (_, n) => n * 10),
    latencyMs: Float64Array.from({ length: 200 }, (_, n) => (n === 199 ? Number.NaN : n < 100 ? 50 : n - 99)),
    lateMs: new Float64Array(200),
    status: Uint16Array.from({ length: 200 }, (_, n) => (n === 199 ? 0 : n === 150 ? 429 : 200)),
    senderProcessorMs: 1,
  };

  test('The summary excludes requests that were due before the warm-up ended', () => {
    expect(summarise(outcome, 0, 1_000)).toMatchObject({ requests: 100, p50_ms: 50, max_ms: 50 });
    expect(summarise(outcome, 1_000)).toMatchObject({ requests: 100, p50_ms: 51, p90_ms: 91 });
  });

  test('The summary counts a request without a response as slower than all others', () => {
    expect(summarise(outcome, 1_000).max_ms).toBe(Infinity);
    expect(countStatuses(outcome)).toEqual({ 0: 1, 200: 198, 429: 1 });
  });

  test('The summary divides the phase into equal intervals', () => {
    const pieces = slices(outcome, 500);
    expect(pieces.map(({ from_ms: fromMs, requests }) => [fromMs, requests])).toEqual([
      [0, 50],
      [500, 50],
      [1_000, 50],
      [1_500, 50],
    ]);
    expect(curve(outcome)[0]).toBe(1);
  });
});

describe('bench:load from the command line', () => {
  const run = (...words: string[]): Promise<{ stdout: string; stderr: string }> =>
    promisify(execFile)(process.execPath, [BENCH, ...words], { timeout: 60_000 });

  test.each([
    [['--url', 'http://shop.example', '--key', 'sk_live_x'], 'is another machine'],
    [['--url', 'http://127.0.0.1:1'], '--url needs --key'],
    [['--rate', '0'], 'a rate from 1 to'],
    [['--mix', 'walk=1'], '"walk" is not one of'],
    [['--rate', '30000', '--seconds', '600'], 'at most 2500000 can be measured at once'],
  ])('bench:load refuses %j and names the reason', (words, reason) => {
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    onTestFinished(() => write.mockRestore());
    expect(() => readOptions(['node', 'bench', ...words])).toThrow(CommanderError);
    expect(write.mock.calls.join('')).toContain(reason);
  });

  test('bench:load counts a stall of the server as latency of every request that was due meanwhile', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-load-test-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const { server, origin, seen } = await stallingServer(100, 400);
    onTestFinished(() => void server.close());
    const [json, picture] = [join(folder, 'load.json'), join(folder, 'load.svg')];
    const words = ['--url', origin, '--key', 'sk_live_test', '--no-echo', '--rate', '500', '--seconds', '1'];
    const { stdout } = await run(
      ...words,
      '--warm-up',
      '0',
      '--rounds',
      '1',
      '--connections',
      '4',
      '--json',
      json,
      '--picture',
      picture,
    );
    expect(stdout).toContain('decide');
    expect(readFileSync(picture, 'utf8')).toMatch(/^<svg[\s\S]*Latency by percentile/);
    const { phases } = JSON.parse(readFileSync(json, 'utf8')) as { phases: PhaseReport[] };
    expect(phases[0]).toMatchObject({ rate: 500, statuses: { 200: 500 } });
    // 4 connections were stuck, yet some 200 requests were due during the 400 ms: a closed loop would have seen 4 slow ones.
    expect(phases[0]?.latency.p90_ms).toBeGreaterThan(100);
    // Includes the bench's own warm-up requests.
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.length).toBeGreaterThanOrEqual(500);
  });
});

/** Responds at once, but holds back every pending response for `stallMs` after the n-th request. */
async function stallingServer(n: number, stallMs: number): Promise<{ server: Server; origin: string; seen: string[] }> {
  const seen: string[] = [];
  let isStalled = false;
  const held: (() => void)[] = [];
  const server = createServer((req, res) => {
    seen.push(String(req.headers['x-svc-rid']));
    const answer = (): void => void res.writeHead(200, { 'Content-Length': 2 }).end('{}');
    if (seen.length === 1_000 + n) {
      isStalled = true;
      setTimeout(() => {
        isStalled = false;
        for (const one of held) one();
      }, stallMs);
    }
    req.resume().on('end', () => {
      if (isStalled) held.push(answer);
      else answer();
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}
