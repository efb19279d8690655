import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { fault, type StoreFault } from '../../state/durable.ts';
import type { Link } from '../link.ts';
import { sealPart } from './change-codec.ts';
import { append, type Away } from './feed-store.ts';

export interface WriterParts {
  readonly link: Link;
  readonly key: Buffer;
  readonly cluster: string;
  /** Number of the last change that this node has applied. */
  readonly applied: () => number;
  /** Called when the store has lost the stream or a part of it; the writer tries again meanwhile. */
  readonly onLost: () => void;
  readonly commitMsMax?: number;
}

/** A change on its way into the stream. */
export interface Appending {
  readonly parts: readonly Buffer[];
  /** Called before it is sent: from now on it may be in the stream, with this token. */
  sending(token: string): void;
  /** The change will not be confirmed: it is not in the stream, or whether it is remains unknown. */
  fail(why: StoreFault): void;
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
 * Appends changes to the stream, in the order of `add`, each at most once: one batch at a time, with a number that the store remembers. A
 * batch without an answer is sent again under the same number, and the store appends it only if it did not before. A batch that is given
 * up cannot be appended after a later one.
 */
export class FeedWriter {
  readonly #parts: WriterParts;
  readonly #commitMsMax: number;
  /** Distinguishes the runs of all nodes. */
  readonly #run = randomBytes(9).toString('base64url');
  #queue: { readonly appending: Appending; readonly sinceMs: number }[] = [];
  #batch = 0;
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
    while (this.#queue.length > 0) await this.#sendBatch(this.#take());
    this.#isSending = false;
  }

  #take(): readonly { readonly appending: Appending; readonly sinceMs: number }[] {
    let bytes = 0;
    let count = 0;
    for (const { appending } of this.#queue) {
      for (const part of appending.parts) bytes += part.length;
      if (count === BATCH_CHANGES_MAX || (count > 0 && bytes > BATCH_BYTES_MAX)) break;
      count++;
    }
    return this.#queue.splice(0, count);
  }

  async #sendBatch(batch: readonly { readonly appending: Appending; readonly sinceMs: number }[]): Promise<void> {
    const { link, key, cluster } = this.#parts;
    const number = ++this.#batch;
    const sealed = batch.map(({ appending }, index) => {
      const token = `${this.#run}:${number}:${index}`;
      appending.sending(token);
      return appending.parts.map((part, at) => sealPart(key, token, at, part));
    });
    const sinceMs = batch[0]?.sinceMs ?? performance.now();
    let wasSent = false;
    for (;;) {
      const writer = { run: this.#run, batch: number, applied: this.#parts.applied() };
      const { isUp } = link;
      const sent = await append(link, cluster, writer, sealed);
      if (sent.kind === 'ok') {
        const [status, detail] = sent.value;
        if (status === 'ok' || status === 'done') return;
        if (status === 'other') return failAll(batch, otherCluster(detail));
        // `absent` or `behind`: the reader founds or completes the stream again.
        this.#parts.onLost();
      } else if (sent.what === 'refused') {
        return failAll(batch, refusedBy(sent));
      } else if (isUp && sent.what === 'unknown') wasSent = true;
      const waitedMs = performance.now() - sinceMs;
      const isOver = waitedMs > (wasSent || sent.kind === 'ok' ? this.#commitMsMax : DOWN_MS_MAX);
      if (isOver || this.#isClosed) return failAll(batch, wasSent ? UNCONFIRMED : AWAY);
      await sleep(RETRY_MS);
    }
  }
}

function failAll(batch: readonly { readonly appending: Appending }[], why: StoreFault): void {
  for (const { appending } of batch) appending.fail(why);
}

/** Whether the change is in the stream is not known. */
export const UNCONFIRMED = fault(
  'change_unconfirmed',
  "the cluster's store did not confirm the change in time; whether it was made is unknown",
);

export const AWAY = fault('cluster_unavailable', "the cluster's store does not answer; nothing was changed");

function refusedBy({ detail }: Away): StoreFault {
  return fault('cluster_unavailable', `the cluster's store refused the change: ${detail}`);
}

function otherCluster(id: string): StoreFault {
  return fault('cluster_refused', `the cluster's store belongs to another cluster now (${id})`);
}
