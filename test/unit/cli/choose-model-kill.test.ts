import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readSlot, type SlotOutcome } from '../../../src/assets/model-slots.ts';
import { writeSlot } from '../../../src/app/model-choice.ts';

const BUILT = new URL('../../../dist/src/app/model-choice.js', import.meta.url).href;
const BEFORE = { id: 'before', sinceMs: 1_000_000, previous: null } as const;
const AFTER = { id: 'after', sinceMs: 2_000_000, previous: 'before' } as const;

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-choose-'));
  writeSlot(folder, 'model', BEFORE);
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** Replaces the choice in a process that is killed at its nth call of the file system; a write is then half done. */
function promoteKilledAt(call: number): NodeJS.Signals | null {
  const script = `
    import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    let calls = 0;
    const half = (value) => (typeof value === 'string' ? value.slice(0, value.length >> 1) : value);
    const { writeSlot } = await import(${JSON.stringify(BUILT)});
    for (const name of ['openSync', 'writeSync', 'writeFileSync', 'fsyncSync', 'closeSync', 'renameSync']) {
      const real = fs[name];
      fs[name] = (first, second, ...rest) => {
        if (++calls !== ${call}) return real(first, second, ...rest);
        if (name === 'writeSync' || name === 'writeFileSync') real(first, half(second), ...rest);
        process.kill(process.pid, 'SIGKILL');
      };
    }
    syncBuiltinESMExports();
    writeSlot(${JSON.stringify(folder)}, 'model', ${JSON.stringify(AFTER)});`;
  return spawnSync(process.execPath, ['--input-type=module', '-e', script]).signal;
}

describe('writeSlot', () => {
  test('A process killed at any step leaves the old choice or the new one whole', async () => {
    const left: SlotOutcome[] = [];
    let signal: NodeJS.Signals | null = 'SIGKILL';
    for (let call = 1; signal !== null; call++) {
      writeSlot(folder, 'model', BEFORE);
      signal = promoteKilledAt(call);
      left.push(await readSlot(folder, 'model'));
    }
    const [old, chosen] = [BEFORE, AFTER].map((choice) => ({ kind: 'chosen', ...choice }));
    // The rename is the fifth call; the last process ran to its end.
    expect(left).toEqual([old, old, old, old, old, chosen, chosen, chosen, chosen]);
  }, 60_000);
});
