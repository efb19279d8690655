import { defineConfig } from 'vitest/config';

/** Tests in a real Chromium, `npm run test:browser`: Debian's package `chromium`, or the one that `GATEHOUSE_CHROMIUM` names. */
export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/browser/**/*.test.ts'],
    pool: 'forks',
    // Choice: each file starts a browser and a server; more at once would only take longer.
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 15_000 } },
  },
});
