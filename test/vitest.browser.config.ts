import { defineConfig } from 'vitest/config';
import { longestFirst } from './longest-first.ts';
import { keepFoldersInMemory } from './memory-folder.ts';

/** Files that compare times: `.ci/run` runs them with nothing beside them. */
const TIMED = ['forms', 'rhythm', 'speed', 'tokens'].map((name) => `test/browser/collector-${name}.test.ts`);

const LONGEST = [
  'test/browser/dashboard/states',
  'test/browser/collector-rhythm',
  'test/browser/collector-speed',
  'test/browser/dashboard/webhooks-page',
  'test/browser/dashboard/rules-page',
  'test/browser/collector-fingerprint',
  'test/browser/collector-automation',
];

keepFoldersInMemory();

/** Tests in a real Chromium, `npm run test:browser`: Debian's package `chromium`, or the one that `GATEHOUSE_CHROMIUM` names. */
export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    pool: 'forks',
    // Two processes run all files, so that these share two browsers and the servers of `shared-server.ts`.
    isolate: false,
    maxWorkers: 2,
    deps: { interopDefault: false },
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 15_000 } },
    sequence: { sequencer: longestFirst(LONGEST) },
    projects: [
      { extends: true, test: { name: 'pages', include: ['test/browser/**/*.test.ts'], exclude: TIMED } },
      { extends: true, test: { name: 'timed', include: TIMED, sequence: { groupOrder: 1 } } },
    ],
  },
});
