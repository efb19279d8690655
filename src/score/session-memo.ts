import { hash } from 'node:crypto';
import type { FingerprintHash } from '../kernel/brand.ts';
import { sampleHash, SecondSight } from '../kernel/second-sight.ts';
import type { CollectorGrants, OpenedGrant } from '../risk/signals/collector-grant.ts';
import { readToken } from '../risk/signals/collector-token.ts';
import { mailListsEpoch, readEmail } from '../risk/signals/email.ts';
import type { SessionLinks } from './linker.ts';
import type { AgentFacts, EmailFacts, Entity, GeoFacts, IpFacts, TokenFacts } from '../risk/facts.ts';

/**
 * Caches what the events of one session have in common. A session sends its token with every event, and usually the same agent and
 * identities.
 *
 * A table of sets of slots; a hash of a few of a token's characters chooses the set. A token is stored from its second event on and
 * replaces the token of its set that was used least recently.
 * The cache never changes a result: what is not stored is parsed again.
 * Measured: 0.6 µs to gather what a known session sends, 8 µs for a new one (bench/micro).
 */
export class SessionMemos {
  readonly #places: (SessionMemo | undefined)[] = Array.from({ length: PLACES }, () => undefined);
  /** Hash of the token in each slot: comparing two tokens of one collector takes longer. */
  readonly #hashes = new Int32Array(PLACES);
  /** When each slot was used last, by the number of the look-up. */
  readonly #used = new Uint32Array(PLACES);
  #lookUps = 0;
  readonly #seen = new SecondSight(SEEN_PLACES);
  readonly #grants: Pick<CollectorGrants, 'open'>;

  constructor(grants: Pick<CollectorGrants, 'open'>) {
    this.#grants = grants;
  }

  get(token: string): SessionMemo {
    const hash = sampleHash(token);
    const hashes = this.#hashes;
    const used = this.#used;
    const first = (hash & (PLACES / WAYS - 1)) * WAYS;
    // After 2^32 look-ups it starts over, and some sets keep a token that is not used any more.
    const now = (this.#lookUps = (this.#lookUps + 1) >>> 0);
    let oldest = first;
    for (let at = first; at < first + WAYS; at++) {
      if (hashes[at] === hash) {
        const kept = this.#places[at];
        if (kept?.token === token) {
          used[at] = now;
          return kept;
        }
      }
      if ((used[at] ?? 0) < (used[oldest] ?? 0)) oldest = at;
    }
    const memo = readSession(token, this.#grants);
    if (this.#seen.see(hash) && token.length <= KEPT_CHARACTERS_MAX) {
      this.#places[oldest] = memo;
      hashes[oldest] = hash;
      used[oldest] = now;
    }
    return memo;
  }
}

/** A user agent; all sessions that send it share one text. */
export interface KnownAgent {
  readonly userAgent: string;
  readonly facts: AgentFacts;
}

export interface SessionMemo {
  readonly token: string;
  readonly tokenFacts: TokenFacts;
  readonly fingerprintHash: FingerprintHash;
  /** `none` for a token without a grant; null for a grant that could not be opened. */
  readonly grant: OpenedGrant | null | 'none';
  ipText: string;
  ip: IpFacts;
  geo: GeoFacts | null;
  /** Epoch of the databases that `geo` comes from; -1 when it was never looked up. */
  geoEpoch: number;
  agent: KnownAgent | null;
  entities: readonly Entity[];
  emails: readonly EmailFacts[];
  /** Epoch of the lists of mail domains with which the e-mails were read. */
  emailEpoch: number;
  /** Null until the first decision of the session. */
  links: SessionLinks | null;
}

/**
 * Choice: with the longest tokens stored about 64 MB a worker; usual ones take 16 MB.
 * Measured: with 20,000 active sessions 3 % more decisions than with 8,192 slots (bench/decide).
 */
const PLACES = 32_768;
/**
 * Slots of a set. Measured: with 20,000 active sessions 75 % of the events find their token, 57 % with sets of one slot and as many words
 * for tokens that were seen once as there are slots; 76.5 % would with an unlimited cache (traffic of bench/decide).
 */
const WAYS = 8;
/** Words for tokens that were seen once. */
const SEEN_PLACES = 4 * PLACES;
const KEPT_CHARACTERS_MAX = 1_024;

function readSession(token: string, grants: Pick<CollectorGrants, 'open'>): SessionMemo {
  const { facts, fingerprint, seal } = readToken(token);
  // Source: contract, 4.4: without a collector's fingerprint the token's own hash is used instead.
  const fingerprintHash = fingerprint ?? (hash('sha256', token, 'hex') as FingerprintHash);
  return {
    token,
    tokenFacts: facts,
    fingerprintHash,
    grant: seal === null ? 'none' : grants.open(seal),
    ipText: '',
    ip: { kind: 'invalid' },
    geo: null,
    geoEpoch: -1,
    agent: null,
    entities: [],
    emails: [],
    emailEpoch: -1,
    links: null,
  };
}

/** Returns the e-mails among the entities; those of the session's last event when the entities are equal. */
export function emailsOf(memo: SessionMemo, entities: readonly Entity[]): readonly EmailFacts[] {
  const epoch = mailListsEpoch();
  if (memo.emailEpoch !== epoch || !sameValues(memo.entities, entities)) {
    const emails: EmailFacts[] = [];
    for (const { value } of entities) {
      const email = readEmail(value);
      if (email !== null) emails.push(email);
    }
    // Copies are as long as their content, a list that was pushed to has room for sixteen more.
    memo.entities = entities.slice();
    memo.emails = emails.slice();
    memo.emailEpoch = epoch;
  }
  return memo.emails;
}

function sameValues(a: readonly Entity[], b: readonly Entity[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i]?.value !== b[i]?.value) return false;
  return true;
}
