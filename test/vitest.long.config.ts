import { defineConfig } from 'vitest/config';
import { longTests } from './projects.ts';

/**
 * The long tests, `npm run test:long`: files that `npm test` omits, and those that use `support/long.ts` to run more rounds here. With
 * `GATEHOUSE_TEST_LONG=short` only the former.
 */
const length = process.env['GATEHOUSE_TEST_LONG'] ?? 'full';
if (length !== 'full' && length !== 'short') throw new Error('GATEHOUSE_TEST_LONG must be full or short');

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    ...longTests(length),
    pool: 'forks',
    // Choice: they start servers and load them, so running more at once would only take longer.
    maxWorkers: 2,
    expect: { poll: { timeout: 15_000 } },
  },
});
