import { defineConfig } from 'vitest/config';

/**
 * Contract tests on several nodes, `npm run test:cluster`: `startServer` starts them over one Redis, and each request of a test goes to the
 * next node. The tests are those of a single server, unchanged. `GATEHOUSE_TEST_NODES` sets the number of nodes.
 */
export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['lists', 'risk-decisions', 'webhooks', 'extractions'].map((name) => `test/contract/${name}.test.ts`),
    pool: 'forks',
    env: { GATEHOUSE_TEST_NODES: process.env['GATEHOUSE_TEST_NODES'] ?? '3' },
    // Choice: four processes for each file.
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 15_000 } },
  },
});
