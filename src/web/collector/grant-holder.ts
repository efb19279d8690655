import type { CollectorSettings } from './collector-options.ts';
import { post } from './request-signature.ts';
import { fromBase64url } from './sha256.ts';

/** Permission of the server to make tokens for half an hour. Kept in memory only: a copy in a second tab would repeat numbers. */
export interface Grant {
  readonly grant: string;
  /** Secret of the tokens' HMAC. */
  readonly nonce: Uint8Array;
  readonly expiresAtMs: number;
  /** Number of the newest token. */
  seq: number;
}

/** Choice: a grant is renewed when a third of its half hour is left, so that a slow network never leaves a gap. */
const RENEW_BEFORE_MS = 600_000;
/** Choice: a server that did not answer is asked again after a minute. */
const PAUSE_MS = 60_000;
const TIMEOUT_MS = 5_000;
/** Source: contract, 17.2. A longer or negative time is the fault of the visitor's clock. */
const LASTS_MS_MAX = 1_800_000;

export interface GrantHolder {
  /** The valid grant; null without one. */
  readonly current: Grant | null;
  /** Requests a grant if there is none or the present one ends soon. Never rejects; resolves after the response. */
  renew(): Promise<void>;
}

export function holdGrant({ publicKey, server }: CollectorSettings): GrantHolder {
  let latest: Grant | null = null;
  let pending: Promise<void> | null = null;
  let notBeforeMs = 0;
  const remainingMs = (): number => (latest === null ? 0 : latest.expiresAtMs - Date.now());

  return {
    get current() {
      return remainingMs() > 0 ? latest : null;
    },
    renew() {
      const now = Date.now();
      if (publicKey === null || remainingMs() > RENEW_BEFORE_MS) return Promise.resolve();
      if (pending === null && now >= notBeforeMs) {
        notBeforeMs = now + PAUSE_MS;
        pending = requestGrant(server, publicKey).then((grant) => {
          latest = grant ?? latest;
          pending = null;
        });
      }
      return pending ?? Promise.resolve();
    },
  };
}

async function requestGrant(server: string, publicKey: string): Promise<Grant | null> {
  try {
    // Not signed: a signature has a time, and the clocks of some visitors are wrong.
    const response = await post(`${server}/v1/collector/grant`, { 'X-SVC-Key': publicKey }, null, TIMEOUT_MS);
    if (!response.ok) return null;
    const { grant, nonce, expires_at: expiresAt } = (await response.json()) as Record<string, unknown>;
    if (typeof grant !== 'string' || typeof nonce !== 'string' || typeof expiresAt !== 'number') return null;
    const lastsMs = expiresAt * 1_000 - Date.now();
    const isPlausible = lastsMs > 0 && lastsMs <= LASTS_MS_MAX;
    const expiresAtMs = Date.now() + (isPlausible ? lastsMs : LASTS_MS_MAX - RENEW_BEFORE_MS);
    return { grant, nonce: fromBase64url(nonce), expiresAtMs, seq: 0 };
  } catch {
    // A content blocker, a policy of the page, or an outage: tokens are `st1.` until the next attempt.
    return null;
  }
}
