import type { Clock } from '../base/clock.ts';
import type { RequestHead } from '../base/exchange.ts';
import { problem, type Problem } from '../base/problem.ts';
import type { Key, Keyring } from '../decide/keyring.ts';
import { checkCredentialForm, checkHeader, verifyRequest } from '../decide/verify.ts';

export type Authenticated =
  /** `signedAtSeconds` is null for a Bearer key, which has no request id either. */
  | { readonly kind: 'verified'; readonly key: Key; readonly signedAtSeconds: number | null }
  | { readonly kind: 'refused'; readonly problem: Problem };

const BEARER = /^Bearer +([\x21-\x7e]{1,128}) *$/i;

/**
 * A signature that is there must verify, whatever else is there; so are signed headers without one, unless a Bearer key makes
 * up for them. Source: open points, section 1, "Authentication".
 */
function isSigned(head: RequestHead): boolean {
  if (head.svcSignature !== '') return true;
  return head.authorization === '' && (head.svcKey !== '' || head.svcTimestamp !== '' || head.svcRequestId !== '');
}

/** Checks the form of the credentials; needs no body. */
export function checkForm(head: RequestHead): Problem | null {
  if (isSigned(head)) return checkCredentialForm(head);
  if (head.authorization === '') {
    return problem(
      'missing_credentials',
      'Sign the request by the four X-SVC headers, or send "Authorization: Bearer".',
    );
  }
  if (BEARER.test(head.authorization)) return null;
  return problem('missing_credentials', 'Authorization is not "Bearer" and a secret key.');
}

/**
 * Whose request it is, as far as the header alone tells: null for a signed one, whose body is needed, unless the header is enough to
 * refuse it. The form has been checked.
 */
export function authenticateHeader(head: RequestHead, keyring: Keyring, clock: Clock): Authenticated | null {
  if (isSigned(head)) {
    // Without a body nothing is saved.
    const fault = head.contentLength > 0 ? checkHeader(head, keyring, clock) : null;
    return fault === null ? null : { kind: 'refused', problem: fault };
  }
  const { known, key } = keyring.find(BEARER.exec(head.authorization)?.[1] ?? '');
  if (known) return { kind: 'verified', key, signedAtSeconds: null };
  return { kind: 'refused', problem: problem('unknown_key', 'This API key is not known.') };
}

/** Whose signed request it is. The form has been checked; what the key may do has not. */
export function authenticateSigned(head: RequestHead, body: Uint8Array, keyring: Keyring, clock: Clock): Authenticated {
  const verified = verifyRequest(head, body, keyring, clock);
  if (verified.kind === 'refused') return verified;
  return { kind: 'verified', key: verified.key, signedAtSeconds: verified.timestampSeconds };
}
