import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { COMPILED, COMPILED_MODULES } from './compiled.ts';
import { keepFoldersInMemory } from './memory-folder.ts';
import { FEW_COLLECTIONS } from './processes.ts';
import { filesWith, OF_SEVERAL_NODES } from './test-files.ts';

const ROOT = new URL('..', import.meta.url).pathname;
/** Tests of other configurations: those in a browser, those with real software, and the long tests. */
const ELSEWHERE = ['test/browser/**', 'test/real/**', 'test/**/*.long.test.ts'];

/** Seconds that a file takes, beside others, on two processors. */
type Seconds = Readonly<Record<string, number>>;

/** Files that mostly wait for timers, servers and processes. */
const WAITING: Seconds = {
  'test/contract/webhooks': 46,
  'test/degrade/policy-file': 22,
  'test/http/gate': 19,
  'test/http/webhooks/retry': 18,
  'test/unit/http/handshakes': 14,
  'test/http/registry/promotion': 14,
  'test/degrade/workers': 14,
  'test/unit/extract/extraction-thread': 13,
  'test/unit/egress/guarded-client': 11,
  'test/contract/outcomes': 9,
  'test/unit/webhooks/dispatcher': 9,
  'test/http/dashboard/sign-in': 8,
  'test/unit/egress/hostile': 7,
  'test/contract/extractions': 7,
  'test/unit/egress/name-lookup': 6,
  'test/http/lists/candidates': 6,
};
/** Other files that take long. */
const LONG: Seconds = {
  'test/contract/crowds': 17,
  'test/contract/extraction-delivery': 16,
  'test/degrade/start': 15,
  'test/degrade/memory': 15,
  'test/contract/process': 15,
  'test/degrade/store-damage': 10,
  'test/http/dashboard/settings': 10,
  'test/conformance/connectors.test': 9,
  'test/unit/extract/read/hostile': 9,
  'test/contract/roles': 9,
  'test/http/collector/browsers': 9,
  'test/unit/velocity/shares': 9,
  'test/unit/extract/fetch/guarded-source': 8,
  'test/unit/state/repair/ensure-usable': 8,
  'test/unit/cli/cli': 8,
  'test/contract/restore': 7,
  'test/unit/state/format-versions': 7,
  'test/unit/bench/detect': 5,
};
const SECONDS_OF_OTHERS = 1;
const SECONDS = Object.entries({ ...WAITING, ...LONG });

/**
 * Spreads the files that wait evenly over the run, so that processes compute while others wait. The longest files of each kind come first,
 * so that none of them runs alone at the end.
 */
class Woven extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const among = (list: Seconds): TestSpecification[] =>
      Object.keys(list).flatMap((start) => sorted.filter((file) => pathOf(file).startsWith(start)));
    const waiting = among(WAITING);
    const long = among(LONG);
    // Files with a process of their own run last: each would end the process that the other files share, and the next shared process
    // would have to load everything again.
    const alone = sorted.filter(({ project }) => project.name === 'alone');
    const placed = new Set([...waiting, ...long, ...alone]);
    const others = sorted.filter((file) => !placed.has(file));
    return [...weave(waiting, long, others), ...alone];
  }
}

/** Merges sequences of files so that equal shares of the time of each are done at any moment. */
function weave(...sequences: readonly (readonly TestSpecification[])[]): TestSpecification[] {
  const placed = sequences.flatMap((files) => {
    const totalSeconds = files.reduce((sum, file) => sum + secondsOf(file), 0);
    let seconds = 0;
    return files.map((file) => {
      const share = seconds / totalSeconds;
      seconds += secondsOf(file);
      return { file, share };
    });
  });
  return placed.sort((a, b) => a.share - b.share).map(({ file }) => file);
}

function pathOf({ moduleId }: TestSpecification): string {
  return moduleId.slice(ROOT.length);
}

function secondsOf(file: TestSpecification): number {
  const path = pathOf(file);
  return SECONDS.find(([start]) => path.startsWith(start))?.[1] ?? SECONDS_OF_OTHERS;
}

/** Files that replace modules by mocks. */
const MOCKING = filesWith(/vi\.mock\(/);

keepFoldersInMemory();

export default defineConfig({
  test: {
    root: ROOT,
    pool: 'forks',
    execArgv: FEW_COLLECTIONS,
    // Choice: half of the files wait most of the time.
    maxWorkers: availableParallelism() + 2,
    // Choice: no test takes a tenth of this; the limits distinguish a hang from a busy machine.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Choice: the default of one second can pass on a machine with other work.
    expect: { poll: { timeout: 15_000 } },
    // As in Node.js; otherwise each use of an export of a package or a built-in module goes through a proxy.
    deps: { interopDefault: false },
    sequence: { sequencer: Woven },
    projects: [
      {
        extends: true,
        ...COMPILED,
        test: {
          name: 'shared',
          server: COMPILED_MODULES,
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
