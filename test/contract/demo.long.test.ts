import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const DEMO = fileURLToPath(new URL('../../dist/scripts/demo.js', import.meta.url));

async function reportOfOneRun(): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [DEMO, '--json'], { maxBuffer: 16_777_216 });
  return stdout;
}

test('Two runs of the demo print the same report', async () => {
  const first = await reportOfOneRun();
  expect(JSON.parse(first)).toMatchObject({ days: 3 });
  expect(await reportOfOneRun()).toBe(first);
});
