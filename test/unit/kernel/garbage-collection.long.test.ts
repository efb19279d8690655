import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

const MODULE = new URL('../../../dist/src/kernel/garbage-collection.js', import.meta.url).href;

/** Survivors of each young collection, enough of them to be divided among threads. */
const COPY_MUCH = `
  let live = Array.from({ length: 50_000 }, (_, i) => ({ i }));
  for (let n = 0; n < 20; n++) live = live.map(({ i }) => ({ i: i + 1 }));`;

/** Returns the milliseconds that helper threads spent in each young collection of a process that runs this code. */
function helpersMs(code: string): readonly number[] {
  const words = ['--trace-gc-nvp', '--max-semi-space-size=8', '--input-type=module', '--eval', code];
  const said = execFileSync(process.execPath, words, { encoding: 'latin1', maxBuffer: 16_777_216 });
  return [...said.matchAll(/background\.scavenge\.parallel=([\d.]+)/g)].map(([, ms]) => Number(ms));
}

test('Young collections wait for no other thread once collections are done alone', () => {
  const usual = helpersMs(COPY_MUCH);
  const alone = helpersMs(`
    const { collectGarbageAlone } = await import(${JSON.stringify(MODULE)});
    collectGarbageAlone();
    ${COPY_MUCH}`);
  expect(Math.max(...usual)).toBeGreaterThan(0);
  expect(alone.length).toBeGreaterThan(5);
  expect(Math.max(...alone)).toBe(0);
});

/** Returns how many helper threads mark the heap of a thread, some 100 MB, that starts after `before` has run. */
function markedBy(before: string): number {
  const thread = `
    const rows = () => Array.from({ length: 50_000 }, (_, i) => ({ i }));
    const live = Array.from({ length: 60 }, rows);
    setTimeout(() => { for (let n = 0; n < 60; n++) live[n] = rows(); }, 1);`;
  const code = `
    import { Worker } from 'node:worker_threads';
    ${before}
    new Worker(${JSON.stringify(thread)}, { eval: true });`;
  const words = ['--trace-concurrent-marking', '--input-type=module', '--eval', code];
  const said = execFileSync(process.execPath, words, { encoding: 'latin1', maxBuffer: 16_777_216 });
  const tasks = [...said.matchAll(/Starting major concurrent marking task (\d+)/g)].map(([, task]) => Number(task));
  return Math.max(0, ...tasks);
}

test('The heap of a thread that starts later is marked by one helper thread instead of several', () => {
  expect(markedBy('')).toBeGreaterThan(1);
  const collectAlone = `(await import(${JSON.stringify(MODULE)})).collectGarbageAlone();`;
  expect(markedBy(collectAlone)).toBe(1);
});

/** Returns how often V8 decides to put the objects of some code into the old part of the heap. */
function tenuredBy(before: string): number {
  const code = `
    ${before}
    const live = [];
    const make = (i) => ({ i, parts: [i, i + 1] });
    for (let n = 0; n < 600_000; n++) live.push(make(n));`;
  // Compiled at once instead of beside the code, which would have ended before on a busy machine.
  const options = ['--no-concurrent-recompilation', '--max-semi-space-size=2'];
  const words = ['--trace-pretenuring-statistics', ...options, '--input-type=module', '--eval', code];
  const said = execFileSync(process.execPath, words, { encoding: 'latin1', maxBuffer: 16_777_216 });
  return [...said.matchAll(/=> tenure$/gm)].length;
}

test('Objects begin in the young part of the heap, wherever the code that makes them', () => {
  expect(tenuredBy('')).toBeGreaterThan(0);
  expect(tenuredBy(`(await import(${JSON.stringify(MODULE)})).collectGarbageAlone();`)).toBe(0);
});
