import { defineConfig } from 'vitest/config';
import { CONTRACT, STORE } from './projects.ts';

/**
 * Tests of several nodes over one store, `npm run test:cluster`; they need `redis-server`. The project `store` has tests of nodes together,
 * the project `contract` those of a single server over several nodes.
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
      { extends: true, test: STORE },
      { extends: true, test: CONTRACT },
    ],
  },
});
