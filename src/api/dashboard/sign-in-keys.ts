import { hash } from 'node:crypto';
import type { SessionKey } from '../../auth/dashboard-sessions.ts';
import type { Key, KeyCache } from '../../auth/key-cache.ts';
import type { SignInCodes } from '../../auth/sign-in-codes.ts';
import { problem, type Problem } from '../../contract/problem.ts';
import { overloaded } from '../../decide/respond.ts';
import type { SignInShare } from '../../ports/sign-ins.ts';
import type { Store } from '../../state/feed/open-store.ts';
import { hashOfKey } from '../../state/tables/key-table.ts';

export interface SignInKeyParts {
  readonly codes: SignInCodes;
  /** Makes sessions known to the other nodes of a cluster; null on a single node. */
  readonly share?: SignInShare | null;
  readonly keyCache: KeyCache;
  readonly store: Pick<Store, 'apiKeys' | 'resetRead'>;
  /** The wall clock, Unix ms. */
  readonly nowMs: () => number;
}

export type SignInResult =
  | { readonly kind: 'key'; readonly key: SessionKey }
  /** Counts as a failed authentication. */
  | { readonly kind: 'refused'; readonly problem: Problem }
  /** Not checked, so it does not count. */
  | { readonly kind: 'overloaded'; readonly problem: Problem };

/** Finds the key that a sign-in proves, by the key itself or by a one-time code. */
export class SignInKeys {
  readonly #parts: SignInKeyParts;
  /** Codes that other nodes are asked for at the moment. */
  #asking = 0;

  constructor(parts: SignInKeyParts) {
    this.#parts = parts;
  }

  byText(text: string): SignInResult {
    const { keyCache, store } = this.#parts;
    const { known, key } = keyCache.find(text);
    const keyHash = hashOfKey(text);
    if (known) return key.kind === 'public' ? refused(PUBLIC_KEY) : signedIn(key, keyHash);
    store.resetRead();
    return refused(store.apiKeys.find(keyHash) === null ? UNKNOWN_KEY : REVOKED_KEY);
  }

  /**
   * Redeems a code and passes its key to `use`: at once for a code of this node, later for one that other nodes are asked for. They are
   * asked only for a code that can be right, of a source with failures left (`mayFail`), and for a few codes at a time.
   */
  byCode(code: string, mayFail: () => boolean, use: (result: SignInResult) => void): void {
    const { codes, share = null, nowMs } = this.#parts;
    const own = codes.redeem(code, nowMs());
    if (own !== null) use(this.#keyOf(own));
    else if (share === null || !CODE.test(code) || !mayFail()) use(refused(INVALID_CODE));
    else if (this.#asking === ASKING_MAX) use({ kind: 'overloaded', problem: BUSY_SIGN_INS });
    else {
      this.#asking++;
      void share.redeemed(hash('sha256', code, 'hex')).then((keyHash) => {
        this.#asking--;
        use(keyHash === null ? refused(INVALID_CODE) : this.#keyOf(keyHash));
      });
    }
  }

  /** `keyHash`: the key of a valid code. */
  #keyOf(keyHash: string): SignInResult {
    const key = this.#parts.keyCache.findSecret(keyHash);
    return key === null ? refused(REVOKED_KEY) : signedIn(key, keyHash);
  }
}

/** As `SignInCodes` makes them. */
const CODE = /^[\w-]{43}$/;
/** Choice: people sign in one at a time; a flood of made-up codes must not become a flood of questions to all nodes. */
const ASKING_MAX = 4;

const PUBLIC_KEY = problem('key_not_allowed', 'This is a public key. Sign in with a secret key, sk_live_…');
const NO_READING = problem('key_not_allowed', 'This key does not have the scope read. Sign in with another one.');
const UNKNOWN_KEY = problem('unknown_key', 'This API key is not known.');
const REVOKED_KEY = problem('revoked_key', 'This API key was revoked.');
const INVALID_CODE = problem('invalid_code', 'This sign-in code is not known, was used before, or has expired.');
const BUSY_SIGN_INS = overloaded('sign_ins', 'Too many sign-ins are checked at the moment.');

/** Without the scope `read` no page has anything to show. */
function signedIn(key: Key, hashOfText: string): SignInResult {
  return key.scopes.has('read') ? { kind: 'key', key: { ...key, hash: hashOfText } } : refused(NO_READING);
}

function refused(fault: Problem): SignInResult {
  return { kind: 'refused', problem: fault };
}
