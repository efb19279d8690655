import { defineConfig } from 'vitest/config';
import { OF_SEVERAL_NODES } from './test-files.ts';

/**
 * Tests of several nodes over one store, `npm run test:cluster`; they need `redis-server`. The project `store` has tests of nodes together.
 * The project `contract` has those of a single server, unchanged: `startServer` starts several nodes, and each request of a test goes to
 * the next one. `GATEHOUSE_TEST_NODES` sets their number.
 */
export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    pool: 'forks',
    // Choice: most of them start several processes.
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 15_000 } },
    deps: { interopDefault: false },
    projects: [
      { extends: true, test: { name: 'store', include: [...OF_SEVERAL_NODES], isolate: false } },
      {
        extends: true,
        test: {
          name: 'contract',
          include: ['lists', 'risk-decisions', 'webhooks', 'extractions'].map(
            (name) => `test/contract/${name}.test.ts`,
          ),
          env: { GATEHOUSE_TEST_NODES: process.env['GATEHOUSE_TEST_NODES'] ?? '3' },
        },
      },
    ],
  },
});
