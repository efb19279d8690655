import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { exportDecisions } from '../../../src/cli/decision-export.ts';
import type { CustomerNumber, FingerprintHash } from '../../../src/kernel/brand.ts';
import { openDecisionLog } from '../../../src/history/open-decision-log.ts';
import { command, type Ran } from '../../support/command-line.ts';
import { decide } from '../state/decision-log-support.ts';
import { open } from '../state/support.ts';
import { writesOf } from '../../support/writes.ts';

const ROWS = 3_000;
const NOW = Date.now();

let folder = '';
let dataDir = '';
let customerId = '';
const ids: string[] = [];

function cli(...args: string[]): Promise<Ran> {
  return command(['--data-dir', dataDir, 'decisions', 'export', ...args]);
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-export-'));
  dataDir = join(folder, 'data');
  await command(['--data-dir', dataDir, 'customers', 'create', 'Export']);
  const store = open(dataDir);
  const log = openDecisionLog(store);
  const [made] = store.customers.all();
  if (made === undefined) throw new Error('the customer was not created');
  customerId = made.id;
  const customer = made.number;
  const other = (customer + 1) as CustomerNumber;
  for (let n = 0; n < ROWS; n++)
    ids.push(
      decide(log, customer, {
        occurredAtMs: NOW - n * 1_000,
        decision: n % 2 === 0 ? 'BLOCK' : 'ALLOW',
        reasons: ['a,"b'],
      }),
    );
  decide(log, other, { occurredAtMs: NOW, eventType: '=cmd()' });
  const judged = { requestId: ids[0] ?? '', fingerprintHash: 'a'.repeat(64) as FingerprintHash, publicKey: false };
  await writesOf(store).feedback.label(customer, judged, 'fraud', null, 123);
  store.outcomes?.put(ids[1] ?? '', 'declined');
  await store.outcomes?.flush(NOW);
  await store.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('gatehouse decisions export', () => {
  test('NDJSON has each decision once, with its label and its outcome', async () => {
    const ran = await cli('--customer', customerId);
    expect(ran.code).toBe(0);
    const rows = ran.out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(new Set(rows.map((row) => row['request_id']))).toEqual(new Set(ids));
    const rowOf = (id: string | undefined): unknown => rows.find((row) => row['request_id'] === id);
    expect(rowOf(ids[0])).toMatchObject({ customer_id: customerId, label: 'fraud', labelled_at: 123, outcome: null });
    expect(rowOf(ids[1])).toMatchObject({ label: null, outcome: 'declined', decision: 'ALLOW', event_type: 'login' });
    expect(ran.err).toContain(`${ROWS} decisions`);
  });

  test('CSV has a header and quotes what needs it, and no cell is a formula', async () => {
    const ran = await cli('--format', 'csv', '--since', String(Math.floor(NOW / 1000) - 1));
    const [header = '', ...lines] = ran.out.trim().split('\n');
    expect(header).toMatch(/^customer_id,request_id,occurred_at_ms,event_type,decision,/);
    expect(lines.length).toBeGreaterThanOrEqual(2);
    expect(ran.out).toContain(",'=cmd(),");
    expect(ran.out).toContain('"[{""reason"":""a,\\""b""');
  });

  test('Parquet has the same rows as NDJSON, in groups, with typed columns and null for what is missing', async () => {
    const lines = (await cli()).out.trim().split('\n');
    const expected = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const store = open(dataDir);
    const output = new PassThrough();
    const written = buffer(output);
    const options = { customerId: null, sinceSeconds: 0, untilSeconds: 1e10, format: 'parquet' } as const;
    const outcome = await exportDecisions(store, options, output, 1_000);
    output.end();
    await store.close();
    expect(outcome).toMatchObject({ kind: 'ok', json: { rows: ROWS + 1 } });
    const bytes = await written;
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    expect(parquetMetadata(file).row_groups.map(({ num_rows: rows }) => Number(rows))).toEqual([
      1_000, 1_000, 1_000, 1,
    ]);
    const rows = (await parquetReadObjects({ file })).map((row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => [name, typeof value === 'bigint' ? Number(value) : value]),
      ),
    );
    const byId = (a: Record<string, unknown>, b: Record<string, unknown>): number =>
      String(a['request_id']).localeCompare(String(b['request_id']));
    expect(rows.toSorted(byId)).toEqual(expected.toSorted(byId));
  });

  test('Parquet is not written to a terminal', async () => {
    const store = open(dataDir);
    const terminal = Object.assign(new PassThrough(), { isTTY: true });
    const options = { customerId: null, sinceSeconds: 0, untilSeconds: 1e10, format: 'parquet' } as const;
    expect(await exportDecisions(store, options, terminal)).toMatchObject({ kind: 'error', code: 'usage' });
    expect(terminal.readableLength).toBe(0);
    await store.close();
  });

  test('Only decisions between both times are written', async () => {
    const since = Math.floor(NOW / 1000) - 100;
    const ran = await cli(
      '--customer',
      customerId,
      '--since',
      String(since),
      '--until',
      new Date((since + 50) * 1000).toISOString(),
    );
    expect(ran.out.trim().split('\n')).toHaveLength(50);
  });

  test('An unknown customer, time or format is an error', async () => {
    expect((await cli('--customer', 'cus_none')).code).toBe(1);
    expect((await cli('--since', 'yesterday')).code).toBe(2);
    expect((await cli('--format', 'xlsx')).code).toBe(2);
  });
});

describe('gatehouse models rows', () => {
  test('The command counts the decisions, and names what is missing to learn from them', async () => {
    const ran = await command(['--data-dir', dataDir, '--json', 'models', 'rows', '--customer', customerId]);
    expect(ran.code).toBe(0);
    expect(JSON.parse(ran.out)).toMatchObject({
      decisions: ROWS,
      missing: [expect.stringContaining('fraud sessions'), expect.stringContaining('of 15000')],
      shadow_only: true,
    });
    expect((await command(['--data-dir', dataDir, 'models', 'rows', '--customer', 'cus_none'])).code).toBe(1);
  });

  test('models train refuses too few rows, and names what is missing', async () => {
    const ran = await command(['--data-dir', dataDir, 'models', 'train', '--out', join(folder, 'candidates')]);
    expect(ran.code).toBe(1);
    expect(ran.err).toMatch(/fraud sessions \d of 150, rows \d+ of 15000/);
  });
});
