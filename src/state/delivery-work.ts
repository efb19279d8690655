import { unreachable } from '../kernel/brand.ts';
import type { Claim, ClaimOrder, QueueAnswer, Settled, SettleOutcome, WorkQueue } from '../ports/work-queue-port.ts';
import type { Delivery, DeliveryAttempt, DeliveryError, DeliveryId } from '../work/webhook.ts';
import type { DeliveryUpdate } from './deliveries/row.ts';
import type { Deliveries } from './delivery-table.ts';
import type { StoreFault } from './durable.ts';
import { WorkLeases } from './work-leases.ts';

/** A delivery in the lane of its endpoint. */
export interface DeliveryWork {
  readonly id: DeliveryId;
  readonly lane: string;
  readonly row: Delivery;
}

/** Null: there was no attempt. */
export interface DeliveryReport {
  readonly attempt: DeliveryAttempt | null;
  readonly elapsedMs: number;
}

export interface DeliveryReason {
  readonly status: 'failed' | 'skipped';
  readonly error: DeliveryError | null;
}

/** Choice: rows read at a time, about a millisecond; and per call, so that a lane of rows that wait does not hold the thread. */
const ROWS_AT_ONCE = 64;
const ROWS_MAX = 1_024;

/** The delivery log as a queue. */
export class DeliveryQueue implements WorkQueue<Delivery, DeliveryWork, DeliveryReport, DeliveryReason, StoreFault> {
  readonly #deliveries: Pick<Deliveries, 'insert' | 'apply' | 'pendingOf' | 'endpointsWithPending'>;
  readonly #leases: WorkLeases<DeliveryWork>;

  constructor(
    deliveries: Pick<Deliveries, 'insert' | 'apply' | 'pendingOf' | 'endpointsWithPending'>,
    leases = new WorkLeases<DeliveryWork>(),
  ) {
    this.#deliveries = deliveries;
    this.#leases = leases;
  }

  get leaseMs(): number {
    return this.#leases.leaseMs;
  }

  publish(rows: readonly Delivery[]): Promise<QueueAnswer<null, StoreFault>> {
    return this.#deliveries.insert(rows, 0);
  }

  lanes(): readonly string[] {
    return this.#deliveries.endpointsWithPending();
  }

  claim({ consumer, lane, limit, nowMs }: ClaimOrder): readonly Claim<DeliveryWork>[] {
    const claims: Claim<DeliveryWork>[] = [];
    let after: DeliveryId | null = null;
    for (let read = 0; read < ROWS_MAX && claims.length < limit; read += ROWS_AT_ONCE) {
      const rows = this.#deliveries.pendingOf(lane, after, ROWS_AT_ONCE);
      for (const row of rows) {
        if (claims.length === limit) break;
        if ((row.nextAttemptAtMs ?? nowMs) > nowMs || !this.#leases.isFree(row.id, nowMs)) continue;
        claims.push(this.#leases.take({ id: row.id, lane, row }, consumer, nowMs));
      }
      after = rows.at(-1)?.id ?? null;
      if (rows.length < ROWS_AT_ONCE) break;
    }
    return claims;
  }

  renew(claims: readonly Claim<DeliveryWork>[], nowMs: number): readonly Claim<DeliveryWork>[] {
    return this.#leases.renew(claims, nowMs);
  }

  async settle(
    settled: readonly Settled<DeliveryWork, DeliveryReport, DeliveryReason>[],
    nowMs: number,
  ): Promise<QueueAnswer<readonly SettleOutcome[], StoreFault>> {
    const own = settled.filter(({ claim }) => this.#leases.has(claim));
    // Nobody else must claim them while they are written.
    this.#leases.renew(
      own.map(({ claim }) => claim),
      nowMs,
    );
    const written = await this.#deliveries.apply(own.map((one) => updateOf(one, nowMs)));
    if (written.kind === 'fault') return written;
    const outcomes = settled.map((one): SettleOutcome => (own.includes(one) ? 'stored' : 'lost'));
    this.#leases.release(own.map(({ claim }) => claim));
    return { kind: 'ok', value: outcomes };
  }

  release(claims: readonly Claim<DeliveryWork>[]): void {
    this.#leases.release(claims);
  }
}

function updateOf(
  { claim, end, report }: Settled<DeliveryWork, DeliveryReport, DeliveryReason>,
  nowMs: number,
): DeliveryUpdate {
  const { customer, id } = claim.work.row;
  const update = { customer, id, ...report };
  switch (end.kind) {
    case 'done':
      return { ...update, status: 'succeeded', error: null, completedAtMs: nowMs, nextAttemptAtMs: null };
    case 'retry':
      return { ...update, status: 'pending', error: null, completedAtMs: null, nextAttemptAtMs: end.atMs };
    case 'dead':
      return { ...update, ...end.reason, completedAtMs: nowMs, nextAttemptAtMs: null };
    default:
      return unreachable(end);
  }
}
