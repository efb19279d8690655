import { defineConfig } from 'vitest/config';

/** Tests with real software; `scripts/real-software.sh` starts it and runs them. */
export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/real/**/*.test.ts'],
    pool: 'forks',
    // Each software is served by a single process, and some tests read all of its content.
    fileParallelism: false,
    testTimeout: 120_000,
  },
});
