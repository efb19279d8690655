import { Agent } from 'node:http';
import { decide, CALM, type SendOptions } from './requests.ts';
import { bearer } from './manage.ts';

/** Visits as memory tells them apart, and what a decision says of its memory. */

export interface Visit {
  readonly ip: string;
  readonly user_agent: string;
  readonly session_token: string;
  readonly event_type: string;
  readonly entity_keys: Readonly<Record<string, string>>;
}

let strangers = 0;

/** A visit in a session and by a user that nobody has seen: cold, wherever it comes from. */
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

/** A collector's token for a device, by any text that names it. */
export function collectorToken(device: string, sessionId: string, issuedAtSeconds: number): string {
  const fp = Buffer.from(device).toString('hex').padEnd(64, '0').slice(0, 64);
  const token = { v: 1, fp, sid: sessionId, iat: issuedAtSeconds, sig: {} };
  return `st1.${Buffer.from(JSON.stringify(token)).toString('base64url')}`;
}

export interface Decided {
  readonly requestId: string;
  readonly score: number;
  readonly reasons: readonly string[];
}

/** A connection for each visit takes both sides as long as the visit. The servers keep idle ones for longer. */
const agent = new Agent({ keepAlive: true, timeout: 2_000 });

/** Decides; throws where the answer is not 200. */
export async function visit(url: string, key: string, body: unknown, options: SendOptions = {}): Promise<Decided> {
  const { status, text, json } = await decide(url, key, body, { agent, ...options });
  if (status !== 200) throw new Error(`decide answered ${status}: ${text}`);
  return {
    requestId: String(json['request_id']),
    score: Number(json['score']),
    reasons: json['reasons'] as readonly string[],
  };
}

interface Contribution {
  readonly reason: string;
  readonly weight: number;
  readonly evidence: string;
}

/** What the log keeps of a reason of a decision; throws where the decision has no such reason. `key` is a secret one. */
export async function contribution(url: string, key: string, id: string, reason: string): Promise<Contribution> {
  const { json } = await bearer(url, key, 'GET', `/v1/decisions/${id}`);
  const all = json['contributions'] as readonly Contribution[];
  const found = all.find((one) => one.reason === reason);
  if (found === undefined) throw new Error(`${reason} is not among ${JSON.stringify(all)}`);
  return found;
}
