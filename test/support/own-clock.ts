import { AsyncLocalStorage } from 'node:async_hooks';
import { onTestFinished, vi } from 'vitest';

/** Runs `part` and all that it starts with a clock that is `aheadMs` ahead of that of this process, until the test ends. */
export function withOwnClock<T>(aheadMs: number, part: () => T): T {
  const ahead = new AsyncLocalStorage<number>();
  const now = Date.now;
  const spy = vi.spyOn(Date, 'now').mockImplementation(() => now() + (ahead.getStore() ?? 0));
  onTestFinished(() => spy.mockRestore());
  return ahead.run(aheadMs, part);
}
