import { defineConfig } from 'vitest/config';

/** Tests in a real Chromium, `npm run test:browser`: Debian's package `chromium`, or the one that `GATEHOUSE_CHROMIUM` names. */
export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/browser/**/*.test.ts'],
    pool: 'forks',
    // Two processes run all files, so that these share two browsers and the servers of `shared-server.ts`.
    isolate: false,
    maxWorkers: 2,
    deps: { interopDefault: false },
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 15_000 } },
  },
});
