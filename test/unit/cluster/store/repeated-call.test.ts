import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RepeatedCall } from '../../../../src/cluster/store/repeated-call.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Calls of 30 ms, and how many run at once. */
function counted() {
  const calls = { made: 0, running: 0, runningMax: 0 };
  const repeated = new RepeatedCall(100, async () => {
    calls.made++;
    calls.runningMax = Math.max(calls.runningMax, ++calls.running);
    await new Promise((resolve) => setTimeout(resolve, 30));
    calls.running--;
    return calls.made;
  });
  return { calls, repeated };
}

test('Calls are repeated one at a time, with the pause after the end of each', async () => {
  const { calls, repeated } = counted();
  repeated.start();
  await vi.advanceTimersByTimeAsync(99);
  expect(calls.made).toBe(0);
  await vi.advanceTimersByTimeAsync(1 + 130 + 130);
  expect(calls.made).toBe(3);
  void repeated.now();
  await vi.advanceTimersByTimeAsync(200);
  expect(calls).toMatchObject({ runningMax: 1 });
});

test('A call by hand joins the one in progress, or follows it', async () => {
  const { calls, repeated } = counted();
  const all = Promise.all([repeated.now(), repeated.now(), repeated.again()]);
  await vi.advanceTimersByTimeAsync(60);
  expect(await all).toEqual([1, 1, 2]);
  expect(calls.runningMax).toBe(1);
});

test('After the close, which waits for the call in progress, none is made', async () => {
  const { calls, repeated } = counted();
  repeated.start();
  await vi.advanceTimersByTimeAsync(100);
  const closing = repeated.close();
  expect(calls.running).toBe(1);
  await vi.advanceTimersByTimeAsync(30);
  await closing;
  expect([calls.running, repeated.isClosed]).toEqual([0, true]);
  repeated.start();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(calls.made).toBe(1);
});
