import { Agent } from 'node:http';
import { decide, CALM, type SendOptions } from './requests.ts';
import { bearer } from './manage.ts';

/** Visits as the velocity store distinguishes them, and the history that a decision reports. */

export interface Visit {
  readonly ip: string;
  readonly user_agent: string;
  readonly session_token: string;
  readonly event_type: string;
  readonly entity_keys: Readonly<Record<string, string>>;
}

let strangers = 0;

/** A visit with a new session and a new user: a cold start from any address. */
export function stranger(ip: string, eventType = 'login'): Visit {
  strangers++;
  return {
    ip,
    user_agent: CALM.user_agent,
    session_token: `session-${process.pid}-${strangers}`,
    event_type: eventType,
    entity_keys: { user_id: `user-${process.pid}-${strangers}` },
  };
}

/** Creates a collector's token for a device, which any text can name. */
export function collectorToken(device: string, sessionId: string, issuedAtSeconds: number): string {
  const fp = Buffer.from(device).toString('hex').padEnd(64, '0').slice(0, 64);
  const token = { v: 1, fp, sid: sessionId, iat: issuedAtSeconds, sig: {} };
  return `st1.${Buffer.from(JSON.stringify(token)).toString('base64url')}`;
}

export interface Decided {
  readonly requestId: string;
  readonly score: number;
  readonly reasons: readonly string[];
  /** Whether something that the decision uses was missing. */
  readonly isDegraded: boolean;
}

/**
 * A new connection per visit would take client and server as long as the visit itself. The servers keep idle connections longer than this.
 */
const agent = new Agent({ keepAlive: true, timeout: 2_000 });

/** Makes a decision; throws unless the status is 200. */
export async function visit(url: string, key: string, body: unknown, options: SendOptions = {}): Promise<Decided> {
  const { status, text, json } = await decide(url, key, body, { agent, ...options });
  if (status !== 200) throw new Error(`decide returned ${status}: ${text}`);
  return {
    requestId: String(json['request_id']),
    score: Number(json['score']),
    reasons: json['reasons'] as readonly string[],
    isDegraded: json['session_mode'] === 'degraded',
  };
}

interface Contribution {
  readonly reason: string;
  readonly weight: number;
  readonly evidence: string;
}

/** Returns the logged contribution of a reason to a decision; throws when the decision does not have it. `key` must be a secret key. */
export async function contribution(url: string, key: string, id: string, reason: string): Promise<Contribution> {
  const { json } = await bearer(url, key, 'GET', `/v1/decisions/${id}`);
  const all = json['contributions'] as readonly Contribution[];
  const found = all.find((one) => one.reason === reason);
  if (found === undefined) throw new Error(`${reason} is not among ${JSON.stringify(all)}`);
  return found;
}
