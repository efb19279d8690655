import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { FingerprintHash } from '../../../src/kernel/brand.ts';
import { command, commandAsProcess } from '../../support/command-line.ts';
import { IS_FULL } from '../../support/long.ts';
import { CALM, decide } from '../../support/requests.ts';
import { startServer } from '../../support/server.ts';
import { customer, open, tempFolder, value } from '../state/support.ts';
import { writesOf } from '../../support/writes.ts';

const DAY = 86_400;

async function registry(dataDir: string, ...words: string[]): Promise<[code: number | null, json: unknown]> {
  const { code, out } = await command(['--data-dir', dataDir, '--json', 'registry', ...words]);
  return [code, JSON.parse(out)];
}

async function importBesideServer(dataDir: string, file: string): Promise<[code: number | null, json: unknown]> {
  const { code, out } = await commandAsProcess(['--data-dir', dataDir, '--json', 'registry', 'import', file]);
  return [code, JSON.parse(out)];
}

function hashOf(n: number): FingerprintHash {
  return createHash('sha256').update(`token ${n}`).digest('hex') as FingerprintHash;
}

/** Opens a store that the command line has created, while other commands may use it. */
async function madeStore(dataDir: string) {
  await command(['--data-dir', dataDir, 'customers', 'create', 'first']);
  return open(dataDir);
}

describe('registry show', () => {
  test('registry show prints the origin of an entry, its parts, and the number of customers within 30 days', async () => {
    const dataDir = tempFolder();
    const store = await madeStore(dataDir);
    const now = Math.floor(Date.now() / 1000);
    const [promoted, imported, both] = [hashOf(1), hashOf(2), hashOf(3)];
    for (const number of [1, 2, 3, 4]) {
      await value(store.sightingReports.noteBlocks(customer(number), [promoted, both], now - number));
    }
    for (const fingerprintHash of [imported, both]) {
      const entry = { risk: 95, customers: 9, firstSeenSeconds: 5, lastSeenSeconds: now - 21 * DAY };
      await value(writesOf(store).registry.put({ fingerprintHash, ...entry }));
    }
    await store.close();
    const asPromoted = { risk_score: 90, customers_seen: 4, first_seen: now - 4, last_seen: now - 1 };
    const asImported = { risk_score: 95, customers_seen: 9, first_seen: 5, last_seen: now - 21 * DAY };
    expect(await registry(dataDir, 'show', promoted)).toEqual([
      0,
      {
        fingerprint_hash: promoted,
        ...asPromoted,
        stored_risk_score: 90,
        imported: null,
        promoted: { ...asPromoted, customers_confirmed: 4 },
        customers_within_30_days: 4,
      },
    ]);
    const [, shown] = await registry(dataDir, 'show', imported);
    expect(shown).toMatchObject({ imported: asImported, promoted: null, customers_within_30_days: 0 });
    expect((shown as { risk_score: number }).risk_score).toBeCloseTo(47.5, 0);
    expect((await registry(dataDir, 'show', both))[1]).toMatchObject({
      risk_score: 90,
      stored_risk_score: 95,
      customers_seen: 9,
      first_seen: 5,
      last_seen: now - 1,
      imported: asImported,
      promoted: asPromoted,
    });
  });

  test('registry show of an unknown fingerprint is an error that mentions sightings, if there are any', async () => {
    const dataDir = tempFolder();
    const store = await madeStore(dataDir);
    const now = Math.floor(Date.now() / 1000);
    for (const number of [1, 2]) await value(store.sightingReports.noteBlocks(customer(number), [hashOf(1)], now));
    await store.close();
    const messageOf = async (n: number): Promise<unknown> => {
      const [code, json] = await registry(dataDir, 'show', hashOf(n));
      expect([code, json]).toMatchObject([1, { error: { code: 'not_found' } }]);
      return (json as { error: { message: string } }).error.message;
    };
    expect(await messageOf(1)).toContain('2 of its customers');
    expect(await messageOf(2)).not.toContain('customers');
  });
});

describe('registry remove', () => {
  test('registry remove also removes the sightings, even those without a promotion yet', async () => {
    const dataDir = tempFolder();
    const store = await madeStore(dataDir);
    const now = Math.floor(Date.now() / 1000);
    for (const number of [1, 2, 3]) await value(store.sightingReports.noteBlocks(customer(number), [hashOf(1)], now));
    await value(store.sightingReports.noteBlocks(customer(1), [hashOf(2)], now));
    expect(await registry(dataDir, 'remove', hashOf(1))).toMatchObject([0, { removed: true, sightings_removed: 3 }]);
    expect(await registry(dataDir, 'remove', hashOf(2))).toMatchObject([0, { removed: true, sightings_removed: 1 }]);
    expect(await registry(dataDir, 'remove', hashOf(1))).toMatchObject([1, { error: { code: 'not_found' } }]);
    store.resetRead();
    await value(store.sightingReports.noteBlocks(customer(4), [hashOf(1)], now));
    expect(store.registry.find(hashOf(1), now)).toBeNull();
    await store.close();
  });
});

describe('registry import', () => {
  test('registry import keeps promotions and adds an imported part to their entries', async () => {
    const dataDir = tempFolder();
    const store = await madeStore(dataDir);
    const now = Math.floor(Date.now() / 1000);
    for (const number of [1, 2, 3]) await value(store.sightingReports.noteBlocks(customer(number), [hashOf(7)], now));
    const file = join(dataDir, 'rows.ndjson');
    await writeRows(file, 20);
    expect(await registry(dataDir, 'import', file)).toMatchObject([0, { accepted: 20, rejected: 0 }]);
    store.resetRead();
    expect(store.registry.get(hashOf(7))).toMatchObject({
      imported: { risk: 95 },
      publishedConsensus: { customers: 3 },
    });
    expect(store.registry.get(hashOf(8))?.publishedConsensus).toBeNull();
    await store.close();
  });

  test('During registry import a running server goes on responding and sees entries before the import has ended', async () => {
    const server = await startServer();
    const rows = IS_FULL ? 150_000 : 20_000;
    const file = join(server.dataDir, 'rows.ndjson');
    await writeRows(file, rows);
    const state = { done: false };
    const importing = importBesideServer(server.dataDir, file).finally(() => {
      state.done = true;
    });
    const known = async (n: number): Promise<boolean> => {
      const answer = await decide(server.url, server.secretKey, { ...CALM, session_token: `token ${n}` });
      expect(answer.status).toBe(200);
      return (answer.json['reasons'] as string[]).includes('registry_known_bad');
    };
    let answered = 0;
    let seenMeanwhile = false;
    while (!state.done) {
      const first = await known(0);
      seenMeanwhile ||= first && !(await known(rows - 1));
      answered++;
    }
    expect(await importing).toMatchObject([0, { accepted: rows, rejected: 0 }]);
    expect(answered).toBeGreaterThan(20);
    expect(seenMeanwhile).toBe(true);
    expect([await known(0), await known(rows - 1), await known(rows)]).toEqual([true, true, false]);
    await server.stop();
  }, 120_000);
});

async function writeRows(file: string, rows: number): Promise<void> {
  const out = createWriteStream(file);
  for (let from = 0; from < rows; from += 1_000) {
    const lines = Array.from({ length: Math.min(1_000, rows - from) }, (_, i) =>
      JSON.stringify({ fingerprint_hash: hashOf(from + i), risk_score: 95 }),
    );
    if (!out.write(`${lines.join('\n')}\n`)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'close');
}
