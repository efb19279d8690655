import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../../src/kernel/ids.ts';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import type { ExtractionId } from '../../../src/work/extraction-job.ts';
import { command, type Ran } from '../../support/command-line.ts';
import { open } from '../state/support.ts';

const AT_MS = Date.UTC(2026, 10, 21, 6);

let dataDir = '';
beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-failures-'));
});
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

function cli(...args: readonly string[]): Promise<Ran> {
  return command(['--data-dir', dataDir, ...args]);
}

describe('failures show', () => {
  const requestId = newId('req', AT_MS);
  const jobId = newId('ext', AT_MS) as ExtractionId;
  let customerId = '';

  beforeAll(async () => {
    const made = JSON.parse((await cli('--json', 'customers', 'create', 'Acme')).out) as {
      readonly customer_id: string;
    };
    customerId = made.customer_id;
    const store = open(dataDir);
    const customer = store.customers.findById(customerId)?.number ?? (0 as CustomerNumber);
    await store.extract?.root.transaction(() => {
      const entries = Array.from({ length: 20 }, (_, i) => ({
        atMs: AT_MS + 1_000 * i,
        reason: 'source_unavailable' as const,
        step: `https://x.example/${i}`,
        detail: `status 50${i % 10}`,
      }));
      store.extract?.failures.add({ requestId, jobId, customer }, entries);
    });
    await store.close();
  });

  test('failures show prints the job, its customer, and what went wrong with which page', async () => {
    const { code, out } = await cli('failures', 'show', requestId);
    expect(code).toBe(0);
    for (const text of [requestId, jobId, customerId, 'https://x.example/0', 'status 500', '2026-11-21T06:00:00Z'])
      expect(out).toContain(text);
    expect(out).toMatch(/and \d+ more in between/);
  });

  test('Control characters of a site reach no terminal, in text or in JSON', async () => {
    const hostile = newId('req', AT_MS + 1);
    const store = open(dataDir);
    const customer = store.customers.findById(customerId)?.number ?? (0 as CustomerNumber);
    const detail = 'status \u009b2J\u001b[2K\rgone\u202ereversed\u007f';
    await store.extract?.root.transaction(() => {
      const entry = {
        atMs: AT_MS,
        reason: 'source_unavailable' as const,
        step: 'https://x.example/\u009d0;title\u0007',
        detail,
      };
      store.extract?.failures.add({ requestId: hostile, jobId, customer }, [entry]);
    });
    await store.close();
    const obeyed = /(?!\n)[\p{Cc}\u202a-\u202e]/u;
    const { out } = await cli('failures', 'show', hostile);
    expect(out).toContain(String.raw`status \u009b2J\u001b[2K\u000dgone\u202ereversed\u007f`);
    expect(out).not.toMatch(obeyed);
    const { out: json } = await cli('--json', 'failures', 'show', hostile);
    expect(json).not.toMatch(obeyed);
    expect(JSON.parse(json)).toMatchObject({ entries: [{ detail }] });
  });

  test('failures show --json prints the same', async () => {
    const { code, out } = await cli('--json', 'failures', 'show', requestId);
    const json = JSON.parse(out) as { readonly entries: readonly object[] };
    expect(code).toBe(0);
    expect(json).toMatchObject({ request_id: requestId, extraction_id: jobId, customer_id: customerId, count: 20 });
    expect(json.entries[0]).toEqual({
      at: AT_MS / 1_000,
      reason: 'source_unavailable',
      step: 'https://x.example/0',
      detail: 'status 500',
    });
  });

  test('failures show reports an error when nothing is known of a request id, or when it is not one', async () => {
    expect(await cli('--json', 'failures', 'show', newId('req', AT_MS))).toMatchObject({
      code: 1,
      out: expect.stringContaining('"not_found"'),
    });
    for (const id of ['x', jobId]) {
      const { code, out } = await cli('--json', 'failures', 'show', id);
      expect([code, out]).toEqual([1, expect.stringContaining('"malformed_request_id"')]);
    }
  });
});
