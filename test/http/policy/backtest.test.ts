import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BacktestResult } from '../../../src/replay/backtest.ts';
import { DECISIONS } from '../../../src/risk/decision.ts';
import { command } from '../../support/command-line.ts';
import { geoFolderOfTests } from '../../support/geo-databases.ts';
import { bearer } from '../../support/manage.ts';
import { CALM, decide } from '../../support/requests.ts';
import { startNode } from '../../support/server.ts';

/** A day of a shop that only observes, recorded by the request log of a server that has stopped. */

let folder = '';
let dataDir = '';
/** Request id → what observe mode would have decided. */
const observed = new Map<string, string>();

const RULE = {
  code: 'own_failing',
  when: 'ip.logins_failed_24h >= 3',
  decision: 'BLOCK',
  mode: 'enforce',
};

/** A counter and a rule that reads it: logins of an address in an hour, from the 17th on. */
const COUNTED = {
  counters: { logins: { kind: 'count', by: 'ip', window: '1h', when: 'event.type == "login"' } },
  rules: [{ code: 'own_many', when: 'counters.logins > 16', decision: 'REVIEW', mode: 'enforce' }],
};

function policyFile(name: string, policy: object): string {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(policy));
  return path;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-backtest-'));
  dataDir = join(folder, 'data');
  const file = policyFile('active.json', { mode: 'observe', log_requests: '14d', ...COUNTED });
  const server = await startNode({ dataDir, env: { GATEHOUSE_POLICY_FILE: file, GATEHOUSE_WORKERS: '1' } });
  for (let n = 0; n < 40; n++) {
    const isAttack = n % 2 === 1;
    const body = {
      ...CALM,
      event_type: 'login',
      ip: isAttack ? '81.2.69.200' : `81.2.70.${n}`,
      session_token: `session-${n}`,
      entity_keys: { email: isAttack ? `victim${n}@example.com` : `person${n % 8}@example.com` },
    };
    const answer = await decide(
      server.url,
      n === 10 ? server.publicKey : server.secretKey,
      n === 4 ? { ...body, session_token: '' } : body,
    );
    if (answer.status !== 200) throw new Error(`a decision was answered with ${answer.status}`);
    const { request_id: id, would_be: wouldBe, decision } = answer.json as Record<string, string>;
    observed.set(String(id), String(wouldBe ?? decision));
    const report = { request_id: id, outcome: isAttack ? 'failed' : 'succeeded' };
    const reported = await bearer(server.url, server.secretKey, 'POST', '/v1/outcomes', report);
    if (reported.status !== 202) throw new Error(`an outcome was answered with ${reported.status}`);
    if (n === 39) await bearer(server.url, server.secretKey, 'POST', '/v1/labels', { request_id: id, label: 'fraud' });
  }
  await server.stop('SIGTERM');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Ran = BacktestResult & { readonly error?: unknown };

async function backtest(file: string): Promise<{ readonly code: number | null; readonly value: Ran }> {
  const env = { GATEHOUSE_GEOIP_DIR: geoFolderOfTests(), GATEHOUSE_GEOIP_PACKAGES: '0' };
  const ran = await command(['--json', '--data-dir', dataDir, 'policy', 'backtest', file, '--since', '1d'], { env });
  return { code: ran.code, value: JSON.parse(ran.out) as Ran };
}

describe('policy backtest', () => {
  test('The present policy gives what observe mode recorded, decision by decision', async () => {
    const { code, value } = await backtest(join(folder, 'active.json'));
    expect([code, value.error]).toEqual([0, undefined]);
    expect(value).toMatchObject({
      source: 'requests',
      events: 40,
      recorded: { same: 40, different: 0 },
      people_touched: 0,
      examples: [],
      damaged: [],
    });
    expect([...observed.values()].filter((decision) => decision !== 'ALLOW').length).toBeGreaterThan(2);
    expect([...observed.values()]).toContain('REVIEW');
    for (const decision of DECISIONS) {
      const expected = [...observed.values()].filter((one) => one === decision).length;
      expect([decision, value.matrix[decision][decision]]).toEqual([decision, expected]);
    }
  });

  test('A new rule shows whom it would touch, with the history and the outcomes of that day', async () => {
    const { value } = await backtest(policyFile('new.json', { mode: 'observe', rules: [RULE] }));
    // The fourth attempt of the attacker is the first one after three failures.
    const changed = value.examples;
    expect(changed.length).toBeGreaterThan(10);
    expect(changed.every(({ after, reasons }) => after === 'BLOCK' && reasons.includes('own_failing'))).toBe(true);
    expect(changed.every(({ request_id: id, before }) => observed.get(id) === before)).toBe(true);
    expect(value.people_touched).toBe(changed.length);
    expect(DECISIONS.reduce((sum, before) => sum + value.by_label.fraud[before].BLOCK, 0)).toBe(1);
  });

  test('Requests about a person can be erased; damage is named, and the rest is decided', async () => {
    const [customer = ''] = readdirSync(join(dataDir, 'requests'));
    const listed = await command(['--json', '--data-dir', dataDir, 'customers', 'list']);
    const { customers } = JSON.parse(listed.out) as { readonly customers: readonly { readonly customer_id: string }[] };
    const id = String(customers[0]?.customer_id);
    const words = [
      '--data-dir',
      dataDir,
      'requests',
      'erase',
      '--customer',
      id,
      '--entity',
      'email=PERSON0@example.com',
    ];
    expect(JSON.parse((await command(['--json', ...words])).out)).toEqual({ requests: 5, files: 1 });
    const [name = ''] = readdirSync(join(dataDir, 'requests', customer));
    const path = join(dataDir, 'requests', customer, name);
    writeFileSync(path, Buffer.concat([Buffer.from('damage'), readFileSync(path)]));
    const { code, value } = await backtest(join(folder, 'active.json'));
    expect(code).toBe(1);
    expect(value).toMatchObject({ events: 35, damaged: [{ file: name, fromByte: 0, toByte: 6 }] });
  });

  test('Without logged requests the decisions are weighed again, and the facts of own rules are named as missing', async () => {
    rmSync(join(dataDir, 'requests'), { recursive: true });
    const same = await backtest(join(folder, 'active.json'));
    expect(same.value).toMatchObject({
      source: 'features',
      events: 40,
      facts_missing: ['counters.logins'],
      people_touched: 0,
      recorded: null,
    });
    const { value } = await backtest(
      policyFile('calm.json', {
        mode: 'observe',
        rules: [RULE],
        event_types: { login: { bands: { block: 100, soft_challenge: 99, allow_watch: 98 } } },
      }),
    );
    expect(value).toMatchObject({ source: 'features', facts_missing: ['ip.logins_failed_24h'] });
    expect(value.people_touched).toBeGreaterThan(0);
  });
});
