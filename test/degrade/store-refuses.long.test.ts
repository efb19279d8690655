import { expect, test } from 'vitest';
import { HAS_REDIS } from '../support/redis.ts';
import { FAULTY, proxiedSystem, RATE, withinTime } from '../support/store-faults.ts';
import { eventually } from '../support/webhooks.ts';

/** The shared store answers with errors: see `store-faults.ts`. */

test.skipIf(!HAS_REDIS)('A store out of memory delays no decision, and they report it', async () => {
  const { redis, system } = await proxiedSystem();
  const during = await withinTime(system, {
    begin: () => redis.configure('maxmemory', '1'),
    end: () => redis.configure('maxmemory', '0'),
    noticedBy: 'cluster',
  });
  expect(during.degraded).toBeGreaterThan(RATE);
});

test.skipIf(!HAS_REDIS)(
  'Functions and scripts that the store loses are loaded again, and delay no decision',
  async () => {
    const { redis, system } = await proxiedSystem();
    const loaded = async (): Promise<boolean> =>
      JSON.stringify(await redis.command('FUNCTION', 'LIST')).includes('gh_');
    const during = await withinTime(system, {
      async begin() {
        expect(await loaded()).toBe(true);
        await redis.command('FUNCTION', 'FLUSH');
        await redis.command('SCRIPT', 'FLUSH');
      },
      end: () => eventually('the functions in the store', async () => ((await loaded()) ? true : null)),
      noticedBy: null,
    });
    expect(during.accepted.length).toBe(FAULTY.perSecond * FAULTY.seconds);
  },
);
