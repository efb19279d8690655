import { unreachable, type CustomerNumber } from '../kernel/brand.ts';
import { newId } from '../kernel/ids.ts';
import { isTestCustomer } from '../kernel/test-customers.ts';
import { DecidedEvent } from '../work/webhook-event.ts';
import { formatEvent, variantOf } from '../work/formats/event-formats.ts';
import { decideRoute, probeSent } from '../work/webhook-health.ts';
import type { WebhookFilter } from '../work/webhook-filter.ts';
import type { Decision } from '../risk/decision.ts';
import type { Delivery, DeliveryId, Webhook } from '../work/webhook.ts';
import { SKIPPED_ROWS_PER_CUSTOMER_SECOND_MAX, SKIPPED_ROWS_PER_SECOND_MAX } from '../kernel/delivery-limits.ts';
import type { AnswerReader } from '../frames/batch-buffer.ts';
import { encodeDue, newRow, type DueEntry, type DueTarget, type Subscriber, type Subscribers } from './due-delivery.ts';

export interface FanOutParts {
  readonly subscribers: Subscribers;
  /** Real time, Unix ms. */
  nowMs(): number;
  /** Adds to the journal block that is written before the batch's responses leave. Returns whether there was room. */
  stage(sequence: number, bytes: Uint8Array): boolean;
  /**
   * Accepts the rows of staged and of skipped deliveries; sequence 0 means that they are in no journal. Returns false if there is no room.
   */
  take(rows: readonly Delivery[], sequence: number): boolean;
  /** Returns whether one more delivery may be pending there. */
  hasRoom(webhook: Webhook, bodyBytes: number): boolean;
  onSkipped(): void;
  /** Called when this many enqueued deliveries are in no journal and memory has no room for them. */
  onLost(count: number): void;
  onProbe(subscriber: Subscriber): void;
}

interface Answered {
  readonly request_id: string;
  readonly decision: Decision;
  readonly score: number;
  readonly reasons: readonly string[];
}

/** Deliveries of one decision with the same body. */
interface BodyGroup {
  readonly variant: string;
  readonly due: Omit<DueEntry, 'targets'>;
  readonly targets: DueTarget[];
  readonly rows: Delivery[];
}

/**
 * Fan-out: turns a decision into its webhook deliveries, on the hot path. Called through the port in `src/decide/due.ts`.
 * Measured: 9 ns for a customer without webhooks, 5.3 µs with one that is subscribed to the decision.
 */
export class FanOut {
  readonly #parts: FanOutParts;
  #sequence: number;
  /** Rows of the batch whose journal is about to be written. */
  #staged: { readonly rows: readonly Delivery[]; readonly sequence: number; readonly owed: number }[] = [];
  #probes: { readonly subscriber: Subscriber; readonly before: Webhook }[] = [];
  #second = 0;
  #skippedInSecond = 0;
  readonly #skippedOf = new Map<CustomerNumber, number>();
  /** Decisions skipped although their webhook is healthy, because too many are pending for it. */
  overflowed = 0;
  /** Skipped decisions without a row. */
  skippedUnrecorded = 0;
  /** Decisions that a webhook's filter excludes: its condition is false, or unknown because a fact is absent. */
  readonly filtered = { no_match: 0, unknown: 0 };

  /** `sequence` is the newest one known to the journal or the store. */
  constructor(parts: FanOutParts, sequence: number) {
    this.#parts = parts;
    this.#sequence = sequence;
  }

  decided(customer: CustomerNumber, occurredAtMs: number, answers: AnswerReader, at: number): void {
    const subscribers = this.#parts.subscribers.matching(customer, answers.decision(at));
    if (subscribers === undefined || subscribers.length === 0) return;
    // The worker's text ends before the value of `latency_ms`, its last field; `0}` completes it.
    const answered = JSON.parse(`${answers.text(at)}0}`) as Answered;
    const { request_id: requestId, decision, score, reasons } = answered;
    const event = { requestId, decision, score, reasons, occurredAtMs, isTest: isTestCustomer(customer) };
    const decided = new DecidedEvent(event, answers.record(at));
    const createdAtMs = this.#parts.nowMs();
    const groups: BodyGroup[] = [];
    for (const subscriber of subscribers) {
      const { webhook, filter } = subscriber;
      if (filter !== null && !this.#matches(filter, decided)) continue;
      const variant = variantOf(webhook);
      let group = groups.find((one) => one.variant === variant);
      if (group === undefined) {
        const body = Buffer.from(formatEvent(decided, webhook));
        const due = { customer, requestId, event: decision, createdAtMs, body };
        group = { variant, due, targets: [], rows: [] };
        groups.push(group);
      }
      const { due, targets, rows } = group;
      const deliveryId = newId('dlv', createdAtMs) as DeliveryId;
      const trigger = this.#triggerOf(subscriber, due.body.length, createdAtMs);
      if (trigger === null) this.#skip(rows, skippedRow(newRow(due, deliveryId, webhook, 'decision')));
      else {
        targets.push({ webhookId: webhook.id, deliveryId, trigger });
        rows.push(newRow(due, deliveryId, webhook, trigger));
      }
    }
    for (const group of groups) this.#stage(group);
  }

  /** An entry of the journal has one body, so each group has its own. */
  #stage({ due, targets, rows }: BodyGroup): void {
    const isStaged = targets.length > 0 && this.#parts.stage(++this.#sequence, encodeDue({ ...due, targets }));
    if (rows.length > 0) this.#staged.push({ rows, sequence: isStaged ? this.#sequence : 0, owed: targets.length });
  }

  /**
   * Called after the journal was written, or the write failed. After a failed write nothing is enqueued, because the decisions are not
   * answered.
   */
  committed(isWritten: boolean): void {
    if (this.#staged.length === 0) return;
    const staged = this.#staged;
    const probes = this.#probes;
    this.#staged = [];
    this.#probes = [];
    if (!isWritten) {
      for (const { subscriber, before } of probes.reverse()) subscriber.webhook = before;
      return;
    }
    for (const { subscriber } of probes) this.#parts.onProbe(subscriber);
    for (const { rows, sequence, owed } of staged) {
      if (this.#parts.take(rows, sequence)) continue;
      // Enqueued deliveries are read from the journal later; skipped ones have no row.
      this.skippedUnrecorded += rows.length - owed;
      if (sequence === 0 && owed > 0) this.#parts.onLost(owed);
    }
  }

  #matches(filter: WebhookFilter, decided: DecidedEvent): boolean {
    const holds = filter.evaluate(decided);
    if (holds === undefined) this.filtered.unknown++;
    else if (!holds) this.filtered.no_match++;
    return holds === true;
  }

  /** Returns null if the decision is to be skipped. */
  #triggerOf(subscriber: Subscriber, bodyBytes: number, nowMs: number): DueTarget['trigger'] | null {
    const { webhook } = subscriber;
    const route = decideRoute(webhook, nowMs);
    switch (route) {
      case 'deliver':
        if (this.#parts.hasRoom(webhook, bodyBytes)) return 'decision';
        this.overflowed++;
        return null;
      case 'probe':
        this.#probes.push({ subscriber, before: webhook });
        subscriber.webhook = { ...webhook, health: probeSent(webhook.health) };
        return 'probe';
      case 'skip':
        return null;
      default:
        return unreachable(route);
    }
  }

  #skip(rows: Delivery[], row: Delivery): void {
    this.#parts.onSkipped();
    const second = Math.floor(row.createdAtMs / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#skippedInSecond = 0;
      this.#skippedOf.clear();
    }
    const ofCustomer = (this.#skippedOf.get(row.customer) ?? 0) + 1;
    if (ofCustomer > SKIPPED_ROWS_PER_CUSTOMER_SECOND_MAX || this.#skippedInSecond >= SKIPPED_ROWS_PER_SECOND_MAX) {
      this.skippedUnrecorded++;
      return;
    }
    this.#skippedInSecond++;
    this.#skippedOf.set(row.customer, ofCustomer);
    rows.push(row);
  }
}

function skippedRow(row: Delivery): Delivery {
  return { ...row, status: 'skipped', error: 'unhealthy', completedAtMs: row.createdAtMs };
}
