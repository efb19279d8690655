import { hash as digest } from 'node:crypto';
import type { CustomerNumber } from '../kernel/brand.ts';
import type { LinkTarget } from '../history/decision-log/row-links.ts';
import { HASH_PREFIX } from '../history/link-summary.ts';
import {
  ENTITY_PREFIX,
  LINK_HASH_BYTES,
  LinkHasher,
  normalAddress,
  normalIdentity,
  normalNetwork,
} from '../risk/decision-links.ts';
import { readToken } from '../risk/signals/collector-token.ts';

const HASH = /^[0-9a-f]{16}$/;
const FINGERPRINT = /^[0-9a-f]{64}$/i;
const NEVER = (): boolean => false;

/** Splits `<kind>:<value>`; the value may contain further colons. */
export function splitLink(text: string): { readonly kind: string; readonly value: string } {
  const colon = text.indexOf(':');
  return { kind: text.slice(0, colon), value: text.slice(colon + 1) };
}

/**
 * Computes what a search for a link compares. The value is as the customer sent it to decide: an identity, a session token, an address, its
 * network, a fingerprint hash. `hash:` and 16 hex digits stand for a value that is not kept.
 */
export class LinkTargets {
  readonly #hasher: LinkHasher;

  /** `secret` is the key with which the score workers hash. */
  constructor(secret: Uint8Array) {
    this.#hasher = new LinkHasher(secret);
  }

  /** Returns null if the value is not one of that kind. */
  find(customer: CustomerNumber, kind: string, value: string): LinkTarget | null {
    const known = value.startsWith(HASH_PREFIX) ? value.slice(HASH_PREFIX.length) : '';
    if (HASH.test(known)) return { hash: Buffer.from(known, 'hex'), isIn: NEVER };
    switch (kind) {
      case 'ip': {
        const address = normalAddress(value);
        return address === null ? null : this.#target(customer, 'ip', address, ({ ip }) => ip === address);
      }
      case 'network': {
        const network = normalNetwork(value);
        const isIn: LinkTarget['isIn'] = ({ ip }) => ip !== null && normalNetwork(ip) === network;
        return network === null ? null : this.#target(customer, 'network', network, isIn);
      }
      case 'fingerprint': {
        const fingerprint = value.toLowerCase();
        if (!FINGERPRINT.test(fingerprint)) return null;
        return this.#target(customer, 'fingerprint', fingerprint, (record) => record.fingerprintHash === fingerprint);
      }
      case 'session':
        return this.#target(customer, 'session', sessionOf(value), NEVER);
      default:
        return this.#identity(customer, kind.slice(ENTITY_PREFIX.length), value);
    }
  }

  #target(
    customer: CustomerNumber,
    kind: Parameters<LinkHasher['update']>[1],
    value: string,
    isIn: LinkTarget['isIn'],
  ): LinkTarget {
    this.#hasher.update(customer, kind, value);
    return { hash: this.#written(), isIn };
  }

  #identity(customer: CustomerNumber, name: string, value: string): LinkTarget | null {
    if (name === '') return null;
    this.#hasher.updateEntity(customer, name, normalIdentity(value));
    return { hash: this.#written(), isIn: NEVER };
  }

  #written(): Buffer {
    const hash = Buffer.alloc(LINK_HASH_BYTES);
    this.#hasher.write(hash, 0);
    return hash;
  }
}

/** Returns what identifies the session of a token: the collector's session id, for any other token its hash. */
function sessionOf(token: string): string {
  const { facts } = readToken(token);
  return facts.kind === 'collector' ? facts.sessionId : digest('sha256', token, 'hex');
}
