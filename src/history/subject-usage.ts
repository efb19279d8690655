import type { CustomerNumber } from '../kernel/brand.ts';
import { parseV4, parseV6, formatV4 } from '../kernel/ip-text.ts';
import { LINK_HASH_BYTES, LinkHasher } from '../risk/decision-links.ts';
import { codeOfKind, isEntityCode, nameOfEntityCode, visitLinks } from '../risk/link-tail.ts';
import { ENTITY_KIND, type ListTarget, maskV4, parseListNetwork, networkText6 } from '../risk/lists/list-kind.ts';
import { DECISIONS } from '../risk/decision.ts';
import { IdentityCounter } from './identity-counter.ts';
import type { RawRecord } from './decision-log/raw-record.ts';

/** What an entry of a list would have concerned in a time. */
export interface SubjectUse {
  readonly sessions: number;
  /** Those of the entities' name with the most. */
  readonly identities: number;
  /** Decisions other than ALLOW. */
  readonly flagged: number;
}

interface Growing {
  readonly sessions: Set<string>;
  readonly identities: IdentityCounter;
  flagged: number;
}

const SESSION = codeOfKind('session').code;
const ALLOW = DECISIONS.indexOf('ALLOW');

/**
 * Counts what values of lists would have concerned, in one pass over a log. Decisions keep no browser id, no user agent and no domain of an
 * e-mail address, so that values of these kinds have no use.
 */
export class SubjectUsage {
  readonly #customer: CustomerNumber;
  readonly #hasher: LinkHasher;
  /** By what a row has: fingerprint, address, network, number, country, or an identity's hash. */
  readonly #growing = new Map<string, Growing>();
  readonly #keys: readonly (string | null)[];
  /** E-mails by the hashes that they have under the names that were seen. */
  readonly #emailGrowing = new Map<string, Growing>();
  readonly #emails: readonly (readonly [address: string, growing: Growing])[];
  readonly #namesSeen = new Set<string>();
  readonly #bits4: readonly number[];
  readonly #bits6: readonly number[];
  readonly #sessions = new Set<string>();

  /** `linkSecret`: see `RecordKeys`. */
  constructor(customer: CustomerNumber, linkSecret: Uint8Array, targets: readonly ListTarget[]) {
    this.#customer = customer;
    this.#hasher = new LinkHasher(linkSecret);
    this.#keys = targets.map((target) => this.#keyOf(target));
    for (const key of this.#keys) if (key !== null && !this.#growing.has(key)) this.#growing.set(key, newGrowing());
    this.#emails = targets.flatMap((target, at) => {
      const growing = target.kind === 'email' ? this.#growing.get(this.#keys[at] ?? '') : undefined;
      return growing === undefined ? [] : [[target.value, growing] as const];
    });
    const bitsOf = (version: 4 | 6): readonly number[] => [
      ...new Set(targets.flatMap(({ kind, value }) => networkBits(kind, value, version))),
    ];
    this.#bits4 = bitsOf(4);
    this.#bits6 = bitsOf(6);
  }

  /** Distinct sessions of all rows. */
  get sessions(): number {
    return this.#sessions.size;
  }

  /** Null for a kind that decisions do not keep. `at`: position in `targets`. */
  of(at: number): SubjectUse | null {
    const key = this.#keys[at] ?? null;
    const one = key === null ? undefined : this.#growing.get(key);
    if (one === undefined) return null;
    return { sessions: one.sessions.size, identities: one.identities.count, flagged: one.flagged };
  }

  add(record: RawRecord, bytes: Buffer, end: number): void {
    const from = record.linksAt();
    let session = '';
    const hit = new Set<Growing>();
    if (from !== -1)
      visitLinks(bytes, from, end, (code, name, hashAt) => {
        const hash = bytes.latin1Slice(hashAt, hashAt + LINK_HASH_BYTES);
        if (code === SESSION) session = hash;
        else if (isEntityCode(code)) this.#hitEntity(code, name, hash, hit);
      });
    if (session !== '') this.#sessions.add(session);
    this.#hitFields(record, hit);
    if (hit.size === 0) return;
    const isFlagged = record.made !== ALLOW;
    for (const one of hit) {
      if (session !== '') one.sessions.add(session);
      if (isFlagged) one.flagged++;
    }
    if (from !== -1)
      visitLinks(bytes, from, end, (code, name, hashAt) => {
        if (!isEntityCode(code)) return;
        const hash = bytes.latin1Slice(hashAt, hashAt + LINK_HASH_BYTES);
        for (const one of hit) one.identities.add(name === '' ? code : name, hash);
      });
  }

  #hitFields(record: RawRecord, hit: Set<Growing>): void {
    const { fingerprint, ip, asn, country } = record;
    if (fingerprint !== null) this.#hit(`f${fingerprint}`, hit);
    if (asn !== null) this.#hit(`s${asn}`, hit);
    if (country !== null) this.#hit(`c${country}`, hit);
    if (ip !== null) for (const key of this.#addressKeys(ip)) this.#hit(key, hit);
  }

  #hit(key: string, hit: Set<Growing>): void {
    const one = this.#growing.get(key);
    if (one !== undefined) hit.add(one);
  }

  #addressKeys(ip: string): readonly string[] {
    const v4 = parseV4(ip);
    if (v4 >= 0) return [`a${ip}`, ...this.#bits4.map((bits) => `n${formatV4(maskV4(v4, bits))}/${bits}`)];
    const groups = parseV6(ip);
    if (groups === null) return [];
    return [`a${networkText6(groups, 64)}`, ...this.#bits6.map((bits) => `n${networkText6(groups, bits)}`)];
  }

  /** An e-mail may stand under any name: its hash is computed once for each name that is seen. */
  #hitEntity(code: number, given: string, hash: string, hit: Set<Growing>): void {
    const name = given === '' ? nameOfEntityCode(code) : given;
    if (!this.#namesSeen.has(name)) {
      this.#namesSeen.add(name);
      for (const [address, growing] of this.#emails) this.#emailGrowing.set(this.#entityKey(name, address), growing);
    }
    const key = `e${name}\n${hash}`;
    this.#hit(key, hit);
    const ofEmail = this.#emailGrowing.get(key);
    if (ofEmail !== undefined) hit.add(ofEmail);
  }

  #keyOf({ kind, value }: ListTarget): string | null {
    switch (kind) {
      case 'fingerprint':
        return `f${Buffer.from(value, 'hex').toString('latin1')}`;
      case 'ip':
        return `a${value}`;
      case 'network':
        return `n${value}`;
      case 'asn':
        return `s${value}`;
      case 'country':
        return `c${value}`;
      case 'email':
        return `m${value}`;
      case 'browser':
      case 'email_domain':
      case 'user_agent':
        return null;
      default:
        return this.#entityKey(kind.slice(ENTITY_KIND.length), value);
    }
  }

  #entityKey(name: string, value: string): string {
    const hash = Buffer.alloc(LINK_HASH_BYTES);
    this.#hasher.updateEntity(this.#customer, name, value);
    this.#hasher.write(hash, 0);
    return `e${name}\n${hash.toString('latin1')}`;
  }
}

function newGrowing(): Growing {
  return { sessions: new Set(), identities: new IdentityCounter(), flagged: 0 };
}

function networkBits(kind: string, value: string, version: 4 | 6): readonly number[] {
  const network = kind === 'network' ? parseListNetwork(value) : null;
  return network?.version === version ? [network.bits] : [];
}
