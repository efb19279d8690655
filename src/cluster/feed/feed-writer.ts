import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fault, type StoreFault } from '../../state/tables/durable.ts';
import type { Link } from '../store/link.ts';
import { ChangeChain, type ChainPosition, sealEntry, type StreamEntry } from './change-chain.ts';
import type { Away } from '../store/store-calls.ts';
import { extend, type StoredEntry } from './feed-store.ts';

export interface WriterParts {
  readonly link: Link;
  readonly key: Buffer;
  readonly cluster: string;
  /** The last change that this node has read and authenticated. */
  readonly position: () => Tip;
  /** Called when the store has lost the stream or a part of it; the writer tries again meanwhile. */
  readonly onLost: () => void;
  readonly commitMsMax?: number;
}

type Tip = Pick<ChainPosition, 'number' | 'last'>;

/** A change on its way into the stream. */
export interface Appending {
  readonly parts: readonly Buffer[];
  /** Called before it is sent: from now on it may be in the stream, with this token. */
  sending(token: string): void;
  /** The change will not be confirmed: it is not in the stream, or whether it is remains unknown. */
  fail(why: StoreFault): void;
}

interface Queued {
  readonly appending: Appending;
  readonly sinceMs: number;
}

/** Choice: a store that fails over answers again within a second or two; a caller does not wait longer. */
export const COMMIT_MS_MAX = 5_000;
/** Choice: how long a change waits for a store that does not answer at all; then nothing was sent. */
const DOWN_MS_MAX = 1_000;
const RETRY_MS = 25;
/** Choice: changes of one append; their entries have some 20 KB. */
const BATCH_CHANGES_MAX = 64;
const BATCH_BYTES_MAX = 1_048_576;

/**
 * Appends changes to the stream, in the order of `add`, each at most once. Each entry is encrypted for its number and for the change before
 * it, so a batch is appended only right behind the change that it was made for. When others were first, the batch is made again for the
 * place behind theirs. A batch without an answer is sent again, and is found in the stream if it was appended.
 */
export class FeedWriter {
  readonly #parts: WriterParts;
  readonly #commitMsMax: number;
  /** Distinguishes the runs of all nodes. */
  readonly #run = randomBytes(9).toString('base64url');
  #queue: Queued[] = [];
  #batch = 0;
  /** The last of the batches that were read from the stream. */
  #readBatch = 0;
  /** The newest change that is known to be in the stream; null for the last one that this node has read. */
  #tip: Tip | null = null;
  #isSending = false;
  #isClosed = false;

  constructor(parts: WriterParts) {
    this.#parts = parts;
    this.#commitMsMax = parts.commitMsMax ?? COMMIT_MS_MAX;
  }

  add(appending: Appending): void {
    this.#queue.push({ appending, sinceMs: performance.now() });
    if (!this.#isSending) void this.#send();
  }

  /** Fails what is not in the stream yet. */
  close(): void {
    this.#isClosed = true;
  }

  async #send(): Promise<void> {
    this.#isSending = true;
    while (this.#queue.length > 0) await this.#sendBatch(this.#nextBatch());
    this.#isSending = false;
  }

  #nextBatch(): readonly Queued[] {
    let bytes = 0;
    let count = 0;
    for (const { appending } of this.#queue) {
      for (const part of appending.parts) bytes += part.length;
      if (count === BATCH_CHANGES_MAX || (count > 0 && bytes > BATCH_BYTES_MAX)) break;
      count++;
    }
    return this.#queue.splice(0, count);
  }

  /** Called for each change that this node has read from the stream. */
  onRead(token: string): void {
    const [run, batch] = token.split(':');
    if (run === this.#run) this.#readBatch = Math.max(this.#readBatch, Number(batch));
  }

  async #sendBatch(batch: readonly Queued[]): Promise<void> {
    const number = ++this.#batch;
    const tokens = batch.map((_one, index) => `${this.#run}:${number}:${index}`);
    for (const [index, { appending }] of batch.entries()) appending.sending(tokens[index] ?? '');
    const sinceMs = batch[0]?.sinceMs ?? performance.now();
    let wasSent = false;
    while (this.#readBatch < number) {
      const { isUp } = this.#parts.link;
      const tip = this.#newestTip();
      const entries = this.#sealAt(tip, batch, tokens);
      const sent = await extend(this.#parts.link, this.#parts.cluster, tip, entries);
      if (sent.kind === 'ok' && sent.value.status === 'ok') {
        this.#tip = { number: tip.number + batch.length, last: tokens.at(-1) ?? '' };
        return;
      }
      // Others were first: the place behind their changes may be free.
      const isMoved = sent.kind === 'ok' && sent.value.status === 'moved' && this.#follow(tip, sent.value.after);
      if (sent.kind === 'away' && sent.what === 'refused') return failAll(batch, refusedBy(sent));
      if (sent.kind === 'away' && isUp && sent.what === 'unknown') wasSent = true;
      const waitedMs = performance.now() - sinceMs;
      const isOver = waitedMs > (wasSent || sent.kind === 'ok' ? this.#commitMsMax : DOWN_MS_MAX);
      if (isOver || this.#isClosed) return failAll(batch, wasSent ? UNCONFIRMED : AWAY);
      if (isMoved) continue;
      // The stream is not what this node knows: the reader reads its state and mends it.
      this.#tip = null;
      if (sent.kind === 'ok') this.#parts.onLost();
      await sleep(RETRY_MS);
    }
  }

  #newestTip(): Tip {
    const read = this.#parts.position();
    return this.#tip !== null && this.#tip.number > read.number ? this.#tip : read;
  }

  #sealAt(tip: Tip, batch: readonly Queued[], tokens: readonly string[]): readonly StreamEntry[] {
    const { key, cluster } = this.#parts;
    let previous = tip.last;
    return batch.flatMap(({ appending }, index) => {
      const token = tokens[index] ?? '';
      const change = { number: tip.number + 1 + index, token, previous, parts: appending.parts.length };
      previous = token;
      return appending.parts.map((plain, part) => {
        const entry = { ...change, part };
        return { ...entry, data: sealEntry(key, cluster, entry, plain) };
      });
    });
  }

  /** Goes behind the changes that follow those before. Returns false if there are none. */
  #follow(tip: Tip, after: readonly StoredEntry[]): boolean {
    const { key, cluster } = this.#parts;
    const chain = new ChangeChain(key, cluster, tip);
    for (const entry of after) {
      const { kind } = chain.accept(entry);
      if (kind === 'complete') this.onRead(entry.token);
      else if (kind !== 'open') break;
    }
    if (chain.number === tip.number) return false;
    this.#tip = { number: chain.number, last: chain.last };
    return true;
  }
}

function failAll(batch: readonly Queued[], why: StoreFault): void {
  for (const { appending } of batch) appending.fail(why);
}

/** Unknown whether the change is in the stream. */
export const UNCONFIRMED = fault(
  'change_unconfirmed',
  "the cluster's store did not confirm the change in time; whether it was made is unknown",
);

export const AWAY = fault('cluster_unavailable', "the cluster's store does not answer; nothing was changed");

function refusedBy({ detail }: Away): StoreFault {
  return fault('cluster_unavailable', `the cluster's store refused the change: ${detail}`);
}
