import { Agent, request } from 'node:http';
import { randomUUID } from 'node:crypto';
import { signRequest } from '../../src/client/sign.ts';
import type { Call } from './calls.ts';

const usual = new Agent({ keepAlive: true });

/** Sends a request and reads the whole response. */
export function callOnce(
  port: number,
  key: string,
  { method, path, body = '', headers: own = {}, isKeyless = false, isSigned = false }: Call,
  agent: Agent = usual,
): Promise<{ readonly status: number; readonly bytes: number }> {
  const headers = {
    ...(isKeyless || isSigned ? {} : { authorization: `Bearer ${key}` }),
    ...(isSigned ? signatureOf(key, method, path, body) : {}),
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...own,
  };
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, method, path, headers, agent }, (answer) => {
      let bytes = 0;
      answer.on('data', (chunk: Buffer) => (bytes += chunk.length));
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, bytes }));
      answer.on('error', reject);
    });
    sent.on('error', reject).end(body);
  });
}

function signatureOf(key: string, method: string, path: string, body: string): Record<string, string> {
  const timestampSeconds = Math.floor(Date.now() / 1_000);
  return { ...signRequest({ key, method, path, body, timestampSeconds, requestId: randomUUID() }) };
}
