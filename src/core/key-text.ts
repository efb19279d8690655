import { hash } from 'node:crypto';

/** What a key may do, told by its prefix. Source: risk specification, section 5. */
export type KeyKind = 'secret' | 'public';

const PREFIXES = { secret: 'sk_live_', public: 'pk_live_' } as const satisfies Record<KeyKind, string>;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_CHARACTERS = 32;
const SUM_CHARACTERS = 6;
const FORM = /^(sk|pk)_live_[0-9A-Za-z]{38}$/;

/** Characters of a key that listings show: the prefix and four of its own. Source: open points, section 1. */
export const KEY_PREFIX_CHARACTERS = 12;
/** Random bytes that `makeKeyText` wants: of each about 3 % are thrown away, and 64 leave 32 but once in 10^29 calls. */
export const KEY_RANDOM_BYTES = 64;

/**
 * Key text: its kind's prefix, 32 random base62 characters (190 bits), and 6 characters of checksum, which tell a mistyped or cut
 * key apart from an unknown one without asking the store. The checksum is the first 6 bytes of the SHA-256 of all characters
 * before it, modulo 62^6, in base62 with leading zeros.
 * A byte of 248 and above is passed over, so that all 62 characters are equally likely. `null`: too few bytes were left.
 */
export function makeKeyText(kind: KeyKind, randomBytes: Uint8Array): string | null {
  let text: string = PREFIXES[kind];
  const full = text.length + RANDOM_CHARACTERS;
  for (const byte of randomBytes) {
    if (text.length === full) break;
    if (byte < 248) text += BASE62.charAt(byte % 62);
  }
  return text.length === full ? text + keySum(text) : null;
}

/** The kind of a key text of the right form and checksum, else null. */
export function checkKeyText(text: string): KeyKind | null {
  if (!FORM.test(text)) return null;
  const end = text.length - SUM_CHARACTERS;
  if (text.slice(end) !== keySum(text.slice(0, end))) return null;
  return text.startsWith(PREFIXES.secret) ? 'secret' : 'public';
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
