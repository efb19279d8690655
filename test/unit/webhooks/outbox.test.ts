import { beforeEach, expect, test } from 'vitest';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import { OUTBOX_ENTRIES_MAX } from '../../../src/kernel/limits.ts';
import { newId } from '../../../src/kernel/ids.ts';
import { AnswerReader, AnswerWriter, createBatchBuffer } from '../../../src/frames/batch-buffer.ts';
import { DECISIONS } from '../../../src/risk/decision.ts';
import { HEALTHY } from '../../../src/work/webhook-health.ts';
import type { WebhookId } from '../../../src/work/webhook.ts';
import { decodeDue, type DueEntry, Subscribers } from '../../../src/webhooks/due-delivery.ts';
import { Outbox } from '../../../src/webhooks/outbox.ts';

const NOW = 1_800_000_000_000;

let subscribers: Subscribers;
let outbox: Outbox;
let entries: { readonly sequence: number; readonly entry: DueEntry }[];
let mayPublish: boolean;
let committed: number;

beforeEach(() => {
  [subscribers, entries, mayPublish, committed] = [new Subscribers(), [], true, 0];
  const publish = (sequence: number, bytes: Uint8Array): boolean => {
    if (mayPublish) entries.push({ sequence, entry: decodeDue(bytes) });
    return mayPublish;
  };
  outbox = new Outbox({ subscribers, queue: { publish }, nowMs: () => NOW, onCommitted: () => committed++ }, 4);
});

function subscribe(customer: number): WebhookId {
  const id = newId('wh', NOW) as WebhookId;
  const rest = { url: 'https://receiver.test/', eventTypes: ['BLOCK'], description: null, disabled: false } as const;
  const times = { createdAtMs: NOW, updatedAtMs: NOW };
  subscribers.add({ id, customer: customer as CustomerNumber, ...rest, ...times, health: HEALTHY });
  return id;
}

const frame = createBatchBuffer();
function decide(customer: number, isWritten = true): void {
  const text = `{"request_id":"${newId('req', NOW)}","decision":"BLOCK","score":91,"reasons":[],"latency_ms":`;
  const rest = { flags: 0, score: 91, rulesLow: 0, rulesHigh: 0, record: new Uint8Array(0) };
  new AnswerWriter(frame).write(0, { status: 200, decision: DECISIONS.indexOf('BLOCK'), text, ...rest });
  outbox.decided(customer as CustomerNumber, NOW, new AnswerReader(frame), 0);
  outbox.committed(isWritten);
}

test('A decision becomes one entry with all of its webhooks, and a decision without any leaves no trace', () => {
  const ids = [subscribe(1), subscribe(1)];
  decide(1);
  decide(2);
  expect(entries).toMatchObject([{ sequence: 5, entry: { event: 'BLOCK', createdAtMs: NOW } }]);
  expect(entries[0]?.entry.targets.map(({ webhookId, trigger }) => [webhookId, trigger])).toEqual(
    ids.map((id) => [id, 'decision']),
  );
  expect([outbox.committedUpTo, committed, outbox.waiting]).toEqual([5, 1, 1]);
});

test('Entries are counted until they are stored, and sequences continue after a failed write', () => {
  subscribe(1);
  decide(1);
  decide(1, false);
  decide(1);
  expect(entries.map(({ sequence }) => sequence)).toEqual([5, 6, 7]);
  expect([outbox.committedUpTo, committed]).toEqual([7, 2]);
  outbox.stored(5);
  expect(outbox.waiting).toBe(2);
  outbox.stored(7);
  expect(outbox.waiting).toBe(0);
});

test('An entry without room in the journal is counted as lost, for each webhook', () => {
  subscribe(1);
  subscribe(1);
  mayPublish = false;
  decide(1);
  expect([outbox.lost, entries.length]).toEqual([2, 0]);
});

test('A customer may have half of the entries that wait, and another one half of the rest', () => {
  subscribe(1);
  subscribe(2);
  for (let n = 0; n < OUTBOX_ENTRIES_MAX / 2 + 5; n++) decide(1);
  expect([outbox.waiting, outbox.overflowed]).toEqual([OUTBOX_ENTRIES_MAX / 2, 5]);
  decide(2);
  expect(outbox.waiting).toBe(OUTBOX_ENTRIES_MAX / 2 + 1);
  outbox.stored(4 + 20_000);
  decide(1);
  expect([outbox.waiting, outbox.overflowed]).toEqual([OUTBOX_ENTRIES_MAX / 2 - 20_000 + 2, 5]);
});
