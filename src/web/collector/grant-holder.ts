import type { CollectorSettings } from './collector-options.ts';
import { postSigned } from './request-signature.ts';
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

export interface GrantHolder {
  /** The valid grant; null without one. */
  readonly current: Grant | null;
  /** Asks for a grant if there is none or the present one ends soon. Never rejects; resolves when the question is answered. */
  renew(): Promise<void>;
}

export function holdGrant({ publicKey, server }: CollectorSettings): GrantHolder {
  let held: Grant | null = null;
  let asking: Promise<void> | null = null;
  let notBeforeMs = 0;

  return {
    get current() {
      return held !== null && held.expiresAtMs > Date.now() ? held : null;
    },
    renew() {
      const now = Date.now();
      const lasts = held !== null && held.expiresAtMs - now > RENEW_BEFORE_MS;
      // Without a secure context there is no WebCrypto to sign with, and no public key allows such an origin.
      if (publicKey === null || lasts || crypto.subtle === undefined) return Promise.resolve();
      if (asking === null && now >= notBeforeMs) {
        notBeforeMs = now + PAUSE_MS;
        asking = ask({ publicKey, server }).then((grant) => {
          held = grant ?? held;
          asking = null;
        });
      }
      return asking ?? Promise.resolve();
    },
  };
}

async function ask(settings: { readonly publicKey: string; readonly server: string }): Promise<Grant | null> {
  try {
    const response = await postSigned(settings, '/v1/collector/grant', {}, TIMEOUT_MS);
    if (!response.ok) return null;
    const { grant, nonce, expires_at: expiresAt } = (await response.json()) as Record<string, unknown>;
    if (typeof grant !== 'string' || typeof nonce !== 'string' || typeof expiresAt !== 'number') return null;
    return { grant, nonce: fromBase64url(nonce), expiresAtMs: expiresAt * 1_000, seq: 0 };
  } catch {
    // A content blocker, a policy of the page, or an outage: tokens are `st1.` until the next attempt.
    return null;
  }
}
