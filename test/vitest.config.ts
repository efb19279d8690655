import { accessSync, constants, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const ROOT = new URL('..', import.meta.url).pathname;
/** Tests of other configurations: with real software, and in their long form. */
const ELSEWHERE = ['test/real/**', 'test/**/*.long.test.ts'];

/**
 * The longest files go first, so that none of them runs alone in the end. Most of them wait, for servers, processes and time that has
 * to pass; between them stand those that compute longest and fill the time that the others wait.
 */
const LONGEST = [
  'test/degrade/extraction-sources',
  'test/contract/webhooks',
  'test/degrade/webhooks.test',
  'test/unit/velocity/shares',
  'test/contract/demo',
  'test/contract/process',
  'test/unit/bench/detect',
  'test/contract/webhook-durability',
  'test/degrade/policy-file',
  'test/conformance/connectors.test',
  'test/contract/extraction-delivery',
  'test/contract/extraction-durability',
  'test/http/registry/promotion',
  'test/contract/crowds',
  'test/unit/store/ensure-usable',
  'test/degrade/memory',
  'test/degrade/start',
  'test/degrade/workers',
  'test/unit/cli/cli',
  'test/unit/extract/read/hostile',
];
/** The rest of those that mostly wait. */
const WAITING = [
  'test/contract/',
  'test/degrade/',
  'test/http/',
  'test/unit/bench/',
  'test/unit/cli/',
  'test/unit/store/processes',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => placeOf(a) - placeOf(b));
  }
}

function placeOf({ moduleId, project }: TestSpecification): number {
  // A process that runs many files ends where the next file wants one of its own, and another has to load everything again.
  if (project.name === 'alone') return Number.MAX_SAFE_INTEGER;
  const path = moduleId.slice(ROOT.length);
  const among = (list: readonly string[]): number => list.findIndex((start) => path.startsWith(start));
  if (among(LONGEST) >= 0) return among(LONGEST);
  return LONGEST.length + (among(WAITING) >= 0 ? 0 : 1);
}

/** Files that put other modules in the place of real ones. */
const MOCKING = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
  .map((name) => join('test', name))
  .filter((path) => path.endsWith('.test.ts') && readFileSync(join(ROOT, path), 'utf8').includes('vi.mock('));

const MEMORY_FOLDER = '/dev/shm';
/** Choice: several times what the folders of all tests that run at once hold. */
const MEMORY_BYTES_MIN = 4 * 2 ** 30;

/**
 * Lets the folders of tests lie in memory where there is room: they write 5 GB, and wait for a disk at each commit. What is killed
 * in tests are processes, whose writes outlive them on either.
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
    // Choice: nothing takes a tenth of it; they tell what never ends from a machine that does other things too.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Choice: a second, which is the default, passes on a machine that has more to do than tests.
    expect: { poll: { timeout: 15_000 } },
    // As Node does it; otherwise each use of something that a package or Node's own module exports goes through a proxy.
    deps: { interopDefault: false },
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'shared',
          include: ['test/**/*.test.ts'],
          exclude: [...ELSEWHERE, ...MOCKING],
          // One process runs many files and loads what they test once: half of the time of small files is loading.
          isolate: false,
        },
      },
      { extends: true, test: { name: 'alone', include: MOCKING, isolate: true } },
    ],
  },
});
