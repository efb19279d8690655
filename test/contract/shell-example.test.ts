import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedServer, type SharedServer } from '../support/shared-server.ts';

/** Contract, 3.3 and 4.1: a client that uses none of our code, only openssl and curl, gets a decision. */

const SCRIPT = fileURLToPath(new URL('../../scripts/decide.sh', import.meta.url));

interface Ran {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

let server: SharedServer;
let folder: string;

beforeAll(async () => {
  server = await sharedServer();
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-shell-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** Runs the example with its own TMPDIR, in which it must leave nothing. */
async function run(
  environment: Readonly<Record<string, string>>,
  args: readonly string[] = [],
  input = '',
): Promise<Ran> {
  const ran = await new Promise<Ran>((done) => {
    const child = execFile(
      'sh',
      [SCRIPT, ...args],
      { env: { PATH: process.env['PATH'] ?? '', TMPDIR: folder, URL: server.url, ...environment } },
      (error, stdout, stderr) => done({ exitCode: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
    // The script may end before it reads its input.
    child.stdin?.on('error', () => {}).end(input);
  });
  expect((await readdir(folder)).filter((name) => name.startsWith('tmp.'))).toEqual([]);
  return ran;
}

async function fileWith(text: string): Promise<string> {
  const file = join(folder, 'body.json');
  await writeFile(file, text);
  return file;
}

const DECIDED = expect.objectContaining({ decision: expect.any(String), score: expect.any(Number) });

describe('contract, 3.3: signed by openssl, sent by curl', () => {
  it.each(['secretKey', 'publicKey'] as const)(
    'The shell example gets a decision on its example body with the %s',
    async (kind) => {
      const { exitCode, stdout, stderr } = await run({ KEY: server[kind] });
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
      expect(JSON.parse(stdout)).toEqual(DECIDED);
      expect(JSON.parse(stdout)).toMatchObject({ reasons: ['device_http_library'] });
    },
  );

  it.each(['secretKey', 'publicKey'] as const)(
    'The shell example signs a UTF-8 body from a file with the %s',
    async (kind) => {
      const file = await fileWith('{\n  "session_token": "s1",\n  "entity_keys": { "name": "Zoë 李 🙂" }\n}\n\n');
      const { exitCode, stdout } = await run({ KEY: server[kind], URL: `${server.url}/` }, [file]);
      expect(exitCode).toBe(0);
      expect(JSON.parse(stdout)).toEqual(DECIDED);
    },
  );

  it('The shell example signs a body from its standard input', async () => {
    const { exitCode, stdout } = await run({ KEY: server.secretKey }, ['-'], '{}');
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ decision: 'SOFT_CHALLENGE', reasons: ['missing_session_token'] });
  });
});

describe('contract, 5.5: what is refused', () => {
  it.each(['sk_live_', 'pk_live_'])(
    'The shell example exits with 1 and prints the problem for an unknown key %s…',
    async (prefix) => {
      const { exitCode, stdout, stderr } = await run({ KEY: `${prefix}3AHOVcjqx4BIPWdkry5CJQXelsz6DKRYOPpP55` });
      expect(exitCode).toBe(1);
      expect(JSON.parse(stdout)).toMatchObject({ status: 401, code: 'unknown_key' });
      expect(stderr).toContain('401');
    },
  );

  it('The shell example exits with 1 and prints the problem for a body that is not JSON', async () => {
    const { exitCode, stdout } = await run({ KEY: server.secretKey }, [await fileWith('{"session_token":')]);
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ status: 400, code: 'malformed_json' });
  });

  it('The shell example exits with 1 when there is no server', async () => {
    const { exitCode, stderr } = await run({ KEY: server.secretKey, URL: 'http://127.0.0.1:1' });
    expect(exitCode).toBe(1);
    expect(stderr).not.toBe('');
  });

  it.each([
    ['no key', {}, []],
    ['a text that is not a key', { KEY: 'secret' }, []],
    ['a missing file', { KEY: 'sk_live_x' }, ['/nowhere/body.json']],
  ])('The shell example exits with 2 for %s', async (_, environment, args) => {
    const { exitCode, stdout, stderr } = await run(environment, args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).not.toBe('');
  });
});
