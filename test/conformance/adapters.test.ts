import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sharedServer, type SharedServer } from '../support/shared-server.ts';
import { KEY, startDouble, type DoubleServer } from '../support/service-double.ts';

/**
 * The adapters of examples/adapters in a small host each: the framework itself where it is installed, else stubs with its names. Set
 * GATEHOUSE_BETTER_AUTH to a folder in which `npm install better-auth` was run to run that plugin.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const isThere = (program: string, ...args: readonly string[]): boolean => spawnSync(program, args).status === 0;

const JAVA_COMPILER = 'javac';

let folder = '';
let server: SharedServer;
let double: DoubleServer;
beforeAll(async () => {
  [server, double] = await Promise.all([sharedServer(), startDouble()]);
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-adapters-'));
  for (const from of ['examples/adapters', 'examples/languages', 'test/conformance/adapters'])
    cpSync(join(ROOT, from), folder, { recursive: true });
});
afterAll(() => {
  double.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => double.forget());

async function run(program: string, ...args: readonly string[]): Promise<readonly string[]> {
  const child = spawn(program, args, { cwd: folder });
  const [out, log, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  expect({ status: status as number, log: status === 0 ? '' : log }).toEqual({ status: 0, log: '' });
  return out.split('\n').filter((line) => line !== '' && !line.startsWith('gatehouse: '));
}

const at = (behaviour: string, mode: string, end: string): string => `${double.url}/${behaviour}|${KEY}|${mode}|${end}`;
const outcomes = (): readonly string[] =>
  double.outcomes
    .flatMap(({ body }) => (body as { readonly outcomes?: readonly object[] }).outcomes ?? [body])
    .map((sent) => (sent as { readonly outcome: string }).outcome)
    .sort();

/** Writes the stubs that javac needs, and compiles the adapters with them. */
function compileJava(): void {
  for (const line of readFileSync(join(folder, 'java-stubs.txt'), 'utf8').trim().split('\n')) {
    const [, name = '', code = ''] = /^(\S+) (.*)$/.exec(line) ?? [];
    const file = join(folder, name.replaceAll('.', '/'), `${/(?:class|interface|enum) (\w+)/.exec(code)?.[1]}.java`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `package ${name};\n${code}\n`);
  }
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.java') && name !== 'Driver.java',
  );
  const { status, stderr } = spawnSync(JAVA_COMPILER, ['-encoding', 'UTF-8', ...files], {
    cwd: folder,
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
}

interface Host {
  readonly adapter: string;
  readonly command: readonly [string, ...string[]] | null;
  readonly missing: string;
  /** Statuses after a right and a wrong password. */
  readonly statuses: readonly [string, string];
  /** What the adapter answers to SOFT_CHALLENGE; default: the application goes on and acts. */
  readonly challenged?: string;
  readonly prepare?: () => void;
}

const python = ['python3', '/usr/bin/python3'].find((name) => isThere(name, '-c', 'import django'));
const betterAuth = process.env['GATEHOUSE_BETTER_AUTH'];
const HOSTS: readonly Host[] = [
  {
    adapter: 'gatehouse_django.py',
    command: python === undefined ? null : [python, 'django_host.py'],
    missing: 'Django',
    statuses: ['302', '200'],
  },
  {
    adapter: 'ProtectWithGatehouse.php',
    command: isThere('php', '--version') ? ['php', 'laravel_host.php'] : null,
    missing: 'PHP',
    statuses: ['302', '302'],
  },
  {
    adapter: 'GatehouseFilter.java',
    command: isThere(JAVA_COMPILER, '-version') ? ['java', 'FilterHost'] : null,
    missing: 'Java',
    statuses: ['302', '302'],
    prepare: compileJava,
  },
  {
    adapter: 'better-auth.mjs',
    command: betterAuth === undefined ? null : [process.execPath, 'better-auth-host.mjs'],
    missing: 'better-auth (GATEHOUSE_BETTER_AUTH)',
    statuses: ['200', '401'],
    challenged: '423',
    prepare: () => {
      const modules = join(folder, 'node_modules');
      mkdirSync(join(modules, '@gatehouse'), { recursive: true });
      symlinkSync(join(ROOT, 'src/client'), join(modules, '@gatehouse/client'));
      for (const name of readdirSync(join(betterAuth ?? '', 'node_modules')).filter((one) => !one.startsWith('.')))
        symlinkSync(join(betterAuth ?? '', 'node_modules', name), join(modules, name));
    },
  },
];

for (const { adapter, command, missing, statuses, challenged, prepare } of HOSTS) {
  if (command === null)
    console.warn(`SKIPPED: ${missing} is not installed, so examples/adapters/${adapter} was not run`);

  describe.skipIf(command === null)(`examples/adapters/${adapter}`, () => {
    const [program, ...args] = command ?? [''];
    const [right, wrong] = statuses;
    beforeAll(() => prepare?.(), 120_000);

    test('It decides at the real server', async () => {
      const cases = ['observe', 'enforce'].map((mode) => `${server.url}|${server.secretKey}|${mode}|wrong`);
      const [observed, enforced] = await run(program, ...args, ...cases);
      expect(observed).toBe(wrong);
      expect([wrong, challenged]).toContain(enforced);
    });

    test('It reports right and wrong logins, refuses after BLOCK only in mode enforce, and has no outcome then', async () => {
      const cases = [
        at('good', 'enforce', 'right'),
        at('good', 'observe', 'wrong'),
        at('block', 'observe', 'right'),
        at('block', 'enforce', 'right'),
        at('challenge', 'enforce', 'right'),
      ];
      expect(await run(program, ...args, ...cases)).toEqual([right, wrong, right, '403', challenged ?? right]);
      expect(double.decides.map(({ email, isSigned }) => [email, isSigned])).toEqual(
        Array.from({ length: 5 }, () => ['anna@example.com', true]),
      );
      await expect.poll(outcomes, { timeout: 10_000 }).toEqual(['failed', 'succeeded', 'succeeded']);
    });

    test('While there is no answer people log in, and with a wrong key too in mode observe', async () => {
      const cases = [`http://127.0.0.1:9|${KEY}|enforce|right`, at('forbidden', 'observe', 'right')];
      expect(await run(program, ...args, ...cases)).toEqual([right, right]);
      expect(outcomes()).toEqual([]);
    });
  });
}

describe.skipIf(!isThere('php', '--version'))('examples/adapters/gatehouse-woocommerce.php', () => {
  const checkOut = (behaviour: string, mode: string, end: string): Promise<readonly string[]> =>
    run('php', 'woocommerce_host.php', at(behaviour, mode, end));

  test('Orders are taken, held after REVIEW and refused after BLOCK in mode enforce, and payments are reported', async () => {
    expect(await checkOut('good', 'enforce', 'paid')).toEqual(['processing']);
    expect(await checkOut('review', 'enforce', 'paid')).toEqual(['on-hold']);
    expect(await checkOut('review', 'observe', 'failed')).toEqual(['failed']);
    expect(await checkOut('block', 'observe', 'paid')).toEqual(['processing']);
    expect(await checkOut('block', 'enforce', 'paid')).toEqual(['refused']);
    expect(outcomes()).toEqual(['declined', 'succeeded', 'succeeded', 'succeeded']);
  });

  test('Orders are taken while there is no answer, and by the real server', async () => {
    for (const target of [`http://127.0.0.1:9|${KEY}`, `${server.url}|${server.secretKey}`])
      expect(await run('php', 'woocommerce_host.php', `${target}|observe|paid`)).toEqual(['processing']);
  });
});
