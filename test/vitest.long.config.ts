import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/**
 * The long tests, `npm run test:long`: files that `npm test` omits, and those that use `support/long.ts` to run more rounds here. With
 * `GATEHOUSE_TEST_LONG=short`, as in `.ci/run`, only the former, without the check of performance, which `.ci/run` itself runs.
 */
const ROOT = new URL('..', import.meta.url).pathname;
const length = process.env['GATEHOUSE_TEST_LONG'] ?? 'full';
if (length !== 'full' && length !== 'short') throw new Error('GATEHOUSE_TEST_LONG must be full or short');

const SCALED = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
  .map((name) => join('test', name))
  .filter((path) => path.endsWith('.test.ts') && readFileSync(join(ROOT, path), 'utf8').includes('support/long.ts'));

export default defineConfig({
  test: {
    root: ROOT,
    include: ['test/**/*.long.test.ts', ...(length === 'full' ? SCALED : [])],
    exclude: length === 'full' ? [] : ['test/unit/bench/check.long.test.ts'],
    pool: 'forks',
    env: { GATEHOUSE_TEST_LONG: length },
    // Choice: they start servers and load them, so running more at once would only take longer.
    maxWorkers: 2,
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 15_000 } },
  },
});
