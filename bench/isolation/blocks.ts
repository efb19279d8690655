import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { print } from '../webhooks/report.ts';
import type { Children } from '../webhooks/children.ts';
import { type Call, largestCalls } from './calls.ts';
import { callOnce } from './call-once.ts';
import { createTraffic } from '../traffic.ts';
import { floods } from './floods.ts';
import { startServer, type IsolationOptions } from './server.ts';

const PROBE = new URL('./probe.js', import.meta.url).href;

/** Measures the longest single turn of the main thread's event loop during the largest call of each endpoint. */
export async function benchBlocks(options: IsolationOptions, children: Children): Promise<void> {
  const server = await startServer('blocks', options, children, ['--import', PROBE]);
  // Other work of the machine can only lengthen a turn, so the minimum is reported.
  console.log(`longest turn of the event loop: the minimum of ${options.repeats} calls, one at a time`);
  print('', 'turn ms', 'response ms', 'status', 'bytes');
  const nextBody = createTraffic(5, Math.floor(Date.now() / 1_000));
  const named = new Map(largestCalls(server).map((call) => [call.name, call]));
  for (const { name, kind, callsOf } of floods(nextBody)) {
    const [call] = callsOf(server);
    if (kind === 'calls' && call !== undefined) named.set(name, { ...call, name });
  }
  for (const call of named.values()) {
    if (!options.only.split('|').some((part) => call.name.includes(part))) continue;
    const seen = [];
    // Ignores the first call, which includes JIT compilation, unless nobody reads the figures.
    const ignored = options.isSmoke ? 0 : 1;
    for (let n = 0; n < ignored + options.repeats; n++)
      seen.push(await measure(server.child, server.port, server.busyKey, call));
    const least = seen.slice(ignored).sort((a, b) => a.longestMs - b.longestMs)[0];
    if (least === undefined) continue;
    const { longestMs, answerMs, status, bytes } = least;
    print(call.name.padEnd(30), longestMs.toFixed(2), answerMs.toFixed(1), String(status), String(bytes));
  }
}

async function measure(child: ChildProcess, port: number, key: string, call: Call) {
  child.send('begin');
  const startMs = performance.now();
  const { status, bytes } = await callOnce(port, key, call);
  const answerMs = performance.now() - startMs;
  child.send('end');
  const [{ longestMs }] = (await once(child, 'message')) as [{ longestMs: number }];
  return { longestMs, answerMs, status, bytes };
}
