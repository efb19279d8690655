import { execFile, spawnSync } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { promisify } from 'node:util';
import { once } from 'node:events';
import { createTraffic, requestOf, type TrafficShape } from './traffic.ts';

/** Load from another process: wrk where it is installed, otherwise the built-in client. */

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  /** Number of responses other than 2xx plus the number of broken connections. */
  readonly failed: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly p999_ms: number;
}

const CONNECTIONS = 64;

/** Size of the length prefix of each request in the file. */
const LENGTH_BYTES = 4;

/** Writes `count` signed requests, each with a unique id, for `load`. */
export async function writeRequests(
  file: string,
  count: number,
  key: string,
  host: string,
  first = 0,
  shape: Partial<TrafficShape> = {},
): Promise<void> {
  const nowSeconds = Math.floor(Date.now() / 1000);
  const nextBody = createTraffic(20_261_120 + first, nowSeconds, shape);
  const out = createWriteStream(file, { highWaterMark: 1 << 20 });
  for (let n = first; n < first + count; n++) {
    const bytes = requestOf(n, nextBody(), key, host, nowSeconds);
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32LE(bytes.length);
    out.write(length);
    if (!out.write(bytes)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'finish');
}

export function hasWrk(): boolean {
  return spawnSync('wrk', ['-v']).error === undefined;
}

/** Sends the file's requests over 64 connections for `seconds`. */
export async function load(port: number, file: string, seconds: number): Promise<LoadResult> {
  const run = promisify(execFile);
  const url = `http://127.0.0.1:${port}`;
  const root = new URL('../../', import.meta.url).pathname;
  const { stdout } = hasWrk()
    ? await run('wrk', [
        '-t1',
        `-c${CONNECTIONS}`,
        `-d${seconds}s`,
        '--latency',
        '-s',
        `${root}bench/decide.lua`,
        url,
        '--',
        file,
      ])
    : await run(process.execPath, [
        `${root}dist/bench/client.js`,
        String(port),
        file,
        String(seconds),
        String(CONNECTIONS),
      ]);
  const line = stdout.trim().split('\n').at(-1) ?? '';
  return JSON.parse(line) as LoadResult;
}
