import { beforeEach, expect, test } from 'vitest';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import { newId } from '../../../src/kernel/ids.ts';
import { HEALTHY } from '../../../src/work/webhook-health.ts';
import { DECISIONS } from '../../../src/risk/decision.ts';
import type { Delivery, Webhook, WebhookHealth, WebhookId } from '../../../src/work/webhook.ts';
import { Subscribers } from '../../../src/webhooks/due-delivery.ts';
import { FanOut } from '../../../src/webhooks/fan-out.ts';
import {
  SKIPPED_ROWS_PER_CUSTOMER_SECOND_MAX,
  SKIPPED_ROWS_PER_SECOND_MAX,
} from '../../../src/kernel/delivery-limits.ts';
import { AnswerReader, AnswerWriter, createBatchBuffer } from '../../../src/frames/batch-buffer.ts';

const NOW = 1_800_000_000_000;
const UNHEALTHY: WebhookHealth = {
  ...HEALTHY,
  status: 'unhealthy',
  consecutiveFailures: 10,
  cooldownMs: 15_000,
  nextProbeAtMs: NOW + 15_000,
};

let nowMs: number;
let room: boolean;
let mayStage: boolean;
let takes: boolean;
let staged: number[];
let taken: { readonly rows: readonly Delivery[]; readonly sequence: number }[];
let skipped: number;
let lost: number;
let fanOut: FanOut;
let subscribers: Subscribers;
let isWritten: boolean;
let probes: number;

beforeEach(() => {
  [nowMs, room, mayStage, takes, staged, taken, skipped] = [NOW, true, true, true, [], [], 0];
  [lost, isWritten, probes] = [0, true, 0];
  subscribers = new Subscribers();
  fanOut = new FanOut(
    {
      subscribers,
      nowMs: () => nowMs,
      stage: (sequence) => {
        if (mayStage) staged.push(sequence);
        return mayStage;
      },
      take: (rows, sequence) => {
        if (takes) taken.push({ rows, sequence });
        return takes;
      },
      hasRoom: () => room,
      onSkipped: () => skipped++,
      onLost: (count) => (lost += count),
      onProbe: () => probes++,
    },
    4,
  );
});

function subscribe(customer: number, health: WebhookHealth = HEALTHY): Webhook {
  const id = newId('wh', NOW) as WebhookId;
  const times = { createdAtMs: NOW, updatedAtMs: NOW };
  const rest = {
    url: 'https://receiver.test/',
    eventTypes: ['BLOCK'],
    description: null,
    disabled: false,
    ...times,
  } as const;
  const webhook: Webhook = { id, customer: customer as CustomerNumber, ...rest, health };
  subscribers.add(webhook);
  return webhook;
}

function decide(customer: number, times = 1): void {
  const frame = createBatchBuffer();
  for (let i = 0; i < times; i++) {
    const text = `{"request_id":"${newId('req', NOW)}","decision":"BLOCK","score":91,"reasons":[],"latency_ms":`;
    const rest = { flags: 0, score: 91, rulesLow: 0, rulesHigh: 0, record: new Uint8Array(0) };
    new AnswerWriter(frame).write(0, { status: 200, decision: DECISIONS.indexOf('BLOCK'), text, ...rest });
    fanOut.decided(customer as CustomerNumber, NOW, new AnswerReader(frame), 0);
    fanOut.committed(isWritten);
  }
}

test("One customer's skipped decisions do not use up the rows of others", () => {
  subscribe(1, UNHEALTHY);
  subscribe(2, UNHEALTHY);
  decide(1, SKIPPED_ROWS_PER_SECOND_MAX + 10);
  decide(2);
  const rowsOf = (customer: number): number => taken.filter(({ rows }) => rows[0]?.customer === customer).length;
  expect([rowsOf(1), rowsOf(2)]).toEqual([SKIPPED_ROWS_PER_CUSTOMER_SECOND_MAX, 1]);
  expect(fanOut.skippedUnrecorded).toBe(SKIPPED_ROWS_PER_SECOND_MAX + 10 - SKIPPED_ROWS_PER_CUSTOMER_SECOND_MAX);
  expect([skipped, staged]).toEqual([SKIPPED_ROWS_PER_SECOND_MAX + 11, []]);
  nowMs += 1_000;
  decide(1);
  expect(rowsOf(1)).toBe(SKIPPED_ROWS_PER_CUSTOMER_SECOND_MAX + 1);
});

test('A delivery without room is skipped, counted separately, and not journalled', () => {
  subscribe(1);
  room = false;
  decide(1);
  expect([fanOut.overflowed, staged]).toEqual([1, []]);
  expect(taken).toMatchObject([{ rows: [{ status: 'skipped' }], sequence: 0 }]);
});

test('Rows are passed on with the sequence of their journal entry, or 0 if they are in no journal', () => {
  subscribe(1);
  decide(1);
  mayStage = false;
  decide(1);
  expect([staged, taken.map(({ sequence }) => sequence)]).toEqual([[5], [5, 0]]);
});

test('If rows are not accepted, enqueued deliveries are left to the journal and skipped ones are counted', () => {
  subscribe(1);
  subscribe(1, UNHEALTHY);
  takes = false;
  decide(1);
  expect([staged, fanOut.skippedUnrecorded]).toEqual([[5], 1]);
});

test('A delivery that is neither journalled nor accepted is reported as lost', () => {
  subscribe(1);
  subscribe(1);
  [mayStage, takes] = [false, false];
  decide(1);
  expect([lost, fanOut.skippedUnrecorded]).toEqual([2, 0]);
});

test('After a failed journal write nothing is enqueued, and a probe among the decisions is sent with a later one', () => {
  const { id } = subscribe(1, { ...UNHEALTHY, nextProbeAtMs: NOW });
  subscribe(1);
  isWritten = false;
  decide(1);
  expect([taken, probes, lost]).toEqual([[], 0, 0]);
  isWritten = true;
  decide(1);
  const rows = taken.flatMap((one) => one.rows);
  expect(rows.filter((row) => row.endpointId === id)).toMatchObject([{ trigger: 'probe', status: 'pending' }]);
  expect([rows.length, probes]).toEqual([2, 1]);
});

test('A decision that a filter excludes costs nothing but a count', () => {
  const webhook = subscribe(1);
  subscribers.replace({ ...webhook, filter: 'score > 95' });
  decide(1);
  subscribers.replace({ ...webhook, filter: 'country == "DE"' });
  decide(1);
  expect([staged, taken, fanOut.filtered]).toEqual([[], [], { no_match: 1, unknown: 1 }]);
  subscribers.replace({ ...webhook, filter: 'score > 90 && decision == "BLOCK"' });
  decide(1);
  expect([staged, taken.length]).toEqual([[5], 1]);
});

test('A filter that this build cannot read is ignored', () => {
  const webhook = subscribe(1);
  subscribers.replace({ ...webhook, filter: 'fact_of_another_version > 1' });
  decide(1);
  expect(staged).toEqual([5]);
});
