import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { signRequest } from '../../src/client/sign.ts';
import { nowMs } from './clock.ts';

/** A decision requested at a steady rate, regardless of the responses: a pending request does not delay the next. */

export interface Decided {
  readonly requestId: string;
  /** By the machine's monotonic clock. */
  readonly answeredMs: number;
  readonly latencyMs: number;
}

export interface CallPlan {
  readonly port: number;
  readonly perSecond: number;
  readonly seconds: number;
  /** Returns key and body of the n-th call. */
  readonly callOf: (n: number) => { readonly key: string; readonly body: string };
}

const CONNECTIONS = 64;

/** Resolves after the last response; throws when a request fails. */
export async function callSteadily({ port, perSecond, seconds, callOf }: CallPlan): Promise<readonly Decided[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS, scheduling: 'fifo' });
  const calls: Promise<Decided>[] = [];
  const startMs = nowMs();
  const count = Math.round(perSecond * seconds);
  while (calls.length < count) {
    const isDue = Math.min(count, Math.ceil(((nowMs() - startMs) * perSecond) / 1_000));
    while (calls.length < isDue) calls.push(call(port, agent, callOf(calls.length)));
    await new Promise((done) => setTimeout(done, 1));
  }
  const decided = await Promise.all(calls);
  agent.destroy();
  return decided;
}

function call(port: number, agent: Agent, { key, body }: { key: string; body: string }): Promise<Decided> {
  const signed = signRequest({
    key,
    method: 'POST',
    path: '/v1/decide',
    body,
    timestampSeconds: Math.floor(Date.now() / 1_000),
    requestId: randomUUID(),
  });
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...signed };
  const sentMs = nowMs();
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, method: 'POST', path: '/v1/decide', headers, agent }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      answer.on('end', () => {
        const answeredMs = nowMs();
        const { request_id: requestId } = JSON.parse(text) as { request_id: string };
        if (answer.statusCode === 200) resolve({ requestId, answeredMs, latencyMs: answeredMs - sentMs });
        else reject(new Error(`decide returned ${answer.statusCode}: ${text}`));
      });
    });
    sent.on('error', reject).end(body);
  });
}
