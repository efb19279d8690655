import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { command, type Ran } from '../../support/command-line.ts';
import { bearer } from '../../support/manage.ts';
import { CALM, decide, newCustomer } from '../../support/requests.ts';
import { type RunningServer, startNode } from '../../support/server.ts';

const NOTE = 'a note of the customer that goes';
let folder = '';
let server: RunningServer;
const start = (): Promise<RunningServer> =>
  startNode({ dataDir: join(folder, 'data'), env: { GATEHOUSE_POLICY_FILE: join(folder, 'policy.json') } });
const cli = (...words: readonly string[]): Promise<Ran> =>
  command(['--data-dir', join(folder, 'data'), '--json', ...words], {});

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-delete-'));
  writeFileSync(join(folder, 'policy.json'), JSON.stringify({ log_requests: '14d', log_identities: 'plain' }));
  server = await start();
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Makes a second customer with a decision, a label, a list entry and a logged request, as the first one has. */
async function secondCustomer(): Promise<{ readonly id: string; readonly secretKey: string }> {
  const first = server.secretKey;
  const { secretKey, customerId: id } = await newCustomer(server.url, server.dataDir);
  for (const key of [first, secretKey]) {
    const decided = await decide(server.url, key, { ...CALM, entity_keys: { email: 'anna@example.com' } });
    await bearer(server.url, key, 'POST', '/v1/labels', {
      request_id: decided.json['request_id'],
      label: 'fraud',
      note: key === first ? 'another note' : NOTE,
    });
    await bearer(server.url, key, 'POST', '/v1/lists', { kind: 'email', value: 'anna@example.com', action: 'watch' });
  }
  // The log of requests is written when it is five seconds old.
  await sleep(6_000);
  return { id, secretKey };
}

const requestsOf = (number: number): string => join(server.dataDir, 'requests', String(number));

test('A customer is deleted with all data and proved gone while no server runs; others go on as before', async () => {
  const first = server.secretKey;
  const { id, secretKey } = await secondCustomer();
  expect(existsSync(requestsOf(2))).toBe(true);
  await server.stop();
  const unsure = await cli('customers', 'delete', id);
  expect([unsure.code, JSON.parse(unsure.out)]).toMatchObject([1, { error: { code: 'not_confirmed' } }]);
  expect(readFileSync(join(server.dataDir, 'state', 'data.mdb')).includes(NOTE)).toBe(true);

  const deleted = await cli('customers', 'delete', id, '--yes');
  const shown = JSON.parse(deleted.out) as { tables: { table: string; removed: number }[] };
  expect([deleted.code, shown]).toMatchObject([
    0,
    { customer_id: id, state: 'deleted', rows_left: 0, request_files: 1 },
  ]);
  const removed = new Map(shown.tables.map(({ table, removed: rows }) => [table, rows]));
  for (const name of ['customers', 'api-keys', 'labels', 'lists', 'decisions', 'audit'])
    expect([name, (removed.get(name) ?? 0) > 0]).toEqual([name, true]);
  expect(existsSync(requestsOf(2))).toBe(false);
  expect(readFileSync(join(server.dataDir, 'state', 'data.mdb')).includes(NOTE)).toBe(false);
  const again = await cli('customers', 'delete', id, '--yes');
  expect(JSON.parse(again.out)).toMatchObject({ error: { code: 'unknown_customer' } });
  const audit = await cli('audit', '--kind', 'customer.deleted');
  expect(JSON.parse(audit.out)).toMatchObject({ entries: [{ kind: 'customer.deleted', target: id }] });

  server = { ...(await start()), secretKey: first };
  expect((await decide(server.url, secretKey, CALM)).status).toBe(401);
  expect((await decide(server.url, first, CALM)).status).toBe(200);
  const own = await bearer(server.url, first, 'GET', '/v1/decisions?link=entity.email:anna@example.com');
  expect(own.json['data']).toHaveLength(1);
  expect((await bearer(server.url, first, 'GET', '/v1/lists')).json['data']).toHaveLength(1);
}, 60_000);

test('Beside a server its keys are refused at once, and the next start deletes it, unless the suspension was lifted', async () => {
  const first = server.secretKey;
  const [gone, kept] = [await secondCustomer(), await newCustomer(server.url, server.dataDir)];
  for (const id of [gone.id, kept.customerId]) {
    const asked = await cli('customers', 'delete', id, '--yes');
    expect([asked.code, JSON.parse(asked.out)]).toMatchObject([0, { customer_id: id, state: 'at_next_start' }]);
  }
  expect((await decide(server.url, gone.secretKey, CALM)).status).toBe(401);
  expect((await cli('customers', 'suspend', kept.customerId, '--lift')).code).toBe(0);
  expect(readFileSync(join(server.dataDir, 'state', 'data.mdb')).includes(NOTE)).toBe(true);
  await server.stop();
  server = { ...(await start()), secretKey: first };
  const listed = JSON.parse((await cli('customers', 'list')).out) as { customers: { customer_id: string }[] };
  const ids = listed.customers.map(({ customer_id }) => customer_id);
  expect([ids.includes(gone.id), ids.includes(kept.customerId)]).toEqual([false, true]);
  expect(existsSync(requestsOf(3))).toBe(false);
  expect(readFileSync(join(server.dataDir, 'state', 'data.mdb')).includes(NOTE)).toBe(false);
  expect(existsSync(join(server.dataDir, 'deletions.log'))).toBe(false);
  expect((await decide(server.url, gone.secretKey, CALM)).status).toBe(401);
  for (const key of [first, kept.secretKey]) expect((await decide(server.url, key, CALM)).status).toBe(200);
}, 60_000);
