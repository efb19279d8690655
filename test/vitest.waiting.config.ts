import { defineConfig } from 'vitest/config';
import { COMPILED, COMPILED_MODULES } from './compiled.ts';
import { longestFirst } from './longest-first.ts';
import { keepFoldersInMemory } from './memory-folder.ts';
import { FEW_COLLECTIONS } from './processes.ts';
import { CONTRACT, longTests, STORE } from './projects.ts';

/**
 * The tests of several nodes and the long tests in their short form, with nothing beside them, as in `.ci/run`: they wait most of the
 * time, for deadlines, failovers and restarts.
 */

const LONGEST = [
  'test/degrade/extraction-sources.long',
  'test/degrade/webhooks.long',
  'test/degrade/webhooks-stopped.long',
  'test/degrade/webhooks-hostile.long',
  'test/contract/demo.long',
  'test/contract/webhook-durability.long',
  'test/contract/extraction-durability.long',
  'test/degrade/cluster-history.long',
  'test/contract/webhooks',
  'test/contract/extractions',
  'test/degrade/store-silent.long',
  'test/degrade/failover-window.long',
  'test/degrade/shared-store',
  'test/degrade/node-killed',
  'test/conformance/ports/change-feed.cluster',
  'test/unit/cluster/feed/faults',
  'test/degrade/all-nodes',
  'test/unit/state/repair/restore-backup.long',
  'test/degrade/model-files.long',
  'test/contract/upgrade.long',
  'test/contract/readme.long',
  'test/unit/cluster/redis-link-cluster',
  'test/unit/scripts/redis',
  'test/unit/cluster/feed/joining',
  'test/unit/cluster/shared-extraction',
  'test/contract/cluster-changes',
  'test/contract/cluster-velocity',
];

keepFoldersInMemory();

export default defineConfig({
  ...COMPILED,
  test: {
    server: COMPILED_MODULES,
    root: new URL('..', import.meta.url).pathname,
    pool: 'forks',
    execArgv: FEW_COLLECTIONS,
    // Measured: four take 276 s on two processors, three 352 s, with the same processor time.
    maxWorkers: 4,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 15_000 } },
    deps: { interopDefault: false },
    sequence: { sequencer: longestFirst(LONGEST, STORE.name) },
    projects: [
      { extends: true, test: STORE },
      { extends: true, test: CONTRACT },
      { extends: true, test: longTests('short') },
    ],
  },
});
