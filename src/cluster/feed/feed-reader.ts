import { setTimeout as sleep } from 'node:timers/promises';
import { unreachable } from '../../kernel/brand.ts';
import type { ChangeFormats } from '../../state/feed/change-formats.ts';
import type { StoreFault } from '../../state/tables/durable.ts';
import type { FeedPosition } from '../../state/feed/feed-position.ts';
import type { Link } from '../store/link.ts';
import { NewestEntries } from '../log/newest-entries.ts';
import { ChangeChain, type ChainPosition, type StreamEntry, type VerifiedChange } from './change-chain.ts';
import type { Arrived, ChangeApplier } from './change-applier.ts';
import { unpackChange } from './change-codec.ts';
import {
  type After,
  extend,
  found,
  headProof,
  type StoredStream,
  readStream,
  readAfter,
  type StoredEntry,
  waitAfter,
} from './feed-store.ts';
import { judgeStream } from './stream-state.ts';

export type ReadState =
  /** All changes that the store had at the last read are applied. */
  | { readonly kind: 'current' }
  | { readonly kind: 'catching-up' }
  /** The tables are replaced by a snapshot. */
  | { readonly kind: 'loading' }
  /** The stream is not what the nodes have written; the furthest node mends it, and changes wait for that. */
  | { readonly kind: 'mending'; readonly detail: string }
  /** Changes cannot be applied here; tried again until they can. */
  | {
      readonly kind: 'stopped';
      readonly detail: string;
      /** True if a newer build wrote the next change. */
      readonly needsUpgrade?: boolean;
    }
  /** The store does not answer. */
  | { readonly kind: 'away'; readonly detail: string };

export interface ReaderParts {
  readonly link: Link;
  /** A link of the reader's own: it waits for entries. */
  readonly waiting: Link;
  readonly key: Buffer;
  readonly formats: ChangeFormats;
  readonly check: string;
  readonly format: string;
  /** Milliseconds in which the other nodes report their positions, before the furthest one founds the stream again. */
  readonly foundWaitMs?: number;
  readonly applier: ChangeApplier;
  /** Called for each change when it is read. */
  readonly onRead: (token: string) => void;
  /** Called for each change when it is visible, in order. */
  readonly onApplied: (arrived: Arrived, outcome: unknown, durable: Promise<StoreFault | null>) => void;
  readonly onState: (state: ReadState) => void;
  readonly onFault: (fault: StoreFault) => void;
  /** Called once for each entry that no node of the cluster wrote for its place. It is skipped. */
  readonly onBroken: (entry: StoredEntry) => void;
  /** Called with the term of the stream that this node follows from now on. */
  readonly onTerm: (position: ChainPosition) => Promise<void>;
  /** Returns whether no other live node of the cluster is later, or as far with a lower id. */
  readonly isFurthest: (position: ChainPosition) => Promise<boolean>;
  readonly isAlive: (cluster: string) => boolean;
  /**
   * This node's changes do not lead to those of the stream: gets the tables of a live node that is later. Resolves to a text that says why
   * not, as long as there is none or it is not this node's turn. Null: the reader ends.
   */
  readonly replace: (detail: string, position: ChainPosition) => Promise<FeedPosition | StoreFault | string | null>;
}

const CHECK_MS = 1_000;
const RETRY_MS = 100;
/** Choice: three reports of each node. */
const FOUND_WAIT_MS = 1_500;
/** Choice: entries of which it is known that they were counted. */
const BROKEN_KNOWN_MAX = 10_000;

/**
 * Reads the stream in order and applies each change once. Never skips one. Whatever else is in the stream is skipped, and never ends the
 * process: it only keeps changes from being appended, until the furthest of the live nodes has founded the stream again.
 */
export class FeedReader {
  readonly #parts: ReaderParts;
  readonly #cluster: string;
  /** The last change that was applied. */
  #applied: ChainPosition;
  /** The entries that were read, applied or not. */
  readonly #chain: ChangeChain<StoredEntry>;
  /** Complete changes that wait for their application. */
  #complete: (readonly VerifiedChange<StoredEntry>[])[] = [];
  readonly #tail = new NewestEntries<StreamEntry>(({ data }) => data);
  #newest = 0;
  #isLost = false;
  /** Number of a change in the stream that does not follow; 0 without one. */
  #strayNumber = 0;
  #checkedMs = Number.NEGATIVE_INFINITY;
  /** `performance.now()` when the present damage was first seen. */
  #damagedMs: number | null = null;
  readonly #brokenKnown = new Set<string>();
  #isClosed = false;
  #running: Promise<void> | null = null;
  /** Waits for entries, and touches no table when it is closed meanwhile. */
  #isWaiting = false;

  constructor(parts: ReaderParts, { cluster, number, last, term }: FeedPosition) {
    this.#parts = parts;
    this.#cluster = cluster;
    this.#applied = { number, last, term };
    this.#chain = new ChangeChain(parts.key, cluster, { number, last });
  }

  /** The last change that was applied. */
  get position(): ChainPosition {
    return this.#applied;
  }

  /** The last change that was read. */
  get tip(): Pick<ChainPosition, 'number' | 'last'> {
    return { number: this.#chain.number, last: this.#chain.last };
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Reads the state of the stream before the next entries: the store has lost changes. */
  onLost(): void {
    this.#isLost = true;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (!this.#isWaiting) await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      if (this.#isLost || performance.now() - this.#checkedMs >= CHECK_MS) {
        if (!(await this.#check())) {
          await sleep(RETRY_MS);
          continue;
        }
      }
      this.#parts.onState({ kind: this.#chain.number < this.#newest ? 'catching-up' : 'current' });
      this.#isWaiting = true;
      const read = await waitAfter(this.#parts.waiting, this.#after);
      this.#isWaiting = false;
      if (this.#isClosed) return;
      if (read.kind === 'away') {
        this.#isLost = true;
        if (read.what !== 'refused') this.#parts.onState({ kind: 'away', detail: read.detail });
        await sleep(RETRY_MS);
      } else {
        if (!this.#collect(read.value)) this.#isLost = true;
        await this.#applyAll();
      }
    }
  }

  get #after(): After {
    return this.#chain.lastPart ?? { number: this.#chain.number, part: null };
  }

  /** Adds the entries that continue the chain. Returns whether all do. */
  #collect(entries: readonly StoredEntry[]): boolean {
    let areSound = true;
    this.#strayNumber = 0;
    for (const entry of entries) {
      const link = this.#chain.accept(entry);
      if (link.kind === 'complete') {
        this.#complete.push(link.parts);
        this.#parts.onRead(entry.token);
        this.#strayNumber = 0;
      } else if (link.kind === 'astray') this.#strayNumber ||= link.number;
      else if (link.kind === 'broken') this.#noteBroken(entry);
      areSound &&= link.kind === 'complete' || link.kind === 'open';
    }
    return areSound;
  }

  #noteBroken(entry: StoredEntry): void {
    const id = `${entry.number}-${entry.part}`;
    if (this.#brokenKnown.has(id)) return;
    if (this.#brokenKnown.size < BROKEN_KNOWN_MAX) this.#brokenKnown.add(id);
    this.#parts.onBroken(entry);
  }

  /** Applies the complete changes, however long that takes. */
  async #applyAll(): Promise<void> {
    let arrived: Arrived[] = [];
    while (this.#complete.length > 0 && !this.#isClosed) {
      if (arrived.length === 0) arrived = await this.#decode();
      const applied = arrived.length === 0 ? null : await this.#parts.applier.applySome(arrived);
      if (applied?.kind === 'fault') {
        this.#parts.onFault(applied);
        this.#parts.onState({ kind: 'stopped', detail: `a change cannot be written: ${applied.detail}` });
      }
      if (applied?.kind !== 'ok') {
        await sleep(RETRY_MS);
        continue;
      }
      for (const outcome of applied.outcomes) {
        const one = arrived.shift();
        if (one === undefined) break;
        this.#applied = { term: this.#applied.term, number: one.number, last: one.token };
        this.#tail.add((this.#complete.shift() ?? []).map(({ plain: _plain, ...entry }) => entry));
        this.#parts.onApplied(one, outcome, applied.durable);
      }
    }
  }

  /** Reads the complete changes up to one that this build does not know. */
  async #decode(): Promise<Arrived[]> {
    const arrived: Arrived[] = [];
    const { term } = this.#applied;
    for (const entries of this.#complete) {
      const [first] = entries;
      if (first === undefined) break;
      const { number, token, atMs } = first;
      const read = await unpackChange(entries, this.#parts.formats);
      if (read.kind === 'change') {
        arrived.push({ term, number, token, atMs, change: read.change, origin: read.origin });
        continue;
      }
      if (arrived.length === 0) {
        const detail = `change ${number} (${read.what}, version ${read.version}) was written by a newer build; upgrade this node`;
        this.#parts.onState({ kind: 'stopped', detail, needsUpgrade: true });
      }
      break;
    }
    return arrived;
  }

  /** Compares the store with this node. Returns whether the next read may begin. */
  async #check(): Promise<boolean> {
    const { key, format, isAlive, onState } = this.#parts;
    // Parts of a change that is not complete are read again: the rest may never come.
    this.#chain.reset(this.tip);
    const stored = await readStream(this.#parts.link, this.#chain.number);
    if (stored.kind === 'away') {
      onState({ kind: 'away', detail: stored.detail });
      return false;
    }
    const own = { ...this.#applied, ...this.tip };
    const tail = [...this.#tail.all, ...this.#complete.flat()];
    const state = judgeStream(stored.value, { key, cluster: this.#cluster, format, own, tail, isAlive });
    switch (state.kind) {
      case 'sound':
        if (state.isPart && state.term > this.#applied.term) await this.#follow(state.term);
        return this.#goOn(stored.value, state.newest, state.term);
      case 'shorter':
        await extend(this.#parts.link, this.#cluster, state.after, state.missing);
        return false;
      case 'damaged':
      case 'astray':
        return this.#mend(state.detail, stored.value, state.term, state.kind === 'astray');
      case 'foreign':
        onState({ kind: 'stopped', detail: state.detail });
        return false;
      case 'newer':
        onState({ kind: 'stopped', detail: `a newer build founded the stream: ${state.detail}`, needsUpgrade: true });
        return false;
      default:
        return unreachable(state);
    }
  }

  /** The end of the stream is sound. What follows this node's changes may still be missing before it. */
  async #goOn(stored: StoredStream, newest: number, term: number): Promise<boolean> {
    if (this.#strayNumber > 0) {
      const detail = `changes before change ${this.#strayNumber} are no longer in the stream`;
      return this.#mend(detail, stored, term, true);
    }
    this.#damagedMs = null;
    this.#brokenKnown.clear();
    this.#newest = newest;
    this.#isLost = false;
    this.#checkedMs = performance.now();
    return true;
  }

  /**
   * Reads what can be read. Then the furthest of the live nodes founds the stream again, from what it has; another one takes the data of
   * a later node if its changes do not lead to the stream's.
   */
  async #mend(detail: string, stored: StoredStream, term: number, isAstray: boolean): Promise<boolean> {
    this.#damagedMs ??= performance.now();
    this.#parts.onState({ kind: 'mending', detail });
    const { number } = this.#chain;
    const read = await readAfter(this.#parts.link, this.#after);
    // A key of another type has no entries.
    if (read.kind === 'ok') this.#collect(read.value);
    await this.#applyAll();
    if (this.#chain.number > number || this.#isClosed) return false;
    if (isAstray) {
      const replaced = await this.#parts.replace(detail, this.#applied);
      if (typeof replaced !== 'string') {
        await this.#takeOver(replaced, detail);
        return false;
      }
      this.#parts.onState({ kind: 'mending', detail: `${detail}; ${replaced}` });
    }
    const { foundWaitMs = FOUND_WAIT_MS } = this.#parts;
    if (performance.now() - this.#damagedMs < foundWaitMs) return false;
    if (await this.#parts.isFurthest(this.#applied)) await this.#foundAgain(stored, term);
    return false;
  }

  /** In a new term, so that a copy of the stream as it was before is known to be one. */
  async #foundAgain({ mark }: StoredStream, provedTerm: number): Promise<void> {
    const { link, key, check, format } = this.#parts;
    const [oldest] = this.#tail.all;
    const term = Math.max(this.#applied.term, provedTerm) + 1;
    const number = oldest === undefined ? this.#applied.number : oldest.number - 1;
    const last = oldest === undefined ? this.#applied.last : oldest.previous;
    const head = { cluster: this.#cluster, check, format, term, number, last };
    const made = await found(link, mark, { ...head, proof: headProof(key, head) }, this.#tail.all);
    if (made.kind !== 'ok' || !made.value) return;
    this.#chain.reset(this.#applied);
    await this.#follow(term);
  }

  async #follow(term: number): Promise<void> {
    this.#applied = { ...this.#applied, term };
    await this.#parts.onTerm(this.#applied);
  }

  async #takeOver(replaced: FeedPosition | StoreFault | null, detail: string): Promise<void> {
    if (replaced === null) this.#isClosed = true;
    else if ('kind' in replaced) {
      this.#parts.onState({ kind: 'stopped', detail: `${detail}; ${replaced.detail}` });
    } else {
      const { term, number, last } = replaced;
      this.#applied = { term, number, last };
      this.#chain.reset(replaced);
      this.#complete = [];
      this.#tail.clear();
      this.#strayNumber = 0;
      this.#damagedMs = null;
    }
  }
}
