import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';

const MODULE = fileURLToPath(new URL('../../../dist/src/app/watchdog.js', import.meta.url));

let child: ChildProcess | null = null;
afterEach(() => {
  child?.kill('SIGKILL');
});

/** Starts a process whose watchdog needs 5 observations of 100 ms, and which does this once it has turned for a while. */
function start(then: string): { readonly process: ChildProcess; readonly output: () => string } {
  const program = `
    import { open } from 'node:inspector';
    import { startWatchdog } from ${JSON.stringify(MODULE)};
    startWatchdog(true, 5, 100);
    setInterval(() => {}, 1_000);
    setTimeout(() => { console.log('up'); ${then} }, 1_000);`;
  const started = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  child = started;
  let output = '';
  started.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  return { process: started, output: () => output };
}

async function untilUp({ output }: ReturnType<typeof start>): Promise<void> {
  while (!output().includes('up')) await wait(20);
}

describe('watchdog of the main thread', () => {
  test.each([
    ['computes without end', 'for (;;);'],
    ['waits without end', 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);'],
  ])('A main thread that %s ends by SIGALRM, with a line in the log', async (_name, then) => {
    const started = start(then);
    const [code, signal] = (await once(started.process, 'close')) as [number | null, string | null];
    expect([code, signal]).toEqual([null, 'SIGALRM']);
    const line: unknown = JSON.parse(started.output().split('\n').at(-2) ?? '');
    expect(line).toMatchObject({ level: 'fatal', msg: expect.stringMatching(/^the main thread is stuck/) as string });
  });

  test('A process that was stopped for longer goes on', async () => {
    const started = start('');
    await untilUp(started);
    started.process.kill('SIGSTOP');
    await wait(2_000);
    started.process.kill('SIGCONT');
    await wait(1_500);
    expect([started.process.exitCode, started.process.signalCode]).toEqual([null, null]);
  });

  test('A main thread that a debugger may have paused goes on', async () => {
    const started = start('open(0, "127.0.0.1"); setTimeout(() => { for (;;); }, 300);');
    await untilUp(started);
    await wait(2_500);
    expect([started.process.exitCode, started.process.signalCode]).toEqual([null, null]);
  });
});
