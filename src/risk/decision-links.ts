import type { CustomerNumber } from '../kernel/brand.ts';
import { CustomerHash } from '../kernel/customer-hash.ts';
import { readEmail } from './signals/email.ts';
import { readIp, readIpField } from './signals/ip.ts';

/**
 * What decisions can have in common: the session, the address, its network (/24, /48), the fingerprint, and the identities of the request
 * (`entity.<name>`). The decision log keeps each of them as a 64-bit hash, keyed for each customer by a secret derived from the master key:
 * without it, nobody can compute the hash of a known e-mail address, and equal values of two customers have different hashes.
 */
export const LINK_KINDS = ['session', 'ip', 'network', 'fingerprint'] as const;

/** Kinds of identities begin with this, followed by the entity's name. */
export const ENTITY_PREFIX = 'entity.';
/** Code of `LINK_KINDS[0]` in a record. */
export const FIRST_KIND_CODE = 1;
/** Scope of the hashes of all identities; the name is part of what is hashed. */
const ENTITY_SCOPE = 16;
export const LINK_HASH_BYTES = 8;
/** Computes hashes of links; one for each thread. */
export class LinkHasher {
  readonly #hash: CustomerHash;

  /** `secret` comes from `deriveKey` and is used for links only. */
  constructor(secret: Uint8Array) {
    this.#hash = new CustomerHash(secret);
  }

  /** Hashes a normalised value of one of `LINK_KINDS`. */
  update(customer: CustomerNumber, kind: (typeof LINK_KINDS)[number], value: string): void {
    this.#hash.update(customer, LINK_KINDS.indexOf(kind) + FIRST_KIND_CODE, value);
  }

  /** Hashes a normalised identity. */
  updateEntity(customer: CustomerNumber, name: string, value: string): void {
    this.#hash.update(customer, ENTITY_SCOPE, `${name}\n${value}`);
  }

  /** Writes the last result, `LINK_HASH_BYTES`. */
  write(target: Uint8Array, at: number): void {
    writeU32(target, at, this.#hash.high);
    writeU32(target, at + 4, this.#hash.low);
  }
}

function writeU32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}

/** Returns what all spellings of an identity have in common: an e-mail's mailbox, otherwise the text without spaces around it. */
export function normalIdentity(value: string): string {
  return readEmail(value)?.canonical ?? value.trim();
}

/** Returns the canonical text of an address; null if it is none. */
export function normalAddress(text: string): string | null {
  const ip = readIpField(text);
  return ip.kind === 'valid' ? ip.text : null;
}

const CIDR = /^(?<address>[0-9a-f.:]{2,45})\/(?<bits>24|48)$/i;

/** Returns the network of an address or of a CIDR of its size (/24, /48), as the facts of an address have it; null for other text. */
export function normalNetwork(text: string): string | null {
  const { address, bits } = CIDR.exec(text.trim())?.groups ?? {};
  const ip = address === undefined ? readIpField(text) : readIp(address);
  if (ip.kind !== 'valid' || (bits !== undefined && bits !== (ip.version === 4 ? '24' : '48'))) return null;
  return ip.networks.site;
}

/** Returns the CIDR of an address's network. */
export function networkText(address: string): string | null {
  const ip = readIp(address);
  if (ip.kind !== 'valid') return null;
  return ip.version === 4 ? `${ip.networks.site}.0/24` : `${ip.networks.site}/48`;
}
