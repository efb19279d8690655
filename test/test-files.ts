import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Lists of test files for the configurations of vitest. */

const ROOT = new URL('..', import.meta.url).pathname;

/** Returns the test files whose text matches. */
export function filesWith(pattern: RegExp): readonly string[] {
  return readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .map((name) => join('test', name))
    .filter((path) => path.endsWith('.test.ts') && pattern.test(readFileSync(join(ROOT, path), 'utf8')));
}

/** Files of other kinds that also test something over a shared store, if the machine has one. */
const ALSO_ALONE = ['test/http/manage/metrics.test.ts'];

/** Files that start a shared store of several nodes: they need `redis-server`. */
export const OF_SEVERAL_NODES = filesWith(/support\/(redis|cluster|store-links)\.ts/).filter(
  (path) => !path.endsWith('.long.test.ts') && !ALSO_ALONE.includes(path),
);
