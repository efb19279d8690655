import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { OF_SEVERAL_NODES } from './test-files.ts';

/** Projects that more than one configuration of vitest runs. */

const ROOT = new URL('..', import.meta.url).pathname;

/** Tests of several nodes over one store. */
export const STORE = { name: 'store', include: [...OF_SEVERAL_NODES], isolate: false };

/**
 * Tests of a single server, unchanged: `startServer` starts several nodes, and each request of a test goes to the next one.
 * `GATEHOUSE_TEST_NODES` sets their number. Choice: with two each request follows one at another node; three are in the tests of several
 * nodes.
 */
export const CONTRACT = {
  name: 'contract',
  include: ['lists', 'risk-decisions', 'webhooks', 'extractions'].map((name) => `test/contract/${name}.test.ts`),
  env: { GATEHOUSE_TEST_NODES: process.env['GATEHOUSE_TEST_NODES'] ?? '2' },
};

export type Length = 'full' | 'short';

/** Files that run more rounds in the long tests. */
function scaledFiles(): readonly string[] {
  return readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .map((name) => join('test', name))
    .filter((path) => path.endsWith('.test.ts') && readFileSync(join(ROOT, path), 'utf8').includes('support/long.ts'));
}

/**
 * Files that `npm test` omits and, in full length, those that use `support/long.ts` to run more rounds. The short form omits the check of
 * performance, which `.ci/run` itself runs.
 */
export function longTests(length: Length) {
  return {
    name: 'long',
    include: ['test/**/*.long.test.ts', ...(length === 'full' ? scaledFiles() : [])],
    exclude: length === 'full' ? [] : ['test/unit/bench/check.long.test.ts'],
    env: { GATEHOUSE_TEST_LONG: length },
    testTimeout: 600_000,
    hookTimeout: 600_000,
  };
}
