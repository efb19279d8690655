import { hash } from 'node:crypto';
import type { Clock } from '../kernel/clock.ts';
import type { RequestHead } from '../http/exchange.ts';
import { problem, type Problem } from '../contract/problem.ts';
import {
  DECIDE_BODY_BYTES_MAX,
  REQUEST_ID_CHARACTERS_MAX,
  TIMESTAMP_SECONDS_MAX,
  TIMESTAMP_WINDOW_SECONDS,
} from '../kernel/limits.ts';
import type { FoundKey, Key, KeyCache, KeyEnd } from './key-cache.ts';
import { canonicalText, verifyHmac } from './signature.ts';

export type Verified =
  | { readonly kind: 'verified'; readonly key: Key; readonly timestampSeconds: number }
  /** Does not name the key: an unverified request must not be attributed to any customer. */
  | { readonly kind: 'refused'; readonly problem: Problem };

const TIMESTAMP = /^\d{1,12}$/;
const KEY = /^[\x21-\x7e]{1,128}$/;
const REQUEST_ID = new RegExp(`^[\\x21-\\x7e]{1,${REQUEST_ID_CHARACTERS_MAX}}$`);
const SIGNATURE = /^[0-9a-fA-F]{64}$/;

/** Checks the form of the four headers; needs no body. Source: contract, 3.5. */
export function checkCredentialForm(head: RequestHead): Problem | null {
  const keyFault = checkKeyForm(head);
  if (keyFault !== null) return keyFault;
  if (!TIMESTAMP.test(head.svcTimestamp)) return missing('X-SVC-Ts');
  if (!REQUEST_ID.test(head.svcRequestId)) return missing('X-SVC-Rid');
  if (!SIGNATURE.test(head.svcSignature)) {
    return problem('invalid_signature', 'X-SVC-Sig is not 64 hexadecimal digits.');
  }
  return null;
}

/** Checks the form of the key alone, for calls that need no signature. */
export function checkKeyForm(head: Pick<RequestHead, 'svcKey'>): Problem | null {
  return KEY.test(head.svcKey) ? null : missing('X-SVC-Key');
}

function missing(name: string): Problem {
  return problem('missing_credentials', `${name} is missing or malformed.`);
}

/**
 * Checks a signed request by its header alone, so that a large body of an unknown sender is neither awaited nor hashed. The form of the
 * headers must have been checked. Only the owner of a secret key can name it, so a known one suffices here; a public key is known to
 * everyone.
 */
export function checkHeader(head: RequestHead, keyCache: KeyCache, clock: Clock): Problem | null {
  const fault = checkTimestamp(Number(head.svcTimestamp), clock);
  if (fault !== null) return fault;
  const found = keyCache.find(head.svcKey);
  return found.known || mayProveEnd(head, found) ? null : unknownKey(null);
}

/** Whether a body is read to verify the signature of a key that has ended: never a large one, and never for a public key. */
function mayProveEnd({ contentLength }: RequestHead, found: FoundKey): boolean {
  const { kind } = found.key;
  return !found.known && found.end !== null && kind === 'secret' && contentLength <= DECIDE_BODY_BYTES_MAX;
}

/** `end`: null unless the caller proves to hold the key, so that nobody learns from the response which keys existed. */
export function unknownKey(end: KeyEnd | null): Problem {
  return UNKNOWN_KEY[end ?? 'never_known'];
}

const UNKNOWN_KEY = {
  never_known: problem('unknown_key', 'This API key is not known.'),
  revoked: problem('unknown_key', 'This API key was revoked.'),
  expired: problem('unknown_key', 'This API key has expired.'),
} as const;

/**
 * Verifies clock, key and signature, in this order and before any JSON is parsed. The form of the headers has been checked. An unknown key
 * differs from a wrong signature only in its error code: both take the same time. `body`: its bytes, or their SHA-256 in hex.
 */
export function verifyRequest(
  head: RequestHead,
  body: Uint8Array | string,
  keyCache: KeyCache,
  clock: Clock,
): Verified {
  const timestampSeconds = Number(head.svcTimestamp);
  const found = keyCache.find(head.svcKey);
  const { key } = found;
  const clockFault = checkTimestamp(timestampSeconds, clock);
  if (clockFault !== null) return { kind: 'refused', problem: clockFault };

  const signed = verifySignature(head, body, key);
  if (!found.known) return { kind: 'refused', problem: unknownKey(signed ? found.end : null) };
  if (!signed) {
    const fault = problem('invalid_signature', 'X-SVC-Sig does not verify for this key, path, time, body and id.');
    return { kind: 'refused', problem: fault };
  }
  clock.observe(timestampSeconds);
  return { kind: 'verified', key, timestampSeconds };
}

/** Both ends of the window are inclusive. Source: contract, 3.2. */
function checkTimestamp(timestampSeconds: number, clock: Clock): Problem | null {
  const nowSeconds = Math.floor(clock.nowMs() / 1000);
  const behind = nowSeconds - timestampSeconds;
  const ahead = clock.followsTimestamps ? TIMESTAMP_SECONDS_MAX : nowSeconds + TIMESTAMP_WINDOW_SECONDS;
  if (behind <= TIMESTAMP_WINDOW_SECONDS && timestampSeconds <= Math.min(ahead, TIMESTAMP_SECONDS_MAX)) return null;
  return timestampOutOfWindow(nowSeconds);
}

export function timestampOutOfWindow(nowSeconds: number): Problem {
  const detail = `X-SVC-Ts is more than ${TIMESTAMP_WINDOW_SECONDS} seconds away from the server's time.`;
  return problem('timestamp_out_of_window', detail, { serverTime: nowSeconds });
}

/**
 * The target is signed as it was sent, including the query; the path alone is accepted too. Every candidate is tried, so the time does not
 * reveal how close a wrong signature came.
 */
function verifySignature(head: RequestHead, body: Uint8Array | string, key: Key): boolean {
  const bodyHash = typeof body === 'string' ? body : hash('sha256', body, 'hex');
  const signature = head.svcSignature.toLowerCase();
  const path = canonicalText(head.method, head.path, head.svcTimestamp, bodyHash, head.svcRequestId);
  const target =
    head.target === head.path
      ? null
      : canonicalText(head.method, head.target, head.svcTimestamp, bodyHash, head.svcRequestId);
  let verified = false;
  for (const hmacKey of key.hmacKeys(head.svcKey)) {
    if (verifyHmac(hmacKey, path, signature)) verified = true;
    if (target !== null && verifyHmac(hmacKey, target, signature)) verified = true;
  }
  return verified;
}
