import { expect, test, vi } from 'vitest';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import type { DeliveryId } from '../../../src/work/webhook.ts';
import { ResultWriter, resultOf } from '../../../src/webhooks/attempt-writer.ts';
import type { DeliveryUpdate } from '../../../src/state/tables/deliveries/row.ts';

test('A result that the store refused is retried with the same attempt number', async () => {
  vi.useFakeTimers();
  const told: (readonly DeliveryUpdate[])[] = [];
  let applied = 0;
  const writer = new ResultWriter({
    deliveries: {
      apply: (updates) => {
        told.push(updates);
        if (told.length > 2) return Promise.resolve({ kind: 'ok', value: null });
        return Promise.resolve({ kind: 'fault', code: 'store_write_failed', detail: 'no' });
      },
    },
    onApplied: (arrived) => (applied += arrived.length),
    onFault: () => {},
  });
  const attempt = { attempt: 1, startedAtMs: 1, durationMs: 2, statusCode: 500, error: 'http_status' } as const;
  const outcome = { kind: 'waiting', nextAttemptAtMs: 5 } as const;
  const result = { deliveryId: 'dlv_1', endpointId: 'wh_1', attempt, outcome, elapsedMs: 2, completedAtMs: 3 };
  const rest = { trigger: 'decision', requestId: 'req_1', createdAtMs: 0, attempts: 1 } as const;
  writer.add([resultOf({ result, delivery: { customer: 7 as CustomerNumber, id: 'dlv_1' as DeliveryId, ...rest } })]);
  await vi.runAllTimersAsync();
  vi.useRealTimers();
  expect(applied).toBe(1);
  expect(told.map(([update]) => update?.attempt?.attempt)).toEqual([2, 2, 2]);
});
