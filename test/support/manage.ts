import { createHash } from 'node:crypto';
import { Agent } from 'node:http';
import { send, type Answer, type SendOptions } from './requests.ts';

/** Calls of the management endpoints, as made by a customer's back office. */

export const UNSIGNED = { 'X-SVC-Key': null, 'X-SVC-Ts': null, 'X-SVC-Rid': null, 'X-SVC-Sig': null } as const;

const agent = new Agent({ keepAlive: true });

/** Sends a signed call. */
export function call(
  url: string,
  key: string,
  method: string,
  path: string,
  body?: unknown,
  options: SendOptions = {},
): Promise<Answer> {
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
  const attempt = (): Promise<Answer> => send(url, key, { method, path, body: text, agent, ...options });
  // The server may close an idle connection at the moment in which a call is written to it: nothing was read then.
  return attempt().catch((error: NodeJS.ErrnoException & { reusedSocket?: boolean }) => {
    if (error.reusedSocket === true && error.code === 'ECONNRESET') return attempt();
    throw error;
  });
}

/** Sends the same call, authenticated by the key only. */
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

/** Returns the fingerprint of a session token that does not come from the collector. */
export function fingerprintOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** Returns the n-th fingerprint; they are in ascending order. */
export function nthHash(n: number): string {
  return n.toString(16).padStart(64, '0');
}
