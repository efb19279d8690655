import type { DecisionRecord } from '../risk/decision-record.ts';
import { type Decision, DECISIONS } from '../risk/decision.ts';
import { ENTITY_PREFIX, networkText } from '../risk/decision-links.ts';
import { readLinkTail } from '../risk/link-tail.ts';
import { IdentityCounter } from './identity-counter.ts';

/** A link of a decision as it is shown. `id` can be used as the value of a search for the link. */
export interface ShownLink {
  readonly kind: string;
  readonly id: string;
}

/** Begins an id that is the hash of a value, because the value itself is not kept. */
export const HASH_PREFIX = 'hash:';
/** Is in every masked text. */
const MASK = '***';

/** Returns the links of a decision; those of an older build have only what its other fields tell. */
export function linksOf(record: DecisionRecord): ShownLink[] {
  const { ip, fingerprintHash, links, identities } = record;
  const network = ip === null ? null : networkText(ip);
  const known: Readonly<Record<string, string | null>> = { ip, network, fingerprint: fingerprintHash };
  if (links === null) return Object.entries(known).flatMap(([kind, id]) => (id === null ? [] : [{ kind, id }]));
  let entity = 0;
  return readLinkTail(links).map(({ kind, hash }) => {
    const text = kind.startsWith(ENTITY_PREFIX) ? identities?.[entity++] : known[kind];
    // A masked text is not the value.
    const isValue = text !== undefined && text !== null && !text.includes(MASK);
    return { kind, id: isValue ? text : `${HASH_PREFIX}${hash}` };
  });
}

export interface Neighbour extends ShownLink {
  readonly count: number;
  readonly worst: Decision;
  readonly lastSeenMs: number;
}

export interface LinkSummary {
  readonly decisions: number;
  readonly blocked: number;
  readonly challenged: number;
  readonly firstSeenMs: number | null;
  readonly lastSeenMs: number | null;
  /** Those with the most decisions first. */
  readonly neighbours: readonly Neighbour[];
}

interface Counted {
  readonly link: ShownLink;
  count: number;
  worst: number;
  lastSeenMs: number;
}

/** Summarises decisions that have one link, and what else they have in common. */
export class LinkCounter {
  readonly #own: string;
  readonly #counted = new Map<string, Counted>();
  readonly #byDecision = new Map<Decision, number>();
  #firstMs = Number.POSITIVE_INFINITY;
  #lastMs = Number.NEGATIVE_INFINITY;

  /** `kind` and `hash` are those of the link that all decisions have. */
  constructor(kind: string, hash: string) {
    this.#own = `${kind} ${hash}`;
  }

  add(record: DecisionRecord): void {
    const { decision, occurredAtMs } = record;
    this.#byDecision.set(decision, (this.#byDecision.get(decision) ?? 0) + 1);
    this.#firstMs = Math.min(this.#firstMs, occurredAtMs);
    this.#lastMs = Math.max(this.#lastMs, occurredAtMs);
    const hashes = record.links === null ? [] : readLinkTail(record.links);
    for (const [n, link] of linksOf(record).entries()) {
      const key = `${link.kind} ${hashes[n]?.hash ?? link.id}`;
      if (key !== this.#own) this.#count(key, link, DECISIONS.indexOf(decision), occurredAtMs);
    }
  }

  summary(neighboursMax: number): LinkSummary {
    const of = (decision: Decision): number => this.#byDecision.get(decision) ?? 0;
    const decisions = DECISIONS.reduce((sum, decision) => sum + of(decision), 0);
    const neighbours = [...this.#counted.values()]
      .sort((a, b) => b.count - a.count || b.lastSeenMs - a.lastSeenMs)
      .slice(0, neighboursMax)
      .map(({ link, count, worst, lastSeenMs }) => ({
        ...link,
        count,
        worst: DECISIONS[worst] ?? 'ALLOW',
        lastSeenMs,
      }));
    return {
      decisions,
      blocked: of('BLOCK'),
      challenged: of('SOFT_CHALLENGE'),
      firstSeenMs: decisions === 0 ? null : this.#firstMs,
      lastSeenMs: decisions === 0 ? null : this.#lastMs,
      neighbours,
    };
  }

  #count(key: string, link: ShownLink, decision: number, atMs: number): void {
    const known = this.#counted.get(key);
    if (known === undefined) {
      this.#counted.set(key, { link, count: 1, worst: decision, lastSeenMs: atMs });
      return;
    }
    known.count++;
    known.worst = Math.max(known.worst, decision);
    known.lastSeenMs = Math.max(known.lastSeenMs, atMs);
  }
}

export interface PeriodSummary {
  readonly sessions: number;
  /** Those of the entities' name with the most. */
  readonly identities: number;
  readonly addresses: number;
  readonly networks: number;
  readonly countries: number;
  readonly decisions: Readonly<Record<Decision, number>>;
}

/** Counts the distinct subjects of decisions. */
export class PeriodCounter {
  readonly #kinds = new Map<string, Set<string>>();
  readonly #identities = new IdentityCounter();
  readonly #decisions: Record<Decision, number> = {
    ALLOW: 0,
    ALLOW_WATCH: 0,
    SOFT_CHALLENGE: 0,
    REVIEW: 0,
    BLOCK: 0,
  };

  add(record: DecisionRecord): void {
    this.#decisions[record.decision]++;
    for (const { kind, id } of linksOf(record)) {
      if (kind.startsWith(ENTITY_PREFIX)) this.#identities.add(kind, id);
      else this.#see(kind, id);
    }
    if (record.country !== null) this.#see('country', record.country);
  }

  summary(): PeriodSummary {
    const distinct = (kind: string): number => this.#kinds.get(kind)?.size ?? 0;
    return {
      sessions: distinct('session'),
      identities: this.#identities.count,
      addresses: distinct('ip'),
      networks: distinct('network'),
      countries: distinct('country'),
      decisions: { ...this.#decisions },
    };
  }

  #see(kind: string, id: string): void {
    const seen = this.#kinds.get(kind);
    if (seen === undefined) this.#kinds.set(kind, new Set([id]));
    else seen.add(id);
  }
}
