import type { Clock } from '../kernel/clock.ts';
import type { RequestHead, SessionCredential } from '../http/exchange.ts';
import { problem, type Problem } from '../contract/problem.ts';
import type { Key, KeyCache } from './key-cache.ts';
import { checkCredentialForm, checkHeader, unknownKey, verifyRequest } from './verify.ts';

export type Authenticated =
  /** `signedAtSeconds` is null for a Bearer key. Such a request has no request id either. */
  | { readonly kind: 'verified'; readonly key: Key; readonly signedAtSeconds: number | null }
  | { readonly kind: 'refused'; readonly problem: Problem };

const BEARER = /^Bearer +([\x21-\x7e]{1,128}) *$/i;

/**
 * Returns whether the request must pass signature verification. A signature that is present must verify, whatever other credentials are
 * present. The other signing headers without a signature count as signed too, unless there is an Authorization header.
 * Source: contract, 3.1.
 */
function isSigned(head: RequestHead): boolean {
  if (head.svcSignature !== '') return true;
  return head.authorization === '' && (head.svcKey !== '' || head.svcTimestamp !== '' || head.svcRequestId !== '');
}

/** Checks the format of the credentials. Needs no body. */
export function checkForm(head: RequestHead): Problem | null {
  if (head.session !== undefined) return null;
  if (isSigned(head)) return checkCredentialForm(head);
  if (head.authorization === '') {
    return problem(
      'missing_credentials',
      'Sign the request with the four X-SVC headers, or send "Authorization: Bearer".',
    );
  }
  if (BEARER.test(head.authorization)) return null;
  return problem('missing_credentials', 'Authorization must be "Bearer" followed by a secret key.');
}

/**
 * Authenticates a request from its header alone. Returns null for a signed request, because its signature covers the body, unless the
 * header is enough to refuse it. The caller must have checked the format.
 */
export function authenticateHeader(head: RequestHead, keyCache: KeyCache, clock: Clock): Authenticated | null {
  if (head.session !== undefined) return authenticateSession(head.session, keyCache);
  if (isSigned(head)) {
    // An early check saves nothing if there is no body to read.
    const fault =
      head.contentLength > 0 ? (checkHeader(head, keyCache, clock) ?? publicKeyFault(head, keyCache)) : null;
    return fault === null ? null : { kind: 'refused', problem: fault };
  }
  const found = keyCache.find(BEARER.exec(head.authorization)?.[1] ?? '');
  if (found.known) return { kind: 'verified', key: found.key, signedAtSeconds: null };
  // The text of a secret key proves that the caller holds it; that of a public key stands in pages.
  return { kind: 'refused', problem: unknownKey(found.key.kind === 'secret' ? found.end : null) };
}

/** A session is as good as its key: it ends when the key is revoked. */
function authenticateSession({ keyHash }: SessionCredential, keyCache: KeyCache): Authenticated {
  const key = keyCache.findSecret(keyHash);
  if (key === null) return { kind: 'refused', problem: sessionRequired() };
  return { kind: 'verified', key, signedAtSeconds: null };
}

export function sessionRequired(): Problem {
  return problem('session_required', 'There is no session, or it has ended. Sign in.');
}

/**
 * Anybody can sign with a public key, which may call decide only. Refused by the header, so that no body of up to 1 MiB is received and
 * hashed. The signature is not verified, so the failure counts against the source address, not against the key.
 */
function publicKeyFault(head: RequestHead, keyCache: KeyCache): Problem | null {
  return keyCache.find(head.svcKey).key.kind === 'public' ? keyNotAllowed() : null;
}

export function keyNotAllowed(): Problem {
  return problem('key_not_allowed', 'A public key is for decide only; use a secret key.');
}

/** Authenticates a signed request. The caller must have checked the format, and must still check what the key may do. */
export function authenticateSigned(
  head: RequestHead,
  body: Uint8Array | string,
  keyCache: KeyCache,
  clock: Clock,
): Authenticated {
  const verified = verifyRequest(head, body, keyCache, clock);
  if (verified.kind === 'refused') return verified;
  return { kind: 'verified', key: verified.key, signedAtSeconds: verified.timestampSeconds };
}
