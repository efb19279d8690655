import { createHash } from 'node:crypto';
import { Agent } from 'node:http';
import { send, type Answer, type SendOptions } from './requests.ts';

/** Calls of the management endpoints, as a customer's back office makes them. */

export const UNSIGNED = { 'X-SVC-Key': null, 'X-SVC-Ts': null, 'X-SVC-Rid': null, 'X-SVC-Sig': null } as const;

const agent = new Agent({ keepAlive: true });

/** A signed call. */
export function call(
  url: string,
  key: string,
  method: string,
  path: string,
  body?: unknown,
  options: SendOptions = {},
): Promise<Answer> {
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
  return send(url, key, { method, path, body: text, agent, ...options });
}

/** The same call by the key alone. */
export function bearer(
  url: string,
  key: string,
  method: string,
  path: string,
  body?: unknown,
  options: SendOptions = {},
): Promise<Answer> {
  const headers = { ...UNSIGNED, authorization: `Bearer ${key}`, ...options.headers };
  return call(url, key, method, path, body, { ...options, headers });
}

/** The fingerprint of a session token that is not the collector's. */
export function fingerprintOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** The n-th of many fingerprints, in their order. */
export function nthHash(n: number): string {
  return n.toString(16).padStart(64, '0');
}
