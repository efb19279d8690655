import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { command } from '../../support/command-line.ts';
import { call } from '../../support/manage.ts';
import { decide, newcomer } from '../../support/requests.ts';
import { startServer } from '../../support/server.ts';
import { tempFolder } from '../state/support.ts';

type Ran = { readonly code: number | null; readonly json: Readonly<Record<string, unknown>> };

async function ran(dataDir: string, words: readonly string[]): Promise<Ran> {
  const { code, out } = await command(['--data-dir', dataDir, '--json', ...words]);
  return { code, json: JSON.parse(out) as Ran['json'] };
}

async function newFolder() {
  const dataDir = tempFolder();
  const made = await ran(dataDir, ['customers', 'create', 'shop']);
  const of = ['--customer', String(made.json['customer_id'])];
  const file = (name: string, text: string): string => {
    const path = join(dataDir, name);
    writeFileSync(path, text);
    return path;
  };
  return { of, file, cli: (...words: readonly string[]) => ran(dataDir, ['named-lists', ...words, ...of]), dataDir };
}

describe('named-lists', () => {
  test('A netset is tried, imported, shown and deleted', async () => {
    const { cli, file } = await newFolder();
    const path = file('set.netset', '# a netset\n203.0.113.0/24\n198.51.100.0/24 ; SBL1\nnonsense\n203.0.113.0/24\n');
    const words = ['import', 'bad', path, '--kind', 'network'];
    expect(await cli(...words, '--dry-run')).toMatchObject({
      code: 1,
      json: { dry_run: true, added: 2, known: 0, rejected: [{ at: 4 }] },
    });
    expect((await cli('list')).json).toEqual({ lists: [] });
    expect(await cli(...words, '--note', 'of FireHOL')).toMatchObject({ code: 1, json: { added: 2, known: 0 } });
    expect(await cli(...words)).toMatchObject({ json: { added: 0, known: 2 } });
    expect((await cli('list')).json['lists']).toEqual([{ name: 'bad', kind: 'network', items: 2, note: 'of FireHOL' }]);
    const shown = await cli('show', 'bad');
    expect((shown.json['items'] as { value: string }[]).map(({ value }) => value)).toEqual([
      '198.51.100.0/24',
      '203.0.113.0/24',
    ]);
    expect(await cli('import', 'bad', path, '--kind', 'text')).toMatchObject({
      json: { error: { code: 'other_kind' } },
    });
    expect((await cli('delete', 'bad')).code).toBe(0);
    expect(await cli('show', 'bad')).toMatchObject({ code: 1, json: { error: { code: 'not_found' } } });
  });

  test('A CSV has ends and kinds, CrowdSec its scopes, and a text of free texts may have any sign', async () => {
    const { cli, file } = await newFolder();
    const csv = file(
      'a.csv',
      'kind,value,expires_at\nemail_domain,Fair.example,2099-01-01\nip,192.0.2.1,\n,b.example,1\n',
    );
    expect(await cli('import', 'fair', csv, '--kind', 'email_domain')).toMatchObject({
      json: { added: 1, rejected: [{ at: 3, message: 'its kind is ip' }, { at: 4 }] },
    });
    const decisions = [
      { scope: 'Ip', value: '192.0.2.7', type: 'ban', duration: '3h' },
      { scope: 'Range', value: '192.0.2.0/24', type: 'ban', duration: '3h' },
    ];
    const crowdsec = file('c.json', JSON.stringify(decisions));
    expect(await cli('import', 'addresses', crowdsec, '--kind', 'ip')).toMatchObject({
      json: { added: 1, rejected: [{ at: 2 }] },
    });
    const agents = file('agents.txt', '# agents\nAcmeBot/1.5 (Linux; x86_64) #2\n');
    expect(await cli('import', 'agents', agents, '--kind', 'user_agent')).toMatchObject({
      code: 0,
      json: { added: 1 },
    });
    expect((await cli('show', 'agents')).json['items']).toMatchObject([{ value: 'AcmeBot/1.5 (Linux; x86_64) #2' }]);
  });

  test('Rules about a list that does not exist are not imported, and a list that a rule names is not deleted', async () => {
    const { cli, file, of, dataDir } = await newFolder();
    const when = 'email.domain in list.partners';
    const rules = file('rules.json', JSON.stringify({ rules: [{ code: 'own_a', when, weight: 0.5 }] }));
    expect(await ran(dataDir, ['rules', 'import', rules, ...of])).toMatchObject({
      code: 1,
      json: { error: { code: 'unknown_list' } },
    });
    await cli('import', 'partners', file('p.txt', 'partner.example\n'), '--kind', 'email_domain');
    expect((await ran(dataDir, ['rules', 'import', rules, ...of])).code).toBe(0);
    expect(await cli('delete', 'partners')).toMatchObject({ code: 1, json: { error: { code: 'in_use' } } });
  });

  test('An import is one version, which a restore takes back', async () => {
    const { cli, file } = await newFolder();
    const words = (n: number): string => Array.from({ length: n }, (_none, at) => `word ${at}`).join('\n');
    await cli('import', 'words', file('a.txt', words(3)), '--kind', 'text');
    await cli('import', 'words', file('b.txt', words(450)), '--kind', 'text');
    const by = { replaced_by: 'cli', restorable: true, reason: null };
    expect((await cli('versions', 'words')).json).toMatchObject({
      versions: [
        { version: 2, added: 447, removed: 0, ...by },
        { version: 1, added: 3, removed: 0, ...by },
      ],
    });
    expect(await cli('restore', 'words', '2')).toMatchObject({ code: 0, json: { version: 2, items: 3 } });
    expect((await cli('show', 'words')).json['items']).toHaveLength(3);
    expect(await cli('restore', 'words', 'two')).toMatchObject({ code: 1, json: { error: { code: 'not_found' } } });
  });

  test('An import beside a running server counts for the next decision', async () => {
    const server = await startServer();
    onTestFinished(async () => void (await server.stop()));
    const { dataDir, secretKey, url } = server;
    const { json: me } = await call(url, secretKey, 'GET', '/v1/me');
    const id = String(me['customer_id']);
    const path = join(dataDir, 'partners.txt');
    writeFileSync(path, Array.from({ length: 500 }, (_none, n) => `p${n}.example`).join('\n'));
    const words = ['named-lists', 'import', 'partners', path, '--kind', 'email_domain', '--customer', id];
    expect(await ran(dataDir, words)).toMatchObject({ code: 0, json: { added: 500 } });
    const rule = { when: 'email.domain in list.partners', decision: 'BLOCK', mode: 'enforce' };
    expect((await call(url, secretKey, 'PUT', '/v1/rules/own_p', rule)).status).toBe(201);
    const body = { ...newcomer(), entity_keys: { email: 'x@mail.p499.example' } };
    expect((await decide(url, secretKey, body)).json).toMatchObject({ decision: 'BLOCK' });
    const restored = await ran(dataDir, ['named-lists', 'restore', 'partners', '1', '--customer', id]);
    expect(restored).toMatchObject({ code: 0, json: { items: 0 } });
    expect(
      (await decide(url, secretKey, { ...body, session_token: newcomer().session_token })).json['reasons'],
    ).not.toContain('own_p');
  });
});
