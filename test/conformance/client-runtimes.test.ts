import { spawn, spawnSync } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { KEY, startDouble, type DoubleServer } from '../support/service-double.ts';

/**
 * The bundled client on each runtime. Set GATEHOUSE_RUNTIMES to a folder in which `npm install bun deno node-22@npm:node@22
 * node-24@npm:node@24` was run to run it on those.
 */

const PROGRAM = fileURLToPath(new URL('client-runtime.mjs', import.meta.url));
const ENTRY = new URL('../../src/client/dist/index.mjs', import.meta.url).href;
const folder = process.env['GATEHOUSE_RUNTIMES'];
const inFolder = (path: string, fallback: string): string =>
  folder === undefined ? fallback : `${folder}/node_modules/${path}`;
const RUNTIMES: readonly (readonly [string, string, readonly string[]])[] = [
  ['this Node.js', process.execPath, []],
  ['Node.js 22', inFolder('node-22/bin/node', 'node22'), []],
  ['Node.js 24', inFolder('node-24/bin/node', 'node24'), []],
  ['Bun', inFolder('.bin/bun', 'bun'), []],
  ['Deno', inFolder('.bin/deno', 'deno'), ['run', '--allow-net', '--allow-read']],
];

let double: DoubleServer;
beforeAll(async () => {
  double = await startDouble();
});
afterAll(() => double.close());

for (const [name, program, options] of RUNTIMES) {
  const found = spawnSync(program, ['--version'], { encoding: 'utf8' });
  if (found.status !== 0) console.warn(`SKIPPED: ${name} is not installed, so the client was not run on it`);

  test.skipIf(found.status !== 0)(`On ${name} the client decides, fails open and verifies webhooks`, async () => {
    double.forget();
    const child = spawn(program, [...options, PROGRAM, double.url, ENTRY]);
    const [out, log] = await Promise.all([text(child.stdout), text(child.stderr)]);
    expect(log).toBe('');
    expect(JSON.parse(out)).toEqual({
      good: ['ALLOW_WATCH', false],
      'closed-once': ['ALLOW_WATCH', false],
      'bad-gateway-once': ['ALLOW_WATCH', false],
      clock: ['ALLOW_WATCH', false],
      silent: ['ALLOW', 'timeout'],
      drip: ['ALLOW', 'timeout'],
      closed: ['ALLOW', 'unreachable'],
      broken: ['ALLOW', 'server_error'],
      overloaded: ['ALLOW', 'overloaded'],
      'http://127.0.0.1:9': ['SOFT_CHALLENGE', 'unreachable'],
      forbidden: [403, 'key_not_allowed'],
      challenge: { kind: 'passed', account: 'anna' },
      address: '81.2.69.160',
      webhook: ['verified', 'signature_mismatch'],
    });
    expect(double.decides.every(({ isSigned, email }) => isSigned && email === 'zoë 🍵@example.com')).toBe(true);
    const sent = { outcomes: [{ request_id: 'req_double', outcome: 'challenge_passed' }] };
    expect(double.outcomes).toEqual([{ authorization: `Bearer ${KEY}`, body: sent }]);
  });
}
