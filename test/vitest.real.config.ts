import { defineConfig } from 'vitest/config';

/** Tests against real software, which `scripts/real-software.sh` starts; it runs them. */
export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/real/**/*.test.ts'],
    pool: 'forks',
    // The software is served by one process each, and some of these read all that it has.
    fileParallelism: false,
    testTimeout: 120_000,
  },
});
