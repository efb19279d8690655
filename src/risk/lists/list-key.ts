import type { CustomerNumber, FingerprintHash } from '../../kernel/brand.ts';
import { CustomerHash } from '../../kernel/customer-hash.ts';
import { maskOf, parseV4, parseV6 } from '../../kernel/ip-text.ts';
import { ENTITY_KIND, TEXT_KIND } from '../../contract/vocabulary.ts';
import { HIDDEN_VALUE, isHiddenValue, maskV4, parseListNetwork, type ListKind, type ListTarget } from './list-kind.ts';
import type { NamedListKind, NamedListValue } from './named-list.ts';

/**
 * The keys under which the table of lists holds values that are no hashes of fingerprints: 32 bytes like those, so that all kinds share
 * one table.
 *
 *   8 bytes   `TAG`; no SHA-256 of anything that a client can find begins with it
 *   u8        code of the kind
 *   u16       for a network 256 times the version (4, 6) plus the bits; for a beginning of a user agent its characters; else 0
 *   5 bytes   0
 *   16 bytes  address, number or country as it is; two keyed hashes of a text
 *
 * Texts are hashed with a key of the customer, so that the table holds no identity. The key of a value is the same on all nodes of a
 * cluster, which share the master key.
 */
export const LIST_KEY_BYTES = 32;
const TAG = Buffer.from('ghlists1', 'latin1');
const KIND_AT = 8;
const DETAIL_AT = 9;
const BODY_AT = 16;

/** Only appended to: codes are stored. */
const KIND_CODES = [
  'ip',
  'network',
  'asn',
  'country',
  'email',
  'email_domain',
  'user_agent',
  'entity',
  TEXT_KIND,
] as const;
type CodedKind = (typeof KIND_CODES)[number];

export const LIST_VALUES_PURPOSE = 'list-values';

/** Returns the number of a kind, from 1; 0 for those that are hashes themselves. */
export function codeOfListKind(kind: ListKind): number {
  return KIND_CODES.indexOf((kind.startsWith(ENTITY_KIND) ? 'entity' : kind) as CodedKind) + 1;
}

/** Returns the first bytes of all keys of a kind; of all kinds without one. */
export function listKeyPrefix(kind?: ListKind): Buffer {
  return kind === undefined ? TAG : Buffer.concat([TAG, Buffer.of(codeOfListKind(kind))]);
}

/** What a key says of its value. It says only the kind of a text. */
export interface ListKeyParts {
  /** `KIND_CODES` from 1. */
  readonly code: number;
  readonly detail: number;
}

/** Returns null for a hash of a fingerprint or of a browser. `at`: where the key begins. */
export function readListKey(bytes: Buffer, at = 0): ListKeyParts | null {
  if (bytes.compare(TAG, 0, TAG.length, at, at + TAG.length) !== 0) return null;
  return { code: bytes.readUInt8(at + KIND_AT), detail: bytes.readUInt16BE(at + DETAIL_AT) };
}

/** Computes keys, into one buffer that the next call overwrites; one for each thread. */
export class ListKeys {
  /** The last key, `LIST_KEY_BYTES`. */
  readonly bytes = Buffer.alloc(LIST_KEY_BYTES);
  readonly #hash: CustomerHash;

  /** `secret` comes from `deriveKey(…, LIST_VALUES_PURPOSE)`. */
  constructor(secret: Uint8Array) {
    this.#hash = new CustomerHash(secret);
    TAG.copy(this.bytes);
  }

  /** Returns the key of a value as `readListTarget` has it, 64 hex digits. */
  keyOf(customer: CustomerNumber, { kind, value }: ListTarget): FingerprintHash {
    if (kind === 'fingerprint' || kind === 'browser') return value as FingerprintHash;
    if (isHiddenValue({ kind, value })) {
      this.#begin(kind === 'email' ? 'email' : 'entity', 0);
      this.bytes.write(value.slice(HIDDEN_VALUE.length), BODY_AT, 'hex');
    } else this.#write(customer, kind, value);
    return this.bytes.toString('hex') as FingerprintHash;
  }

  /** Returns the key of a value as `readNamedValue` has it, 64 hex digits. */
  namedKeyOf(customer: CustomerNumber, { kind, value }: NamedListValue): string {
    if (kind === TEXT_KIND) return this.ofText(customer, TEXT_KIND, value).toString('hex');
    return this.keyOf(customer, { kind, value });
  }

  /** `text`: an address as the facts have it. */
  ofAddress(text: string): Buffer {
    const v4 = parseV4(text);
    return v4 < 0 ? this.ofLine(parseV6(text) ?? []) : this.ofAddress4(v4);
  }

  ofAddress4(v4: number): Buffer {
    this.#begin('ip', 0);
    this.bytes.writeUInt32BE(v4, BODY_AT);
    return this.bytes;
  }

  /** The /64 of an IPv6 address. */
  ofLine(groups: readonly number[]): Buffer {
    this.#begin('ip', 6);
    for (let at = 0; at < 4; at++) this.bytes.writeUInt16BE(groups[at] ?? 0, BODY_AT + at * 2);
    return this.bytes;
  }

  ofNetwork4(v4: number, bits: number): Buffer {
    this.#begin('network', 4 * 256 + bits);
    this.bytes.writeUInt32BE(maskV4(v4, bits), BODY_AT);
    return this.bytes;
  }

  ofNetwork6(groups: readonly number[], bits: number): Buffer {
    this.#begin('network', 6 * 256 + bits);
    for (let at = 0; at < 8; at++) this.bytes.writeUInt16BE((groups[at] ?? 0) & maskOf(at, bits), BODY_AT + at * 2);
    return this.bytes;
  }

  ofAsn(asn: number): Buffer {
    this.#begin('asn', 0);
    this.bytes.writeUInt32BE(asn, BODY_AT);
    return this.bytes;
  }

  ofCountry(country: string): Buffer {
    this.#begin('country', 0);
    this.bytes.write(country, BODY_AT, 2, 'latin1');
    return this.bytes;
  }

  /** `detail`: the characters of a beginning of a user agent, else 0. */
  ofText(customer: CustomerNumber, kind: CodedKind, text: string, detail = 0): Buffer {
    this.#begin(kind, detail);
    const scope = KIND_CODES.indexOf(kind) * 2 + (detail === 0 ? 0 : 64);
    for (let half = 0; half < 2; half++) {
      this.#hash.update(customer, scope + half, text);
      this.bytes.writeUInt32BE(this.#hash.high, BODY_AT + half * 8);
      this.bytes.writeUInt32BE(this.#hash.low, BODY_AT + half * 8 + 4);
    }
    return this.bytes;
  }

  #write(customer: CustomerNumber, kind: ListKind, value: string): void {
    switch (kind) {
      case 'ip':
        this.ofAddress(value.endsWith('/64') ? value.slice(0, -3) : value);
        break;
      case 'network': {
        const network = parseListNetwork(value);
        if (network?.version === 4) this.ofNetwork4(network.v4, network.bits);
        else this.ofNetwork6(network?.groups ?? [], network?.bits ?? 128);
        break;
      }
      case 'asn':
        this.ofAsn(Number(value));
        break;
      case 'country':
        this.ofCountry(value);
        break;
      case 'user_agent': {
        const beginning = value.endsWith('*') ? value.slice(0, -1) : null;
        this.ofText(customer, kind, beginning ?? value, beginning?.length ?? 0);
        break;
      }
      case 'email':
      case 'email_domain':
        this.ofText(customer, kind, value);
        break;
      case 'fingerprint':
      case 'browser':
        break;
      default:
        this.ofText(customer, 'entity', entityText(kind.slice(ENTITY_KIND.length), value));
    }
  }

  #begin(kind: CodedKind, detail: number): void {
    this.bytes.writeUInt8(KIND_CODES.indexOf(kind) + 1, KIND_AT);
    this.bytes.writeUInt16BE(detail, DETAIL_AT);
    this.bytes.fill(0, BODY_AT);
  }
}

/** Returns the text whose hash stands for an identity. */
export function entityText(name: string, value: string): string {
  return `${name}\n${value}`;
}

/** Returns the value of an entry; for one that may not be kept the digits of its key, by which it can be named. */
export function shownListValue({
  value,
  fingerprintHash,
}: {
  readonly value: string | null;
  readonly fingerprintHash: FingerprintHash;
}): string {
  return value ?? `${HIDDEN_VALUE}${fingerprintHash.slice(BODY_AT * 2)}`;
}

/** Returns the value of an item of a named list; for one that may not be kept the digits of its key, by which it can be removed. */
export function shownNamedValue(
  kind: NamedListKind,
  { key, value }: { readonly key: string; readonly value: string | null },
): string {
  if (value !== null) return value;
  return kind === 'fingerprint' || kind === 'browser' ? key : `${HIDDEN_VALUE}${key.slice(BODY_AT * 2)}`;
}
