import { probeSent } from '../work/webhook-health.ts';
import type { Delivery } from '../work/webhook.ts';
import type { Deliveries } from '../state/tables/delivery-table.ts';
import { decodeDue, newRow, type Subscriber, type Subscribers } from './due-delivery.ts';
import type { Backlog, DueRows } from './row-writer.ts';

/** The part of the journal that a backlog reads. */
export interface DueSource {
  readonly dueCommitted: number;
  dueAfter(sequence: number): {
    next(bytesMax: number): readonly { readonly sequence: number; readonly bytes: Uint8Array }[];
    close(): void;
  };
}

export interface BacklogParts {
  readonly journal: DueSource;
  readonly subscribers: Pick<Subscribers, 'find'>;
  readonly deliveries: Pick<Deliveries, 'find'>;
  /** Called when an outbox entry contains a probe: no other probe is sent until it has ended. */
  onProbe(subscriber: Subscriber): void;
  /** Called for an unreadable entry, which is skipped. */
  onDamaged(error: unknown): void;
}

/** Choice: bytes per read, some hundred entries and a millisecond. */
const READ_BYTES = 65_536;

/** Opens the rows of the journal's entries after a sequence. Skips rows of webhooks deleted since, and rows that are in the log already. */
export function openBacklog(parts: BacklogParts, after: number): Backlog {
  const { journal, subscribers, deliveries } = parts;
  const reader = journal.dueAfter(after);

  function rowsOf(bytes: Uint8Array): readonly Delivery[] {
    const entry = decodeDue(bytes);
    const rows: Delivery[] = [];
    for (const { webhookId, deliveryId, trigger } of entry.targets) {
      const subscriber = subscribers.find(webhookId);
      if (subscriber === undefined || deliveries.find(entry.customer, deliveryId) !== null) continue;
      if (trigger === 'probe') hold(subscriber);
      rows.push(newRow(entry, deliveryId, subscriber.webhook, trigger));
    }
    return rows;
  }

  /** Skips a corrupt entry, which would otherwise be read again forever. */
  function readable(bytes: Uint8Array): readonly Delivery[] {
    try {
      return rowsOf(bytes);
    } catch (error) {
      parts.onDamaged(error);
      return [];
    }
  }

  function hold(subscriber: Subscriber): void {
    const { webhook } = subscriber;
    if (webhook.health.status !== 'unhealthy') return;
    subscriber.webhook = { ...webhook, health: probeSent(webhook.health) };
    parts.onProbe(subscriber);
  }

  return {
    next: () => reader.next(READ_BYTES).map(({ sequence, bytes }): DueRows => ({ sequence, rows: readable(bytes) })),
    isWritten: (sequence) => journal.dueCommitted >= sequence,
    close: () => reader.close(),
  };
}
