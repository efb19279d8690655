import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { truncateSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ensureUsable } from '../../../src/state/repair/ensure-usable.ts';
import { acquireServerLock } from '../../../src/state/repair/server-lock.ts';
import { IS_FULL } from '../../support/long.ts';
import { customer, hashOf, open, tempFolder } from './support.ts';

const DIST = new URL('../../../dist/src/state/', import.meta.url).href;

/** Runs the text of a module in a separate process, which is killed after the test at the latest. */
function run(text: string): ChildProcess {
  const child = spawn(process.execPath, ['--input-type=module', '-e', text], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('no output');
  for await (const line of createInterface(child.stdout)) return line;
  return '';
}

describe('SIGKILL of a writing process', () => {
  test('A SIGKILL of a writing process loses no acknowledged write', async () => {
    const dataDir = tempFolder();
    await ensureUsable({ dataDir, simulated: false, repair: true, nowMs: 1 });
    let acknowledged = 0;
    for (let round = 0; round < (IS_FULL ? 5 : 2); round++) {
      const child = run(`
        import { openStore } from '${DIST}feed/open-store.js';
        import { writeSync } from 'node:fs';
        const { store } = openStore({ dataDir: ${JSON.stringify(dataDir)}, readOnly: false });
        for (let i = ${acknowledged}; ; i++) {
          const fingerprintHash = i.toString(16).padStart(64, '0');
          const entry = { fingerprintHash, action: 'block', note: null, expiresAtSeconds: null };
          const put = await store.changes.commit({ kind: 'list.put', customer: 1, entry }, { by: 'service', nowMs: 1000 });
          if (put.kind === 'ok') writeSync(1, i + '\\n');
        }`);
      if (child.stdout === null) throw new Error('no output');
      let lines = 0;
      for await (const line of createInterface(child.stdout)) {
        acknowledged = Number(line) + 1;
        if (++lines === 40 + round * 17) child.kill('SIGKILL');
      }
      await kill(child);
      expect(await ensureUsable({ dataDir, simulated: false, repair: true, nowMs: 1 })).toMatchObject({
        kind: 'ok',
        notices: [],
      });
      const store = open(dataDir);
      for (let i = 0; i < acknowledged; i++) expect(store.lists.find(customer(1), hashOf(i), 1)).toBe('block');
      await store.close();
    }
    expect(acknowledged).toBeGreaterThan(IS_FULL ? 300 : 80);
  });
});

const holder = (dataDir: string): string => `
    import { acquireServerLock } from '${DIST}repair/server-lock.js';
    const result = await acquireServerLock(${JSON.stringify(dataDir)}, 0);
    console.log(result.kind === 'ok' ? 'ok' : result.code);
    if (result.kind === 'ok') setInterval(() => {}, 1000);`;

describe('the server’s lock', () => {
  test('The server lock is held by one process at a time and is free after its SIGKILL', async () => {
    const dataDir = tempFolder();
    const child = run(holder(dataDir));
    expect(await firstLine(child)).toBe('ok');
    const refused = await acquireServerLock(dataDir, 0);
    expect(refused).toMatchObject({ kind: 'fault', code: 'data_dir_in_use' });
    expect(refused.kind === 'fault' && refused.detail).toContain(String(child.pid));
    const waiting = acquireServerLock(dataDir, 10_000);
    await kill(child);
    const taken = await waiting;
    expect(taken.kind).toBe('ok');
    expect(await acquireServerLock(dataDir, 0)).toMatchObject({ kind: 'fault', code: 'data_dir_in_use' });
    expect(await firstLine(run(holder(dataDir)))).toBe('data_dir_in_use');
    if (taken.kind === 'ok') await taken.lock.release();
    expect(await firstLine(run(holder(dataDir)))).toBe('ok');
  });

  test('Of many processes that try concurrently, exactly one gets the server lock', async () => {
    const dataDir = tempFolder();
    const answers = await Promise.all(Array.from({ length: 8 }, () => firstLine(run(holder(dataDir)))));
    expect(answers.filter((answer) => answer === 'ok')).toHaveLength(1);
    expect(answers.filter((answer) => answer === 'data_dir_in_use')).toHaveLength(7);
  });

  test.each([0, 4096])('The server lock can be acquired if its file was truncated to %i bytes', async (bytes) => {
    const dataDir = tempFolder();
    const first = await acquireServerLock(dataDir, 0);
    if (first.kind === 'ok') await first.lock.release();
    truncateSync(join(dataDir, 'server.lock'), bytes);
    const again = await acquireServerLock(dataDir, 0);
    expect(again.kind).toBe('ok');
    if (again.kind === 'ok') await again.lock.release();
  });
});
