import { FIRST_KIND_CODE, ENTITY_PREFIX, LINK_HASH_BYTES, LINK_KINDS } from './decision-links.ts';

/**
 * The links of a decision, as they end its record:
 *
 *   kinds   for each link: code u8; for `OTHER_NAME` the length of the name, u8, and the name in UTF-8
 *   hashes  for each link: 8 bytes
 *   count   u8
 *
 * The count comes last, so that the hashes of a record can be read from its end without unpacking it.
 */
export const LINKS_MAX = LINK_KINDS.length + 8;

/** Names of entities that take one byte. Only appended to: positions are stored. */
const NAMES = [
  'email',
  'phone',
  'user',
  'user_id',
  'account',
  'account_id',
  'username',
  'login',
  'customer',
  'customer_id',
  'card',
  'card_hash',
  'card_id',
  'iban',
  'payment_method',
  'device',
  'device_id',
  'name',
  'address',
  'voucher',
] as const;
const NAME_CODES: ReadonlyMap<string, number> = new Map(NAMES.map((name, at) => [name, at]));
const FIRST_NAME_CODE = 32;
const OTHER_NAME = 255;

/** One link of a record. */
export interface RecordedLink {
  /** One of `LINK_KINDS`, or `entity.` and the entity's name. */
  readonly kind: string;
  /** 16 lower-case hex digits. */
  readonly hash: string;
}

/** Builds a tail in a reused buffer. */
export class LinkTailWriter {
  readonly #kinds = Buffer.alloc(LINKS_MAX * 258);
  readonly #hashes = Buffer.alloc(LINKS_MAX * LINK_HASH_BYTES);
  #end = 0;
  #count = 0;

  reset(): void {
    this.#end = 0;
    this.#count = 0;
  }

  /** Adds a link, whose hash `hashed` has computed last. */
  addKind(kind: (typeof LINK_KINDS)[number], hashed: HashWriter): void {
    this.#kinds[this.#end++] = LINK_KINDS.indexOf(kind) + FIRST_KIND_CODE;
    hashed.write(this.#hashes, this.#count++ * LINK_HASH_BYTES);
  }

  addEntity(name: string, hashed: HashWriter): void {
    const code = NAME_CODES.get(name);
    if (code !== undefined) this.#kinds[this.#end++] = FIRST_NAME_CODE + code;
    else {
      this.#kinds[this.#end++] = OTHER_NAME;
      const bytes = this.#kinds.write(name, this.#end + 1, 255);
      this.#kinds[this.#end] = bytes;
      this.#end += 1 + bytes;
    }
    hashed.write(this.#hashes, this.#count++ * LINK_HASH_BYTES);
  }

  /** Returns a copy; null without a link. */
  done(): Buffer | null {
    if (this.#count === 0) return null;
    const hashBytes = this.#count * LINK_HASH_BYTES;
    const tail = Buffer.allocUnsafe(this.#end + hashBytes + 1);
    this.#kinds.copy(tail, 0, 0, this.#end);
    this.#hashes.copy(tail, this.#end, 0, hashBytes);
    tail[tail.length - 1] = this.#count;
    return tail;
  }
}

/**
 * Returns a number from 0 up to 1 that is the session's own: its first link begins every tail, and its hash has a secret key, so nobody
 * outside can choose a session by it.
 */
export function sessionDraw(tail: Uint8Array): number {
  const at = tail.length - 1 - (tail[tail.length - 1] ?? 0) * LINK_HASH_BYTES;
  const high = ((tail[at] ?? 0) << 8) | (tail[at + 1] ?? 0);
  return (high * 0x1_0000 + (((tail[at + 2] ?? 0) << 8) | (tail[at + 3] ?? 0))) / 2 ** 32;
}

interface HashWriter {
  write(target: Uint8Array, at: number): void;
}

/** A kind of link, as a tail has it. */
export interface LinkCode {
  readonly code: number;
  /** The entity's name if it has no code of its own, else empty. */
  readonly name: string;
}

/** Returns the code of `LINK_KINDS` or of `entity.<name>`. */
export function codeOfKind(kind: string): LinkCode {
  const known = (LINK_KINDS as readonly string[]).indexOf(kind);
  if (known !== -1) return { code: known + FIRST_KIND_CODE, name: '' };
  const name = kind.slice(ENTITY_PREFIX.length);
  const code = NAME_CODES.get(name);
  return code === undefined ? { code: OTHER_NAME, name } : { code: FIRST_NAME_CODE + code, name: '' };
}

/** Returns the name that a code of its own stands for; empty for any other code. */
export function nameOfEntityCode(code: number): string {
  return NAMES[code - FIRST_NAME_CODE] ?? '';
}

/** Returns whether the code is that of an identity. */
export function isEntityCode(code: number): boolean {
  return code >= FIRST_NAME_CODE;
}

/** Passes each link of the tail in `bytes` from `from` to `end`: its code, its name if it is `OTHER_NAME`, and where its hash begins. */
export function visitLinks(
  bytes: Buffer,
  from: number,
  end: number,
  visit: (code: number, name: string, hashAt: number) => void,
): void {
  const count = bytes[end - 1] ?? 0;
  const hashesAt = end - 1 - count * LINK_HASH_BYTES;
  let at = from;
  for (let n = 0; n < count && at < hashesAt; n++) {
    const code = bytes[at++] ?? 0;
    let name = '';
    if (code === OTHER_NAME) {
      const length = bytes[at++] ?? 0;
      name = bytes.utf8Slice(at, at + length);
      at += length;
    }
    visit(code, name, hashesAt + n * LINK_HASH_BYTES);
  }
}

/** Returns the links of a tail; none if the bytes are no tail. */
export function readLinkTail(tail: Buffer): RecordedLink[] {
  const count = tail[tail.length - 1] ?? 0;
  const hashesAt = tail.length - 1 - count * LINK_HASH_BYTES;
  const links: RecordedLink[] = [];
  let at = 0;
  for (let n = 0; n < count && at < hashesAt; n++) {
    const code = tail[at++] ?? 0;
    let kind = kindOf(code);
    if (code === OTHER_NAME) {
      const length = tail[at++] ?? 0;
      kind = `${ENTITY_PREFIX}${tail.toString('utf8', at, at + length)}`;
      at += length;
    }
    const hashAt = hashesAt + n * LINK_HASH_BYTES;
    links.push({ kind, hash: tail.toString('hex', hashAt, hashAt + LINK_HASH_BYTES) });
  }
  return links;
}

/** A link of a newer build has the kind `unknown`. */
function kindOf(code: number): string {
  const name = NAMES[code - FIRST_NAME_CODE];
  return name === undefined ? (LINK_KINDS[code - FIRST_KIND_CODE] ?? 'unknown') : `${ENTITY_PREFIX}${name}`;
}
