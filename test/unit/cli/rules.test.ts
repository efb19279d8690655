import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { command, commandAsProcess } from '../../support/command-line.ts';
import { bearer } from '../../support/manage.ts';
import { decide, newcomer } from '../../support/requests.ts';
import { startServer } from '../../support/server.ts';
import { tempFolder } from '../state/support.ts';

type Ran = { readonly code: number | null; readonly json: Readonly<Record<string, unknown>> };

async function ran(
  dataDir: string,
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ran> {
  const { code, out } = await command(['--data-dir', dataDir, '--json', ...words], { env });
  return { code, json: JSON.parse(out) as Ran['json'] };
}

const RULES = [
  { code: 'own_a', when: 'score > 10', weight: 0.5, mode: 'observe' },
  {
    code: 'own_b',
    when: 'attributes.amount > 5',
    decision: 'REVIEW',
    mode: 'enforce',
    event_types: ['login'],
    note: 'ü',
  },
];

async function newFolder() {
  const dataDir = tempFolder();
  const made = await ran(dataDir, ['customers', 'create', 'shop']);
  const customer = String(made.json['customer_id']);
  const file = (name: string, content: unknown): string => {
    const path = join(dataDir, name);
    writeFileSync(path, JSON.stringify(content));
    return path;
  };
  return { dataDir, customer, file };
}

describe('rules export and import', () => {
  test('Exported rules are a file that imports them again', async () => {
    const { dataDir, customer, file } = await newFolder();
    const path = file('rules.json', { rules: RULES });
    const words = ['--customer', customer];
    expect(await ran(dataDir, ['rules', 'import', path, '--dry-run', ...words])).toEqual({
      code: 0,
      json: { rules: 2 },
    });
    expect((await ran(dataDir, ['rules', 'export', ...words])).json).toEqual({ rules: [] });
    const imported = await ran(dataDir, ['rules', 'import', path, ...words]);
    expect(imported).toEqual({ code: 0, json: { customer_id: customer, created: 2, replaced: 0 } });
    const exported = await ran(dataDir, ['rules', 'export', ...words]);
    expect(exported).toEqual({ code: 0, json: { rules: RULES } });
    const again = await ran(dataDir, ['rules', 'import', file('again.json', exported.json), ...words]);
    expect(again.json).toMatchObject({ created: 0, replaced: 2 });
  });

  test('A file with one wrong rule writes none, and names the place', async () => {
    const { dataDir, customer, file } = await newFolder();
    const words = ['--customer', customer];
    const path = file('rules.json', [RULES[0], { ...RULES[1], when: 'attributes.amunt > 5' }]);
    const refused = await ran(dataDir, ['rules', 'import', path, ...words]);
    expect(refused).toMatchObject({
      code: 1,
      json: { error: { code: 'invalid_rules', errors: [{ pointer: '/rules/1/when' }] } },
    });
    expect((await ran(dataDir, ['rules', 'export', ...words])).json).toEqual({ rules: [] });
    for (const wrong of [{}, { rules: 5 }, 'x'])
      expect((await ran(dataDir, ['rules', 'import', file('wrong.json', wrong), ...words])).code).toBe(1);
    const unknown = await ran(dataDir, ['rules', 'export', '--customer', 'cus_01ARZ3NDEKTSV4RRFFQ69G5FAV']);
    expect(unknown).toMatchObject({ code: 1, json: { error: { code: 'unknown_customer' } } });
  });

  test("Attributes of the server's policy file may be in the conditions", async () => {
    const { dataDir, customer, file } = await newFolder();
    const path = file('rules.json', [{ code: 'own_c', when: 'attributes.colour == "red"', weight: 0.1 }]);
    const words = ['rules', 'import', path, '--customer', customer];
    expect((await ran(dataDir, words)).code).toBe(1);
    const policy = file('policy.json', { customers: { [customer]: { attributes: { colour: { type: 'text' } } } } });
    expect((await ran(dataDir, words, { GATEHOUSE_POLICY_FILE: policy })).code).toBe(0);
  });

  test('A running server decides by imported rules at once', async () => {
    const server = await startServer();
    onTestFinished(async () => void (await server.stop()));
    const me = await bearer(server.url, server.secretKey, 'GET', '/v1/me');
    const { customer_id: customer } = me.json as { readonly customer_id: string };
    const path = join(tempFolder(), 'rules.json');
    writeFileSync(
      path,
      JSON.stringify([{ code: 'own_d', when: 'attributes.amount > 5', decision: 'BLOCK', mode: 'enforce' }]),
    );
    const words = ['--data-dir', server.dataDir, 'rules', 'import', path, '--customer', customer];
    expect((await commandAsProcess(words)).code).toBe(0);
    const paid = await decide(server.url, server.secretKey, { ...newcomer(), attributes: { amount: 6 } });
    expect(paid.json['decision']).toBe('BLOCK');
  });
});
