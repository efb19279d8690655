import { spawn, spawnSync, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sharedServer, type SharedServer } from '../support/shared-server.ts';
import { KEY, SERVER_TIME, startDouble, type DoubleServer } from '../support/service-double.ts';

/** Every file of examples/languages behaves as the table of docs/languages.md has it. A driver in each language runs one call a line. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const EMAIL = 'zoë "q" \\ 🍵@example.com';
/** A case that ends in time ends long before this. */
const LIMIT_MS = 20_000;
/** For cases that wait for the end of the time limit. */
const SHORT_MS = 700;

interface Language {
  readonly name: string;
  readonly file: string;
  readonly driver: string;
  /** Exits with 0 where the language is installed. */
  readonly probe: readonly [string, ...string[]];
  readonly build?: readonly [string, ...string[]];
  readonly run: readonly [string, ...string[]];
}

const LANGUAGES: readonly Language[] = [
  {
    name: 'Python',
    file: 'gatehouse.py',
    driver: 'driver.py',
    probe: ['python3', '--version'],
    run: ['python3', 'driver.py'],
  },
  { name: 'PHP', file: 'gatehouse.php', driver: 'driver.php', probe: ['php', '--version'], run: ['php', 'driver.php'] },
  {
    name: 'Go',
    file: 'gatehouse.go',
    driver: 'driver.go',
    probe: ['go', 'version'],
    build: ['go', 'build', '-o', 'driver', '.'],
    run: ['./driver'],
  },
  { name: 'Ruby', file: 'gatehouse.rb', driver: 'driver.rb', probe: ['ruby', '--version'], run: ['ruby', 'driver.rb'] },
  {
    name: 'Java',
    file: 'Gatehouse.java',
    driver: 'Driver.java',
    probe: ['javac', '-version'],
    build: ['javac', '-encoding', 'UTF-8', 'Gatehouse.java', 'Driver.java'],
    run: ['java', 'Driver'],
  },
];

interface Vector {
  readonly name: string;
  readonly secret: string;
  readonly timestamp: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}
const VECTORS = JSON.parse(readFileSync(join(ROOT, 'test/contract/webhook-vectors.json'), 'utf8')) as readonly Vector[];

/** Copies a language's file and driver into a folder, builds them, and returns the folder. */
function prepare({ name, file, driver, build }: Language): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-language-'));
  const target = name === 'Go' ? join(folder, 'gatehouse') : folder;
  mkdirSync(target, { recursive: true });
  cpSync(join(ROOT, 'examples/languages', file), join(target, file));
  cpSync(join(ROOT, 'test/conformance/languages', driver), join(folder, driver));
  if (name === 'Go') writeFileSync(join(folder, 'go.mod'), 'module driver\n\ngo 1.19\n');
  if (build !== undefined) {
    const { status, stderr } = spawnSync(build[0], build.slice(1), { cwd: folder, encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  }
  return folder;
}

for (const language of LANGUAGES) {
  const isThere = spawnSync(language.probe[0], language.probe.slice(1)).status === 0;
  if (!isThere)
    console.warn(`SKIPPED: ${language.name} is not installed, so examples/languages/${language.file} was not run`);

  describe.skipIf(!isThere)(`examples/languages/${language.file}`, () => {
    let server: SharedServer;
    let double: DoubleServer;
    let folder = '';
    let child: ChildProcessWithoutNullStreams;
    let lines: Interface;
    let log = '';
    const ended = new AbortController();
    beforeAll(async () => {
      [server, double] = await Promise.all([sharedServer(), startDouble()]);
      folder = prepare(language);
      child = spawn(language.run[0], language.run.slice(1), { cwd: folder });
      child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
      lines = createInterface(child.stdout);
      child.once('exit', () => ended.abort(new Error(log)));
    }, 240_000);
    afterAll(() => {
      child.kill('SIGKILL');
      double.close();
      rmSync(folder, { recursive: true, force: true });
    });
    beforeEach(() => double.forget());

    const call = async (...words: readonly (string | number)[]): Promise<readonly string[]> => {
      child.stdin.write(`${words.join('\t')}\n`);
      const [line] = (await once(lines, 'line', { signal: ended.signal })) as [string];
      return line.split('\t');
    };
    const decide = (url: string, key: string, limitMs = LIMIT_MS, outcome = ''): Promise<readonly string[]> =>
      call('decide', url, key, limitMs, EMAIL, outcome);
    /** Decides at the double, which behaves as `behaviour` names it. */
    const at = (behaviour: string, limitMs?: number, outcome?: string): Promise<readonly string[]> =>
      decide(`${double.url}/${behaviour}`, KEY, limitMs, outcome);

    test('A signed request with a secret or a public key is decided by the real server', async () => {
      for (const key of [server.secretKey, server.publicKey])
        expect(await decide(server.url, key)).toEqual(['made', expect.any(String), expect.stringMatching(/^req_/)]);
    });

    test('A wrong key and other faults of the caller are errors with status and code, and never fail open', async () => {
      expect(await decide(server.url, `${server.secretKey}x`)).toEqual(['error', '401', 'unknown_key']);
      expect(await at('invalid')).toEqual(['error', '400', 'invalid_field']);
      expect(await at('forbidden')).toEqual(['error', '403', 'key_not_allowed']);
      expect(await at('redirect')).toEqual(['error', '302', 'unexpected_answer']);
      expect(double.decides).toHaveLength(3);
    });

    test('The signature covers the bytes that were sent, and an email with every kind of sign arrives unchanged', async () => {
      expect(await at('good')).toEqual(['made', 'ALLOW_WATCH', 'req_double']);
      expect(double.decides).toMatchObject([{ isSigned: true, email: EMAIL }]);
    });

    test('An answer in chunks, as proxies send it, is read', async () => {
      expect(await at('chunked')).toEqual(['made', 'ALLOW_WATCH', 'req_double']);
    });

    test.each(['silent', 'drip', 'drip-headers'])('The time limit is one for everything: %s', async (behaviour) => {
      const began = performance.now();
      expect(await at(behaviour, SHORT_MS)).toEqual(['open', 'SOFT_CHALLENGE', 'timeout']);
      // The double goes on for 20 s.
      expect(performance.now() - began).toBeLessThan(10_000);
    });

    test.each([
      ['overloaded', 'overloaded'],
      ['limited', 'rate_limited'],
      ['broken', 'server_error'],
      ['html', 'server_error'],
      ['strange', 'server_error'],
    ])('It fails open without a re-send: %s is %s', async (behaviour, failure) => {
      expect(await at(behaviour)).toEqual(['open', 'SOFT_CHALLENGE', failure]);
      expect(double.decides).toHaveLength(1);
    });

    test('Without a connection it fails open as unreachable', async () => {
      expect(await decide('http://127.0.0.1:9', KEY)).toEqual(['open', 'SOFT_CHALLENGE', 'unreachable']);
    });

    test.each(['closed', 'cut', 'bad-gateway', 'busy', 'replayed'])(
      'After %s it sends once more, with a new request id and the same Idempotency-Key',
      async (behaviour) => {
        expect(await at(`${behaviour}-once`)).toEqual(['made', 'ALLOW_WATCH', 'req_double']);
        const [first, second] = double.decides;
        expect(double.decides).toHaveLength(2);
        expect(second).toMatchObject({ isSigned: true, idempotencyKey: first?.idempotencyKey });
        expect(second?.requestId).not.toBe(first?.requestId);
        expect(first?.idempotencyKey).toMatch(/^\S{16,255}$/);
      },
    );

    test('It never sends more than twice', async () => {
      expect(await at('closed')).toEqual(['open', 'SOFT_CHALLENGE', 'unreachable']);
      expect(double.decides).toHaveLength(2);
    });

    test('A wrong clock is corrected by the time that the service names, for later calls too', async () => {
      expect(await at('clock')).toEqual(['made', 'ALLOW_WATCH', 'req_double']);
      expect(await at('clock')).toEqual(['made', 'ALLOW_WATCH', 'req_double']);
      expect(double.decides).toHaveLength(3);
      expect(Math.abs((double.decides[1]?.timestamp ?? 0) - SERVER_TIME)).toBeLessThan(120);
    });

    test('An outcome is sent with the request id, and none after failing open', async () => {
      await at('broken', LIMIT_MS, 'failed');
      await at('good', LIMIT_MS, 'succeeded');
      await expect
        .poll(() => double.outcomes, { timeout: 20_000 })
        .toEqual([{ authorization: `Bearer ${KEY}`, body: { request_id: 'req_double', outcome: 'succeeded' } }]);
    });

    test('A delivery is verified by its raw bytes, its time and any of several secrets', async () => {
      const other = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
      for (const { secret, timestamp, body, headers } of VECTORS) {
        const judge = (change: { readonly secrets?: string; readonly text?: string; readonly now?: number }) =>
          call(
            'verify',
            change.secrets ?? secret,
            headers['webhook-id'] ?? '',
            headers['webhook-timestamp'] ?? '',
            headers['webhook-signature'] ?? '',
            Buffer.from(change.text ?? body).toString('base64'),
            change.now ?? timestamp,
          );
        expect(await judge({})).toEqual(['true']);
        expect(await judge({ secrets: `${other},${secret}`, now: timestamp + 300 })).toEqual(['true']);
        expect(await judge({ secrets: other })).toEqual(['false']);
        expect(await judge({ text: `${body} ` })).toEqual(['false']);
        expect(await judge({ now: timestamp + 301 })).toEqual(['false']);
        expect(await judge({ now: timestamp - 301 })).toEqual(['false']);
        expect(await judge({ secrets: 'whsec_' })).toEqual(['thrown', 'this is no webhook secret']);
      }
    });
  });
}
