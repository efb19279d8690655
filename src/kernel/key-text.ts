import { hash } from 'node:crypto';

/** The permissions of a key, identified by its prefix. Source: contract, 3.1 and 3.2. */
export type KeyTextKind = 'secret' | 'public';

const PREFIXES = {
  secret: { live: 'sk_live_', test: 'sk_test_' },
  public: { live: 'pk_live_', test: 'pk_test_' },
} as const satisfies Record<KeyTextKind, Readonly<Record<'live' | 'test', string>>>;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_CHARACTERS = 32;
const SUM_CHARACTERS = 6;
const FORM = /^(sk|pk)_(live|test)_[0-9A-Za-z]{38}$/;

/** Characters of a key that listings show: the prefix and four of its own. Source: contract, 3.6. */
export const KEY_PREFIX_CHARACTERS = 12;
/** Random bytes that `makeKeyText` needs: about 3 % of them are discarded, and 64 leave fewer than 32 only once in 10^29 calls. */
export const KEY_RANDOM_BYTES = 64;

/**
 * Key text: its kind's prefix, 32 random base62 characters (190 bits), and 6 characters of checksum, which distinguish a mistyped or
 * truncated key from an unknown one without reading the store. The checksum is the first 6 bytes of the SHA-256 of all characters before
 * it, modulo 62^6, in base62 with leading zeros.
 * Skips bytes of 248 and above, so that all 62 characters are equally likely. Returns `null` if too few bytes were left.
 */
export function makeKeyText(kind: KeyTextKind, randomBytes: Uint8Array, isTest = false): string | null {
  let text: string = PREFIXES[kind][isTest ? 'test' : 'live'];
  const full = text.length + RANDOM_CHARACTERS;
  for (const byte of randomBytes) {
    if (text.length === full) break;
    if (byte < 248) text += BASE62.charAt(byte % 62);
  }
  return text.length === full ? text + keySum(text) : null;
}

/** Returns the kind of a key text with a valid form and checksum, else null. */
export function checkKeyText(text: string): KeyTextKind | null {
  if (!FORM.test(text)) return null;
  const end = text.length - SUM_CHARACTERS;
  if (text.slice(end) !== keySum(text.slice(0, end))) return null;
  return text.startsWith('sk_') ? 'secret' : 'public';
}

function keySum(text: string): string {
  let rest = Number.parseInt(hash('sha256', text, 'hex').slice(0, 12), 16);
  let sum = '';
  for (let i = 0; i < SUM_CHARACTERS; i++) {
    sum = BASE62.charAt(rest % 62) + sum;
    rest = Math.floor(rest / 62);
  }
  return sum;
}
