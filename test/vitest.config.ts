import { accessSync, constants, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { filesWith, OF_SEVERAL_NODES } from './test-files.ts';

const ROOT = new URL('..', import.meta.url).pathname;
/** Tests of other configurations: those in a browser, those with real software, and the long tests. */
const ELSEWHERE = ['test/browser/**', 'test/real/**', 'test/**/*.long.test.ts'];

/**
 * Runs the longest files first, so that none of them runs alone at the end. Most of them wait for servers, processes and timers; between
 * them are the files that compute longest, which use the time in which the others wait.
 */
const LONGEST = [
  'test/degrade/extraction-sources',
  'test/contract/webhooks',
  'test/contract/process',
  'test/unit/http/handshakes',
  'test/unit/state/ensure-usable',
  'test/unit/state/restore-backup',
  'test/unit/cli/cli',
  'test/contract/extraction-delivery',
  'test/contract/webhook-durability',
  'test/degrade/webhooks.test',
  'test/unit/bench/detect',
  'test/contract/extraction-durability',
  'test/http/registry/promotion',
  'test/http/dashboard/settings',
  'test/degrade/memory',
  'test/unit/velocity/shares',
  'test/degrade/policy-file',
  'test/contract/upgrade',
  'test/conformance/connectors.test',
  'test/http/dashboard/sign-in',
  'test/contract/roles',
  'test/contract/restore',
  'test/contract/crowds',
  'test/degrade/store-damage',
  'test/degrade/start',
  'test/http/collector/browsers',
  'test/unit/state/format-versions',
  'test/contract/readme',
  'test/unit/extract/read/hostile',
  'test/degrade/workers',
  'test/degrade/model-files',
];
/** Other files that mostly wait. */
const WAITING = [
  'test/contract/',
  'test/degrade/',
  'test/http/',
  'test/unit/bench/',
  'test/unit/cli/',
  'test/unit/state/processes',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => placeOf(a) - placeOf(b));
  }
}

function placeOf({ moduleId, project }: TestSpecification): number {
  // Files with a process of their own run last: each would end the process that the other files share, and the next shared process would
  // have to load everything again.
  if (project.name === 'alone') return Number.MAX_SAFE_INTEGER;
  const path = moduleId.slice(ROOT.length);
  const among = (list: readonly string[]): number => list.findIndex((start) => path.startsWith(start));
  if (among(LONGEST) >= 0) return among(LONGEST);
  return LONGEST.length + (among(WAITING) >= 0 ? 0 : 1);
}

/** Files that replace modules by mocks. */
const MOCKING = filesWith(/vi\.mock\(/);

const MEMORY_FOLDER = '/dev/shm';
/** Choice: several times the size of the folders of all concurrent tests. */
const MEMORY_BYTES_MIN = 4 * 2 ** 30;

/**
 * Puts the tests' folders into memory when there is room: they write 5 GB, and on a disk they would wait at each commit. Tests kill only
 * processes, whose writes survive in either location.
 */
function keepFoldersInMemory(): void {
  try {
    accessSync(MEMORY_FOLDER, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER);
    if (bavail * bsize < MEMORY_BYTES_MIN) return;
  } catch {
    return;
  }
  const folder = mkdtempSync(join(MEMORY_FOLDER, 'gatehouse-tests-'));
  process.env['TMPDIR'] = folder;
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
}
keepFoldersInMemory();

export default defineConfig({
  test: {
    root: ROOT,
    pool: 'forks',
    // Choice: half of the files wait most of the time.
    maxWorkers: availableParallelism() + 2,
    // Choice: no test takes a tenth of this; the limits distinguish a hang from a busy machine.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Choice: the default of one second can pass on a machine with other work.
    expect: { poll: { timeout: 15_000 } },
    // As in Node.js; otherwise each use of an export of a package or a built-in module goes through a proxy.
    deps: { interopDefault: false },
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'shared',
          include: ['test/**/*.test.ts'],
          exclude: [...ELSEWHERE, ...OF_SEVERAL_NODES, ...MOCKING],
          // One process runs many files and loads the tested modules once: half of the time of small files is loading.
          isolate: false,
        },
      },
      { extends: true, test: { name: 'alone', include: [...MOCKING], isolate: true } },
    ],
  },
});
