import { probeSent } from '../core/webhook-health.ts';
import type { Delivery } from '../core/webhook.ts';
import type { Deliveries } from '../store/deliveries.ts';
import { decodeDue, newRow, type Subscriber, type Subscribers } from './due.ts';
import type { Backlog, DueRows } from './row-writer.ts';

/** What of the journal a backlog is read by. */
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
  /** A probe is among what is owed: until it has ended no other goes out. */
  onProbe(subscriber: Subscriber): void;
  /** An entry that cannot be read; it is passed over. */
  onDamaged(error: unknown): void;
}

/** Choice: read at once, some hundred entries and a millisecond. */
const READ_BYTES = 65_536;

/** The rows of what the journal owes behind an entry: what was deleted since gets nothing, and what is in the log already stays as it is. */
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

  /** One that is damaged would be read for ever. */
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
