import { LINK_HASH_BYTES } from '../risk/decision-links.ts';
import { codeOfKind, isEntityCode, visitLinks } from '../risk/link-tail.ts';
import { IdentityCounter } from './identity-counter.ts';
import type { RawRecord } from './decision-log/raw-record.ts';

/** What a fingerprint did in a time: how many sessions and people an entry for it would concern. */
export interface FingerprintUse {
  readonly decisions: number;
  readonly sessions: number;
  /** Those of the entities' name with the most. */
  readonly identities: number;
  readonly addresses: number;
  readonly networks: number;
  readonly lastSeenMs: number | null;
}

interface Growing {
  decisions: number;
  lastSeenMs: number;
  readonly sessions: Set<string>;
  readonly identities: IdentityCounter;
  readonly addresses: Set<string>;
  readonly networks: Set<string>;
}

const [SESSION, ADDRESS, NETWORK] = ['session', 'ip', 'network'].map((kind) => codeOfKind(kind).code);
const UNUSED: FingerprintUse = {
  decisions: 0,
  sessions: 0,
  identities: 0,
  addresses: 0,
  networks: 0,
  lastSeenMs: null,
};

/** Counts the decisions of some fingerprints in one pass over a log. */
export class FingerprintUsage {
  /** By the bytes of the fingerprint, as `RawRecord` has them. */
  readonly #growing = new Map<string, Growing>();

  /** `fingerprints` are 64 hex digits each. */
  constructor(fingerprints: Iterable<string>) {
    for (const hash of fingerprints) {
      this.#growing.set(keyOf(hash), {
        decisions: 0,
        lastSeenMs: 0,
        sessions: new Set(),
        identities: new IdentityCounter(),
        addresses: new Set(),
        networks: new Set(),
      });
    }
  }

  add(record: RawRecord, bytes: Buffer, end: number, occurredAtMs: number): void {
    const fingerprint = record.fingerprint;
    const one = fingerprint === null ? undefined : this.#growing.get(fingerprint);
    if (one === undefined) return;
    one.decisions++;
    one.lastSeenMs = Math.max(one.lastSeenMs, occurredAtMs);
    const from = record.linksAt();
    if (from === -1) return;
    visitLinks(bytes, from, end, (code, name, hashAt) => {
      const hash = bytes.latin1Slice(hashAt, hashAt + LINK_HASH_BYTES);
      if (code === SESSION) one.sessions.add(hash);
      else if (code === ADDRESS) one.addresses.add(hash);
      else if (code === NETWORK) one.networks.add(hash);
      else if (isEntityCode(code)) one.identities.add(name === '' ? code : name, hash);
    });
  }

  of(fingerprint: string): FingerprintUse {
    const one = this.#growing.get(keyOf(fingerprint));
    if (one === undefined || one.decisions === 0) return UNUSED;
    return {
      decisions: one.decisions,
      sessions: one.sessions.size,
      identities: one.identities.count,
      addresses: one.addresses.size,
      networks: one.networks.size,
      lastSeenMs: one.lastSeenMs,
    };
  }
}

function keyOf(fingerprint: string): string {
  return Buffer.from(fingerprint, 'hex').toString('latin1');
}
