import { expect, test } from 'vitest';
import { HAS_REDIS } from '../support/redis.ts';
import { proxiedSystem, RATE, withinTime } from '../support/store-faults.ts';

/** The shared store does not answer, or answers late: see `store-faults.ts`. */

test.skipIf(!HAS_REDIS)(
  'A store in a black hole delays decisions by at most its deadline, and they report it',
  async () => {
    const { proxy, system } = await proxiedSystem();
    const during = await withinTime(system, {
      begin: () => proxy.set('hole'),
      end: () => proxy.set('open'),
      noticedBy: 'cluster',
    });
    expect(during.degraded).toBeGreaterThan(RATE);
  },
);

test.skipIf(!HAS_REDIS)(
  'A store that answers 500 ms late delays decisions by at most its deadline, and they report it',
  async () => {
    const { proxy, system } = await proxiedSystem();
    const during = await withinTime(system, {
      begin: () => proxy.set(500),
      end: () => proxy.set('open'),
      noticedBy: 'cluster',
    });
    expect(during.degraded).toBeGreaterThan(RATE);
  },
);

test.skipIf(!HAS_REDIS)('A paused store delays decisions by at most its deadline, and they report it', async () => {
  const { redis, system } = await proxiedSystem();
  const during = await withinTime(system, {
    begin: () => redis.pause(),
    end: () => redis.resume(),
    noticedBy: 'cluster',
  });
  expect(during.degraded).toBeGreaterThan(RATE);
});
