import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkKeyText } from '../../../src/kernel/key-text.ts';
import { command, commandAsProcess, MAIN, type Ran } from '../../support/command-line.ts';
import { IS_FULL } from '../../support/long.ts';
import { open } from '../state/support.ts';

/** Rows of an imported file. Ten of them have an error. */
const ROWS = IS_FULL ? 50_000 : 10_000;

let folder = '';
let dataDir = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-cli-'));
  dataDir = join(folder, 'data');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a command on the data directory, in this process. */
function cli(args: readonly string[], input = ''): Promise<Ran> {
  return command(['--data-dir', dataDir, ...args], { input });
}

/** Runs a command on the data directory as a process of its own, as an operator does. */
function cliAsProcess(args: readonly string[], input = ''): Promise<Ran> {
  return commandAsProcess(['--data-dir', dataDir, ...args], { input });
}

/** Runs a command on a terminal, which `script` of util-linux provides. */
async function onTerminal(args: readonly string[], input: string): Promise<Pick<Ran, 'code' | 'out'>> {
  const words = [process.execPath, MAIN, '--data-dir', dataDir, ...args].map((word) => `'${word}'`);
  const child = spawn('script', ['--quiet', '--return', '--command', words.join(' '), '/dev/null']);
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    // Input that is typed before the question would be lost.
    if (!out.includes('[y/N]') && (out + piece).includes('[y/N]')) child.stdin.write(input);
    out += piece;
  });
  const code = await new Promise<number | null>((resolve) => {
    child.on('close', resolve);
  });
  return { code, out };
}

/** Runs a command with --json, which prints exactly one JSON object on standard output. */
async function json(
  args: readonly string[],
  input = '',
  execute = cli,
): Promise<{ code: number | null; value: Record<string, unknown> }> {
  const ran = await execute(['--json', ...args], input);
  expect(ran.out.trim().split('\n')).toHaveLength(1);
  return { code: ran.code, value: JSON.parse(ran.out) as Record<string, unknown> };
}

function hashOf(seed: number): string {
  return createHash('sha256').update(String(seed)).digest('hex');
}

describe('customers and keys', () => {
  test('The first command creates the data directory, and a key pair is created, listed and revoked', async () => {
    const made = await json(['customers', 'create', 'Acme'], '', cliAsProcess);
    expect(made).toEqual({
      code: 0,
      value: { customer_id: expect.stringMatching(/^cus_[0-9A-Z]{26}$/), name: 'Acme' },
    });
    expect(existsSync(join(dataDir, 'gatehouse.json'))).toBe(true);
    const id = String(made.value['customer_id']);
    expect((await json(['customers', 'list'])).value['customers']).toEqual([
      { customer_id: id, name: 'Acme', created_at: expect.any(Number), suspended_at: null },
    ]);

    const keys = await json(['keys', 'create', '--customer', id, '--rate-limit', '12345']);
    expect(Object.keys(keys.value)).toEqual(['customer_id', 'secret_key', 'public_key']);
    const secret = String(keys.value['secret_key']);
    expect(checkKeyText(secret)).toBe('secret');
    expect(checkKeyText(String(keys.value['public_key']))).toBe('public');
    await json(['keys', 'create', '--customer', id]);

    // Too short, a part of a key, and no key at all: a listing shows none of these.
    for (const text of ['s', 'sk_live_', secret.slice(0, 11), secret.slice(0, 20), `${secret}x`, 'nothing']) {
      expect(await json(['keys', 'revoke', text])).toMatchObject({
        code: 2,
        value: { error: { code: 'malformed_key', message: expect.stringContaining('12 characters') } },
      });
    }
    expect(await json(['keys', 'revoke', secret])).toMatchObject({
      code: 0,
      value: { prefix: secret.slice(0, 12), customer_id: id },
    });
    expect(await json(['keys', 'revoke', secret.slice(0, 12)])).toMatchObject({
      code: 1,
      value: { error: { code: 'already_revoked' } },
    });
    expect(await json(['keys', 'revoke', 'sk_live_0000'])).toMatchObject({
      code: 1,
      value: { error: { code: 'unknown_key' } },
    });
    const listed = (await json(['keys', 'list'])).value['keys'] as Record<string, unknown>[];
    expect(listed).toHaveLength(4);
    expect(listed[0]).toEqual({
      prefix: secret.slice(0, 12),
      name: '',
      kind: 'secret',
      test: false,
      scopes: ['decide', 'read', 'write', 'admin'],
      networks: [],
      expires_at: null,
      customer_id: id,
      rate_limit: 12_345,
      created_at: expect.any(Number),
      revoked_at: expect.any(Number),
      origins: [],
    });
  });

  test('keys create --origin stores the normalised origins with the public key, and keys list shows them', async () => {
    const words = ['keys', 'create', '--customer', await someCustomer()];
    const origins = ['https://shop.example', 'http://localhost:3000'];
    const made = await json([...words, '--origin', 'https://SHOP.example:443/', '--origin', 'http://localhost:3000']);
    expect(made.value).toMatchObject({ origins });
    expect(made.value).not.toHaveProperty('warning');
    const listed = (await json(['keys', 'list'])).value['keys'] as Record<string, unknown>[];
    const originsOf = (name: string): unknown =>
      listed.find(({ prefix }) => prefix === String(made.value[name]).slice(0, 12))?.['origins'];
    expect([originsOf('public_key'), originsOf('secret_key')]).toEqual([origins, []]);
    expect((await cli(['keys', 'list'])).out).toContain('https://shop.example http://localhost:3000');
  });

  test('keys create --origin "*" warns that every site may use the key', async () => {
    const words = ['keys', 'create', '--customer', await someCustomer(), '--origin', '*'];
    expect((await json(words)).value).toMatchObject({
      origins: ['*'],
      warning: expect.stringContaining('every web site'),
    });
    expect((await cli(words)).out).toContain('\nWarning: scripts of every web site may use this public key');
  });

  test('keys create accepts up to 20 valid origins and refuses others with exit code 2', async () => {
    const words = ['keys', 'create', '--customer', await someCustomer()];
    const given = (n: number): string[] =>
      Array.from({ length: n }, (_, i) => ['--origin', `https://s${i}.example`]).flat();
    expect((await json([...words, ...given(20)])).code).toBe(0);
    for (const wrong of [given(21), ['--origin', 'shop.example'], ['--origin', '*', '--origin', 'https://a.example']]) {
      expect(await json([...words, ...wrong])).toMatchObject({ code: 2, value: { error: { code: 'usage' } } });
    }
  });

  test('A key is revoked on a terminal only after "y", or by --yes without a question', async () => {
    const made = await json(['keys', 'create', '--customer', await someCustomer()]);
    const prefix = String(made.value['public_key']).slice(0, 12);
    const isRevoked = async (): Promise<boolean> => {
      const listed = (await json(['keys', 'list'])).value['keys'] as Record<string, unknown>[];
      return listed.find((key) => key['prefix'] === prefix)?.['revoked_at'] !== null;
    };
    const declined = await onTerminal(['keys', 'revoke', prefix], 'n\n');
    expect(declined.code).toBe(1);
    expect(declined.out).toContain(`Revoke the public key ${prefix}… of Acme`);
    expect(await isRevoked()).toBe(false);
    expect((await onTerminal(['keys', 'revoke', prefix], 'y\n')).code).toBe(0);
    expect(await isRevoked()).toBe(true);

    const other = await json(['keys', 'create', '--customer', await someCustomer()]);
    const unasked = await onTerminal(['keys', 'revoke', '--yes', String(other.value['secret_key'])], '');
    expect(unasked.code).toBe(0);
    expect(unasked.out).not.toContain('[y/N]');
  });

  test('Without --json a command prints short text, and an error on standard error', async () => {
    const list = await cli(['keys', 'list']);
    expect(list).toMatchObject({ code: 0, err: '' });
    expect(list.out).toContain('Rate limit');
    const wrong = await cliAsProcess(['keys', 'create', '--customer', 'cus_x']);
    expect(wrong).toEqual({ code: 1, out: '', err: 'error: there is no customer cus_x\n' });
  });

  test('A wrong call exits with 2', async () => {
    for (const args of [
      ['keys', 'create'],
      ['nope'],
      ['keys', 'create', '--customer', 'x', '--rate-limit', '0'],
      ['keys', 'list', 'x'],
    ]) {
      expect(await json(args)).toMatchObject({ code: 2, value: { error: { code: 'usage' } } });
    }
    const ran = await cliAsProcess(['nope']);
    expect(ran).toMatchObject({ code: 2, out: '', err: expect.stringContaining("unknown command 'nope'") });
    expect((await cli(['--help'])).code).toBe(0);
  });

  test('--version prints the version of the installation', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
      version: string;
    };
    expect(await cliAsProcess(['--version'])).toEqual({ code: 0, out: `${version}\n`, err: '' });
    expect(await json(['--version'])).toEqual({ code: 0, value: { version } });
  });

  test('A command works while the store is open elsewhere, and the open store sees its writes', async () => {
    const store = open(dataDir);
    const before = store.apiKeys.version();
    const id = store.customers.all()[0]?.id ?? '';
    const made = await json(['keys', 'create', '--customer', id], '', cliAsProcess);
    expect(made.code).toBe(0);
    store.resetRead();
    expect(store.apiKeys.version()).toBe(before + 1);
    await store.close();
  });

  test('A damaged store gives a clear error', async () => {
    const broken = join(folder, 'broken');
    expect((await cli(['--data-dir', broken, 'customers', 'create', 'Acme'])).code).toBe(0);
    writeFileSync(join(broken, 'state', 'data.mdb'), '');
    const ran = await json(['--data-dir', broken, 'customers', 'list']);
    expect(ran).toMatchObject({ code: 1, value: { error: { code: 'store_unusable' } } });
  });
});

describe('registry', () => {
  test(`An import of ${ROWS} rows with errors stores the good rows and reports the first errors by line`, async () => {
    const file = join(folder, 'rows.ndjson');
    const rows = Array.from({ length: ROWS }, (_, i) =>
      i % (ROWS / 10) === 100
        ? '{"fingerprint_hash":"short","risk_score":1}'
        : JSON.stringify({ fingerprint_hash: hashOf(i), risk_score: i % 101 }),
    );
    writeFileSync(file, rows.join('\n'));
    const ran = await json(['registry', 'import', file]);
    expect(ran).toMatchObject({ code: 1, value: { accepted: ROWS - 10, rejected: 10 } });
    expect(ran.value['faults']).toEqual(
      Array.from({ length: 10 }, (_, i) => ({
        line: (i * ROWS) / 10 + 101,
        message: 'fingerprint_hash must be 64 hex digits',
      })),
    );
    const store = open(dataDir);
    expect(store.registry.count()).toBe(ROWS - 10);
    await store.close();
  });

  test('A CSV import takes columns by name in any order, the last three optional, and skips a bad line', async () => {
    const file = join(folder, 'rows.csv');
    const good = [1, 2, 3].map((seed) => hashOf(seed + 1_000_000));
    writeFileSync(
      file,
      [
        '\ufeffrisk_score,fingerprint_hash,customers_seen,first_seen,last_seen,comment',
        `80,${good[0]?.toUpperCase()},4,100,200,x`,
        `101,${good[1]},,,,`,
        `8"0,${good[1]},,,,`,
        `"80,${good[1]},,,,`,
        `0x10,${good[1]},,,,`,
        `80,${good[1]}`,
        `${'9'.repeat(70_000)},${good[1]},,,,`,
        `80,${good[1]},1,300,200,`,
        `80,${good[1]},1,1700000000000000,,`,
        '',
        `"90.5","${good[2]}",,,,"a, b"`,
      ].join('\r\n'),
    );
    const ran = await json(['registry', 'import', file, '--format', 'csv']);
    expect(ran).toMatchObject({ code: 1, value: { accepted: 2, rejected: 8 } });
    expect((ran.value['faults'] as { line: number }[]).map((one) => one.line)).toEqual([3, 4, 5, 6, 7, 8, 9, 10]);
    expect(await json(['registry', 'show', good[0] ?? ''])).toMatchObject({
      code: 0,
      value: { stored_risk_score: 80, customers_seen: 4, first_seen: 100, last_seen: 200 },
    });
    expect(await json(['registry', 'show', good[2] ?? ''])).toMatchObject({
      code: 0,
      value: { risk_score: 90.5, customers_seen: 0 },
    });
    expect(await json(['registry', 'remove', good[0] ?? ''])).toMatchObject({ code: 0, value: { removed: true } });
    expect(await json(['registry', 'show', good[0] ?? ''])).toMatchObject({
      code: 1,
      value: { error: { code: 'not_found' } },
    });
    expect(await json(['registry', 'remove', good[0] ?? ''])).toMatchObject({
      code: 1,
      value: { error: { code: 'not_found' } },
    });
    expect(await json(['registry', 'show', 'x'])).toMatchObject({
      code: 1,
      value: { error: { code: 'malformed_hash' } },
    });
  });

  test('An import of a missing file or of a file without a header is an error', async () => {
    writeFileSync(join(folder, 'bare.csv'), 'a,b\n1,2\n');
    for (const name of ['absent.csv', 'bare.csv']) {
      const ran = await json(['registry', 'import', join(folder, name)]);
      expect(ran).toMatchObject({ code: 1, value: { error: { code: 'unreadable_file' } } });
    }
  });
});

describe('policy check', () => {
  const CUSTOMER = 'cus_01ARZ3NDEKTSV4RRFFQ69G5FAV';
  const put = (policy: unknown): string => {
    const file = join(folder, 'policy.json');
    writeFileSync(file, JSON.stringify(policy));
    return file;
  };

  test('policy check prints that a file is valid, its effective bands, and the differences from the defaults', async () => {
    const file = put({
      version: 'v7',
      bands: { block: 90 },
      weights: { ip_vpn: 0.33, ip_proxy: 0.4 },
      event_types: { refund: { bands: { block: 77 }, watched_countries: ['KP'] } },
      customers: { [CUSTOMER]: { sample_rate: 0.5 } },
      challenger: { rules_off: ['ip_vpn'] },
    });
    const ran = await cli(['policy', 'check', file]);
    expect(ran).toMatchObject({ code: 0, err: '' });
    expect(ran.out).toContain(`${file} is valid, version v7`);
    expect(ran.out).toContain(`warning: /customers/${CUSTOMER} there is no such customer yet`);
    const rows = ran.out.split('\n').map((line) =>
      line
        .split('│')
        .map((cell) => cell.trim())
        .slice(1, -1),
    );
    expect(rows).toContainEqual(['everybody', 'payment', '30', '45', '60', '90']);
    expect(rows).toContainEqual(['everybody', 'refund', '30', '50', 'none', '77']);
    expect(rows).toContainEqual(['everybody', 'all others', '30', '50', 'none', '90']);
    expect(rows).toContainEqual(['everybody', 'all', 'weight ip_vpn', '0.2', '0.33']);
    expect(rows).toContainEqual(['everybody', 'refund', 'watched countries', 'none', 'KP']);
    expect(rows).toContainEqual([CUSTOMER, 'all', 'sample rate', '0.01', '0.5']);
    expect(rows).toContainEqual(['challenger', 'all', 'rules off', 'none', 'ip_vpn']);
    // The rule has this value by default.
    expect(ran.out).not.toContain('weight ip_proxy');
  });

  test('policy check --json prints the same as data', async () => {
    const file = put({ version: 'v7', customers: { [CUSTOMER]: {} } });
    expect(await json(['policy', 'check', file])).toEqual({
      code: 0,
      value: {
        valid: true,
        version: 'v7',
        errors: [],
        warnings: [{ pointer: `/customers/${CUSTOMER}`, message: 'there is no such customer yet' }],
      },
    });
  });

  test('policy check knows the customers of the data directory and creates none', async () => {
    const id = await someCustomer();
    const known = put({ customers: { [id]: {} } });
    expect((await json(['policy', 'check', known])).value['warnings']).toEqual([]);
    const elsewhere = join(folder, 'nowhere');
    const ran = await json(['--data-dir', elsewhere, 'policy', 'check', known]);
    expect(ran).toMatchObject({ code: 0, value: { valid: true, warnings: [{ pointer: '/customers' }] } });
    expect(existsSync(elsewhere)).toBe(false);
  });

  test('policy check names everything that is wrong and exits with 1', async () => {
    const file = put({ weights: { nope: 1 }, sample_rate: 2 });
    const { code, value } = await json(['policy', 'check', file]);
    expect(code).toBe(1);
    expect(value).toMatchObject({ valid: false, version: null, warnings: [] });
    expect(value['errors']).toEqual([
      { pointer: '/weights/nope', message: expect.stringContaining('there is no rule "nope"') },
      { pointer: '/sample_rate', message: 'must be a number from 0 to 1' },
    ]);
    const ran = await cli(['policy', 'check', file]);
    expect(ran.code).toBe(1);
    expect(ran.out).toContain('/sample_rate must be a number from 0 to 1');
  });

  test('policy check reports a file that cannot be read as an error', async () => {
    for (const name of ['absent.json', '.']) {
      const ran = await json(['policy', 'check', join(folder, name)]);
      expect(ran).toMatchObject({ code: 1, value: { error: { code: 'unreadable_file' } } });
    }
  });
});

describe('backup', () => {
  test('A backup makes a copy and refuses a folder that is not empty', async () => {
    const target = join(folder, 'copy');
    expect(await json(['backup', target])).toEqual({ code: 0, value: { folder: target, bytes: expect.any(Number) } });
    expect(await json(['backup', target])).toMatchObject({ code: 1, value: { error: { code: 'backup_refused' } } });
    const store = open(target);
    expect(store.customers.all().map((one) => one.name)).toEqual(['Acme']);
    await store.close();
  });
});

describe('decide', () => {
  test('The command signs and sends a request and prints the response, and exits with 1 if it is refused', async () => {
    const bodies: string[] = [];
    const server = createServer((request, response) => {
      void buffer(request).then((body) => {
        bodies.push(body.toString());
        response.writeHead(bodies.length === 1 ? 200 : 401, { 'content-type': 'application/json' });
        response.end(bodies.length === 1 ? '{"decision":"ALLOW"}' : '{"code":"unknown_key"}');
      });
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const key = String((await json(['keys', 'create', '--customer', await someCustomer()])).value['secret_key']);
    const common = ['decide', '--key', key, '--url', url];
    expect(await json([...common, '--file', '-'], '{"ip":"1.2.3.4"}', cliAsProcess)).toEqual({
      code: 0,
      value: { decision: 'ALLOW' },
    });
    expect(bodies[0]).toBe('{"ip":"1.2.3.4"}');
    expect(await json(common)).toEqual({ code: 1, value: { code: 'unknown_key' } });
    expect(JSON.parse(bodies[1] ?? '')).toMatchObject({ event_type: 'login' });
    server.close();
    expect(await json(['decide', '--key', key, '--url', 'http://127.0.0.1:1'])).toMatchObject({
      code: 1,
      value: { error: { code: 'unreachable' } },
    });
    expect(await json(['decide', '--key', 'x', '--url', url])).toMatchObject({
      code: 1,
      value: { error: { code: 'malformed_key' } },
    });
  });
});

let someId = '';

/** Returns the id of the first customer, which no test removes: each command checks the store in a process. */
async function someCustomer(): Promise<string> {
  if (someId !== '') return someId;
  const { value } = await json(['customers', 'list']);
  someId = (value['customers'] as { customer_id: string }[])[0]?.customer_id ?? '';
  return someId;
}

describe('lists', () => {
  test('Entries of every kind are added, shown, imported and removed', async () => {
    const made = await json(['customers', 'create', 'With lists']);
    const of = ['--customer', String(made.value['customer_id'])];
    expect(await json(['lists', 'add', 'network', '203.0.113.0/24', ...of, '--event-type', 'Login'])).toMatchObject({
      code: 0,
      value: { created: true, kind: 'network', value: '203.0.113.0/24', action: 'block', event_types: ['login'] },
    });
    expect(await json(['lists', 'add', 'network', '203.0.113.7/24', ...of])).toMatchObject({
      code: 2,
      value: { error: { code: 'invalid_value' } },
    });
    const file = join(folder, 'values.txt');
    writeFileSync(file, '# a netset\n203.0.113.0/24\n198.51.100.7\nnonsense\n');
    const tried = await json(['lists', 'import', file, ...of, '--dry-run']);
    expect(tried).toMatchObject({ code: 1, value: { dry_run: true, added: 1, replaced: 1, rejected: [{ at: 4 }] } });
    expect(await json(['lists', 'import', file, ...of])).toMatchObject({ code: 1, value: { added: 1, replaced: 1 } });
    const card = await json(['lists', 'add', 'entity.card', '4711', ...of, '--action', 'allow']);
    const shown = await json(['lists', 'show', ...of]);
    expect(shown.value['entries']).toMatchObject([
      { kind: 'ip', value: '198.51.100.7' },
      { kind: 'network', value: '203.0.113.0/24' },
      { kind: 'entity.card', value: card.value['value'], action: 'allow' },
    ]);
    expect(await json(['lists', 'remove', 'entity.card', String(card.value['value']), ...of])).toMatchObject({
      code: 0,
    });
    expect(await json(['lists', 'remove', 'entity.card', '4711', ...of])).toMatchObject({ code: 1 });
    expect((await json(['lists', 'show', ...of, '--kind', 'ip'])).value['entries']).toHaveLength(1);
  });
});
