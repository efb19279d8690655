import { setTimeout as sleep } from 'node:timers/promises';
import type { ChangeFormats } from '../../state/change-formats.ts';
import type { StoreFault } from '../../state/durable.ts';
import type { FeedPosition } from '../../state/feed-position.ts';
import type { Link } from '../link.ts';
import type { Arrived, ChangeApplier } from './change-applier.ts';
import { unpackChange } from './change-codec.ts';
import { found, type Head, isRemovedAfter, readAfter, readHead, restore, type StreamEntry } from './feed-store.ts';

export type ReadState =
  /** All changes that the store had at the last look are applied. */
  | { readonly kind: 'current' }
  | { readonly kind: 'catching-up' }
  /** The tables are replaced by a snapshot. */
  | { readonly kind: 'loading' }
  /** Changes cannot be applied here; tried again until they can. */
  | {
      readonly kind: 'stopped';
      readonly detail: string;
      /** Whether a newer build wrote the next change. */
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
  readonly applier: ChangeApplier;
  /** Called for each change when it is visible, in order. */
  readonly onApplied: (arrived: Arrived, outcome: unknown, durable: Promise<StoreFault | null>) => void;
  readonly onState: (state: ReadState) => void;
  readonly onFault: (fault: StoreFault) => void;
  /** Whether no other live node of the cluster has applied more; asked after the store was lost. */
  readonly isFurthest: (number: number) => Promise<boolean>;
  /** The position is no longer in the stream, or the stream is another one: gets the tables of another node. Null: the reader ends. */
  readonly replace: (detail: string) => Promise<FeedPosition | StoreFault | null>;
}

const CHECK_MS = 1_000;
const RETRY_MS = 100;
/** Choice: the newest changes that a node can put back after the store has lost them. */
const TAIL_ENTRIES_MAX = 1_000;
const TAIL_BYTES_MAX = 4_194_304;
/** Choice: time in which the other nodes report how far they are, before the furthest one founds the cluster again. */
const FOUND_WAIT_MS = 1_500;

/** Reads the stream in order and applies each change once. Never skips one. */
export class FeedReader {
  readonly #parts: ReaderParts;
  readonly #cluster: string;
  #number: number;
  #last: string;
  /** Parts of the next change, of which some are still missing. */
  #open: StreamEntry[] = [];
  /** Complete changes that wait for their application. */
  #complete: (readonly StreamEntry[])[] = [];
  #tail: StreamEntry[] = [];
  #tailBytes = 0;
  #isLost = false;
  #isClosed = false;
  #running: Promise<void> | null = null;
  /** Waits for entries, and touches no table when it is closed meanwhile. */
  #isWaiting = false;

  constructor(parts: ReaderParts, { cluster, number, last }: FeedPosition) {
    this.#parts = parts;
    this.#cluster = cluster;
    this.#number = number;
    this.#last = last;
  }

  get number(): number {
    return this.#number;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Looks at the store before the next read: it has lost changes. */
  onLost(): void {
    this.#isLost = true;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (!this.#isWaiting) await this.#running;
  }

  async #run(): Promise<void> {
    let checkedMs = Number.NEGATIVE_INFINITY;
    let newest = 0;
    while (!this.#isClosed) {
      if (this.#isLost || performance.now() - checkedMs >= CHECK_MS) {
        const head = await this.#check();
        if (head === null) {
          await sleep(RETRY_MS);
          continue;
        }
        this.#isLost = false;
        newest = head.number;
        checkedMs = performance.now();
      }
      if (this.#number < newest) this.#parts.onState({ kind: 'catching-up' });
      else this.#parts.onState({ kind: 'current' });
      this.#isWaiting = true;
      const read = await readAfter(this.#parts.waiting, ...this.#from());
      this.#isWaiting = false;
      if (this.#isClosed) return;
      if (read.kind === 'away') {
        this.#parts.onState({ kind: 'away', detail: read.detail });
        checkedMs = Number.NEGATIVE_INFINITY;
        await sleep(RETRY_MS);
      } else if (!this.#collect(read.value) || (read.value.length === 0 && (await this.#isBehindStream(newest)))) {
        await this.#replace('the changes after its position are no longer in the stream');
      } else await this.#applyAll();
    }
  }

  /** Asks whether the changes up to `newest` are gone, after a read that found none. */
  async #isBehindStream(newest: number): Promise<boolean> {
    if (this.#number >= newest) return false;
    const removed = await isRemovedAfter(this.#parts.waiting, ...this.#from());
    return removed.kind === 'ok' && removed.value;
  }

  #from(): [number: number, part: number | null] {
    const last = this.#open.at(-1);
    return last === undefined ? [this.#number, null] : [last.number, last.part];
  }

  /** Returns false if the entries do not continue what was applied. */
  #collect(entries: readonly StreamEntry[]): boolean {
    for (const entry of entries) {
      const before = this.#complete.at(-1)?.[0];
      const number = (before?.number ?? this.#number) + 1;
      const previous = before?.token ?? this.#last;
      const { length } = this.#open;
      if (entry.number !== number || entry.part !== length || entry.previous !== previous) return false;
      this.#open.push(entry);
      if (entry.part + 1 < entry.parts) continue;
      this.#complete.push(this.#open);
      this.#open = [];
    }
    return true;
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
        this.#number = one.number;
        this.#last = one.token;
        this.#keep(this.#complete.shift() ?? []);
        this.#parts.onApplied(one, outcome, applied.durable);
      }
    }
  }

  /** Decrypts the complete changes up to one that this build cannot read. */
  async #decode(): Promise<Arrived[]> {
    const arrived: Arrived[] = [];
    for (const entries of this.#complete) {
      const [first] = entries;
      if (first === undefined) break;
      const { number, token, atMs } = first;
      const { key, formats } = this.#parts;
      const read = await unpackChange(
        key,
        token,
        entries.map(({ data }) => data),
        formats,
      );
      if (read.kind === 'change') {
        arrived.push({ number, token, atMs, change: read.change, origin: read.origin });
        continue;
      }
      if (arrived.length === 0) {
        const needsUpgrade = read.kind === 'unknown';
        this.#parts.onState({ kind: 'stopped', detail: unreadable(number, read), needsUpgrade });
      }
      break;
    }
    return arrived;
  }

  #keep(entries: readonly StreamEntry[]): void {
    for (const entry of entries) {
      this.#tail.push(entry);
      this.#tailBytes += entry.data.length;
    }
    while (this.#tail.length > TAIL_ENTRIES_MAX || this.#tailBytes > TAIL_BYTES_MAX) {
      const number = this.#tail[0]?.number;
      // Only whole changes can be put back.
      while (this.#tail[0]?.number === number && this.#tail.length > 0) {
        this.#tailBytes -= this.#tail.shift()?.data.length ?? 0;
      }
    }
  }

  /** Compares the store with this node. Returns its head when the next read may begin; null to look again. */
  async #check(): Promise<Head | null> {
    const read = await readHead(this.#parts.link);
    if (read.kind === 'away') {
      this.#parts.onState({ kind: 'away', detail: read.detail });
      return null;
    }
    const head = read.value;
    if (head === null) return this.#foundAgain();
    if (head.cluster !== this.#cluster) {
      this.#parts.onState({ kind: 'stopped', detail: `the store belongs to another cluster now (${head.cluster})` });
      return null;
    }
    if (head.number < this.#number) return this.#putBack();
    if (head.number > this.#number || head.last === this.#last) return head;
    await this.#replace('the store has other changes than this node');
    return null;
  }

  /** The store has lost everything. The node that has applied most founds the cluster again, so nothing that it has is lost. */
  async #foundAgain(): Promise<null> {
    this.#parts.onState({ kind: 'away', detail: 'the store has lost the changes' });
    await sleep(FOUND_WAIT_MS);
    if (this.#isClosed || !(await this.#parts.isFurthest(this.#number))) return null;
    await this.#foundBeforeTail();
    return null;
  }

  /** The store has lost the newest changes, for example because a replica took over that did not have them yet. */
  async #putBack(): Promise<null> {
    const { link } = this.#parts;
    const restored = await restore(link, this.#cluster, this.#tail);
    if (restored.kind === 'ok' && Number(restored.value[1]) >= this.#number) return null;
    // More is lost than this node can put back: the stream begins again with what it has.
    if (restored.kind === 'ok' && (await this.#parts.isFurthest(this.#number))) await this.#foundBeforeTail();
    return null;
  }

  async #foundBeforeTail(): Promise<void> {
    const { link, check, format } = this.#parts;
    const oldest = this.#tail[0];
    const at = oldest === undefined ? this.#number : oldest.number - 1;
    const last = oldest === undefined ? this.#last : oldest.previous;
    await found(link, { cluster: this.#cluster, check, format, number: at, last }, this.#number);
    if (this.#tail.length > 0) await restore(link, this.#cluster, this.#tail);
  }

  async #replace(detail: string): Promise<void> {
    this.#parts.onState({ kind: 'loading' });
    const replaced = await this.#parts.replace(detail);
    if (replaced === null) {
      this.#isClosed = true;
    } else if ('kind' in replaced) {
      this.#parts.onState({ kind: 'stopped', detail: `${detail}; ${replaced.detail}` });
      await sleep(RETRY_MS);
    } else {
      this.#number = replaced.number;
      this.#last = replaced.last;
      this.#tail = [];
      this.#tailBytes = 0;
    }
    this.#open = [];
    this.#complete = [];
  }
}

function unreadable(
  number: number,
  read: { kind: 'unknown'; what: string; version: number } | { kind: 'foreign' },
): string {
  if (read.kind === 'foreign') return `change ${number} was not written by a node of this cluster`;
  return `change ${number} (${read.what}, version ${read.version}) was written by a newer build; upgrade this node`;
}
