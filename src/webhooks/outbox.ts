import type { CustomerNumber } from '../kernel/brand.ts';
import { hasShare } from '../kernel/capacity-share.ts';
import { newId } from '../kernel/ids.ts';
import { OUTBOX_ENTRIES_MAX } from '../kernel/limits.ts';
import { tally } from '../kernel/tally.ts';
import type { AnswerReader } from '../frames/batch-buffer.ts';
import type { WorkPublisher } from '../ports/work-queue-port.ts';
import type { Decision } from '../risk/decision.ts';
import { eventBody } from '../work/webhook-event.ts';
import type { DeliveryId } from '../work/webhook.ts';
import { encodeDue, type Subscribers } from './due-delivery.ts';

export interface OutboxParts {
  readonly subscribers: Pick<Subscribers, 'matching'>;
  readonly queue: WorkPublisher;
  /** Real time, Unix ms. */
  nowMs(): number;
  /** Called when a batch with entries is in the journal. */
  onCommitted(): void;
}

interface Answered {
  readonly request_id: string;
  readonly decision: Decision;
  readonly score: number;
  readonly reasons: readonly string[];
}

/** Choice: released positions that are kept before the list is cut. */
const RELEASED_MAX = 16_384;

/**
 * The decide path's part of deliveries: adds an outbox entry to the journal block that is written before a batch's responses leave. The
 * delivery thread does the rest. Called through the port in `src/decide/due.ts`.
 */
export class Outbox {
  readonly #parts: OutboxParts;
  #sequence: number;
  /** Sequence of the oldest entry that is not known to be stored. */
  #oldest: number;
  /** Customer of each entry from then on; null for one that is not in the journal. */
  #customers: (CustomerNumber | null)[] = [];
  #released = 0;
  readonly #waitingOf = new Map<CustomerNumber, number>();
  /** Number of entries of the batch whose journal block is about to be written. */
  #staged = 0;
  /** The newest sequence in the journal. */
  committedUpTo: number;
  /** Entries without room in the journal's block. */
  lost = 0;
  /** Decisions without an entry, because too many of their customer's wait for the delivery thread. */
  overflowed = 0;

  /** `sequence` is the newest one known to the journal or the store, `storedUpTo` the store's. */
  constructor(parts: OutboxParts, sequence: number) {
    this.#parts = parts;
    this.#sequence = sequence;
    this.#oldest = sequence + 1;
    this.committedUpTo = sequence;
  }

  /** Number of entries of this run that are not known to be stored. */
  get waiting(): number {
    return this.#customers.length - this.#released;
  }

  decided(customer: CustomerNumber, occurredAtMs: number, answers: AnswerReader, at: number): void {
    const subscribers = this.#parts.subscribers.matching(customer, answers.decision(at));
    if (subscribers === undefined || subscribers.length === 0) return;
    if (!hasShare(this.#waitingOf.get(customer) ?? 0, this.waiting, OUTBOX_ENTRIES_MAX)) {
      this.overflowed += subscribers.length;
      return;
    }
    // The worker's text ends before the value of `latency_ms`, its last field; `0}` completes it.
    const answered = JSON.parse(`${answers.text(at)}0}`) as Answered;
    const { request_id: requestId, decision, score, reasons } = answered;
    const createdAtMs = this.#parts.nowMs();
    const bytes = encodeDue({
      customer,
      requestId,
      event: decision,
      createdAtMs,
      body: Buffer.from(eventBody({ requestId, decision, score, reasons, occurredAtMs })),
      targets: subscribers.map(({ webhook: { id: webhookId } }) => {
        return { webhookId, deliveryId: newId('dlv', createdAtMs) as DeliveryId, trigger: 'decision' };
      }),
    });
    const isStaged = this.#parts.queue.publish(++this.#sequence, bytes);
    this.#customers.push(isStaged ? customer : null);
    if (isStaged) tally(this.#waitingOf, customer, 1);
    else this.lost += subscribers.length;
    this.#staged++;
  }

  /** Called after the journal was written, or the write failed. Decisions of a failed write are not answered and owe nothing. */
  committed(isWritten: boolean): void {
    if (this.#staged === 0) return;
    const staged = this.#staged;
    this.#staged = 0;
    if (isWritten) {
      this.committedUpTo = this.#sequence;
      this.#parts.onCommitted();
      return;
    }
    for (let at = this.#customers.length - staged; at < this.#customers.length; at++) this.#release(at);
  }

  /** Call when all entries up to this one are stored. */
  stored(upToSequence: number): void {
    const end = Math.min(this.#customers.length, upToSequence + 1 - this.#oldest);
    while (this.#released < end) this.#release(this.#released++);
    if (this.#released < RELEASED_MAX) return;
    this.#customers = this.#customers.slice(this.#released);
    this.#oldest += this.#released;
    this.#released = 0;
  }

  #release(at: number): void {
    const customer = this.#customers[at] ?? null;
    this.#customers[at] = null;
    if (customer !== null) tally(this.#waitingOf, customer, -1);
  }
}
