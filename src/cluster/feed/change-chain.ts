import { decrypt, encrypt } from '../../kernel/encryption.ts';
import { CHANGES_KEY } from './feed-keys.ts';

/** Position of a node in the changes of its cluster. */
export interface ChainPosition {
  /** How often the stream has been founded on the way there. */
  readonly term: number;
  /** Number of the last change. */
  readonly number: number;
  /** Token of that change. */
  readonly last: string;
}

/** Returns whether `a` is later than `b`: a stream that was founded again counts more than any number of the one before. */
export function isLater(a: Omit<ChainPosition, 'last'>, b: Omit<ChainPosition, 'last'>): boolean {
  return a.term > b.term || (a.term === b.term && a.number > b.number);
}

/** One part of a change, as it lies in the stream. */
export interface StreamEntry {
  readonly number: number;
  readonly part: number;
  readonly token: string;
  /** Token of the change before. */
  readonly previous: string;
  readonly parts: number;
  /** Encrypted. */
  readonly data: Buffer;
}

/** An entry that a node of the cluster has written for its place. */
export type VerifiedChange<Entry extends StreamEntry = StreamEntry> = Entry & { readonly plain: Buffer };

/**
 * Encrypts a part for its place. Cluster, number, part, count of parts, the token of the change and that of the change before are
 * authenticated: a copy of the entry anywhere else cannot be decrypted.
 */
export function sealEntry(key: Uint8Array, cluster: string, entry: Omit<StreamEntry, 'data'>, plain: Buffer): Buffer {
  return encrypt(key, plain, contextOf(cluster, entry));
}

/** Returns null for an entry that no node of this cluster has written for this place. */
export function openEntry<Entry extends StreamEntry>(
  key: Uint8Array,
  cluster: string,
  entry: Entry,
): VerifiedChange<Entry> | null {
  const plain = decrypt(key, entry.data, contextOf(cluster, entry));
  return plain === null ? null : { ...entry, plain };
}

function contextOf(cluster: string, { number, part, parts, previous, token }: Omit<StreamEntry, 'data'>): string {
  return JSON.stringify([CHANGES_KEY, cluster, number, part, parts, previous, token]);
}

/** Relation of an entry to the end of a reader's chain. */
export type ChainStep<Entry extends StreamEntry> =
  /** A part of the next change, of which more are to come. */
  | { readonly kind: 'open' }
  /** The last part of the next change. */
  | { readonly kind: 'complete'; readonly parts: readonly VerifiedChange<Entry>[] }
  /** No node of this cluster has written it for this place. */
  | { readonly kind: 'broken' }
  /** A change of this cluster that does not follow: some are missing in between, or it follows another one. */
  | { readonly kind: 'astray'; readonly number: number };

/** The authenticated changes up to a position, in order. */
export class ChangeChain<Entry extends StreamEntry> {
  readonly #key: Uint8Array;
  readonly #cluster: string;
  #number: number;
  #last: string;
  #open: VerifiedChange<Entry>[] = [];

  constructor(key: Uint8Array, cluster: string, { number, last }: Pick<ChainPosition, 'number' | 'last'>) {
    this.#key = key;
    this.#cluster = cluster;
    this.#number = number;
    this.#last = last;
  }

  get number(): number {
    return this.#number;
  }

  get last(): string {
    return this.#last;
  }

  /** The last part that it has; null for all of the change. */
  get lastPart(): Pick<StreamEntry, 'number' | 'part'> | null {
    return this.#open.at(-1) ?? null;
  }

  accept(entry: Entry): ChainStep<Entry> {
    const verified = openEntry(this.#key, this.#cluster, entry);
    if (verified === null) return { kind: 'broken' };
    const { number, part, parts, previous, token } = verified;
    const [first] = this.#open;
    const isNext = number === this.#number + 1 && previous === this.#last && part === this.#open.length;
    const isSame = first === undefined || (first.token === token && first.parts === parts);
    if (!isNext || !isSame) return { kind: 'astray', number };
    this.#open.push(verified);
    if (this.#open.length < parts) return { kind: 'open' };
    const complete = this.#open;
    this.#open = [];
    this.#number = number;
    this.#last = token;
    return { kind: 'complete', parts: complete };
  }

  /** Goes to another position. */
  reset({ number, last }: Pick<ChainPosition, 'number' | 'last'>): void {
    this.#number = number;
    this.#last = last;
    this.#open = [];
  }
}
