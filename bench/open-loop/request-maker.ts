import { parentPort, workerData } from 'node:worker_threads';
import { signRequest } from '../../src/client/sign.ts';
import { createTraffic } from '../traffic.ts';
import type { MakerInput } from './request-feed.ts';

/**
 * A thread that signs requests ahead of the sender, so that the sender computes no signature between two requests. The timestamp of each
 * request is its due time.
 */

const { plan, runId, blockRequests, startSeconds } = workerData as MakerInput;
const { origin, key, arrivals, seed, shape } = plan;
const host = new URL(origin).host;
const nextBody = createTraffic(seed, startSeconds, shape);
const count = Math.round(arrivals.perSecond * arrivals.seconds);
let made = 0;

parentPort?.on('message', () => {
  const block: Uint8Array[] = [];
  while (block.length < blockRequests && made < count) block.push(makeRequest(made++));
  parentPort?.postMessage(block);
});

function makeRequest(n: number): Uint8Array {
  const body = nextBody();
  const signed = signRequest({
    key,
    method: 'POST',
    path: '/v1/decide',
    body,
    timestampSeconds: startSeconds + Math.floor(n / arrivals.perSecond),
    requestId: `${runId}-${n}`,
  });
  const headers = Object.entries(signed).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `POST /v1/decide HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n`;
  return Buffer.from(`${head}Content-Length: ${Buffer.byteLength(body)}\r\n${headers.join('')}\r\n${body}`);
}
