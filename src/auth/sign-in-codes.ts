import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { SIGN_IN_CODE_MS, SIGN_IN_CODES_MAX } from '../kernel/limits.ts';

interface StoredCode {
  readonly codeHash: Buffer;
  readonly keyHash: string;
  readonly issuedAtMs: number;
}

export interface IssuedCode {
  /** 256 random bits in base64url. Shown once and never logged. */
  readonly text: string;
  readonly expiresAtMs: number;
}

/**
 * One-time codes with which a person at the server's terminal signs in without pasting a key. In memory, as hashes; each works once, for
 * `SIGN_IN_CODE_MS`. Source: contract, 18.2.
 */
export class SignInCodes {
  #codes: readonly StoredCode[] = [];

  /** `keyHash`: SHA-256 of the secret key that the code stands for. */
  issue(keyHash: string, nowMs: number): IssuedCode {
    const text = randomBytes(32).toString('base64url');
    const code = { codeHash: hash('sha256', text, 'buffer'), keyHash, issuedAtMs: nowMs };
    this.#codes = [...this.#living(nowMs), code].slice(-SIGN_IN_CODES_MAX);
    return { text, expiresAtMs: nowMs + SIGN_IN_CODE_MS };
  }

  /** Uses up the code. Returns the SHA-256 of its key; null for a code that is unknown, used or expired. */
  redeem(text: string, nowMs: number): string | null {
    return this.redeemHashed(hash('sha256', text, 'hex'), nowMs);
  }

  /** `codeHash`: SHA-256 of the code, lower-case hex. */
  redeemHashed(codeHash: string, nowMs: number): string | null {
    const given = Buffer.from(codeHash, 'hex');
    const living = this.#living(nowMs);
    // Compares all, so that the time does not depend on the position.
    const found = living.filter((code) => timingSafeEqual(code.codeHash, given));
    this.#codes = living.filter((code) => !found.includes(code));
    return found[0]?.keyHash ?? null;
  }

  /** A clock that was set back ends a code. */
  #living(nowMs: number): readonly StoredCode[] {
    return this.#codes.filter(({ issuedAtMs }) => nowMs >= issuedAtMs && nowMs - issuedAtMs < SIGN_IN_CODE_MS);
  }
}
