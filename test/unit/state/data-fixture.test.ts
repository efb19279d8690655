import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FingerprintHash } from '../../../src/kernel/brand.ts';
import { openDecisionLog, readDecisions } from '../../../src/history/open-decision-log.ts';
import type { DecisionLog } from '../../../src/history/decision-log.ts';
import { ensureUsable } from '../../../src/state/repair/ensure-usable.ts';
import type { ExtractStore } from '../../../src/state/tables/extract-store.ts';
import { checkIntegrity } from '../../../src/state/repair/integrity-check.ts';
import { deriveKey, openMasterKey, proveMasterKey, type MasterKey } from '../../../src/state/repair/master-key.ts';
import type { Store } from '../../../src/state/feed/open-store.ts';
import { RevocationFile } from '../../../src/state/feed/revocations.ts';
import { ENVIRONMENT_NAMES, TABLES } from '../../../src/state/tables/table-names.ts';
import { unpackFixture, type FullFacts } from '../../support/data-fixture.ts';
import { freeSlices } from '../../support/slices.ts';
import { open } from './support.ts';

/**
 * A data directory of format version 2 with rows in every table, read by the functions that the service reads with. A build that changes a
 * format must still read all of it, after its migration.
 */

let folder: string;
let facts: FullFacts;
let store: Store;
let extract: ExtractStore;
let decisions: DecisionLog;
let master: MasterKey;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-fixture-'));
  facts = unpackFixture(2, 'data', folder);
  const usable = await ensureUsable({ dataDir: folder, simulated: false, repair: true, nowMs: facts.stoppedAtMs });
  if (usable.kind === 'fault' || usable.firstStart) throw new Error('the fixture is not usable');
  store = open(folder);
  if (store.extract === null) throw new Error('the store is read-only');
  extract = store.extract;
  decisions = openDecisionLog(store);
  const opened = openMasterKey(folder, undefined);
  if (opened.kind === 'fault') throw new Error(opened.detail);
  master = opened.key;
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const nowSeconds = (): number => Math.floor(facts.stoppedAtMs / 1000);
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const fingerprint = (text: string): FingerprintHash => sha256(text) as FingerprintHash;

/** The customer of the first start, who has all data but one key pair. */
function demo() {
  const [found] = store.customers.all();
  if (found === undefined) throw new Error('no customer');
  return found.number;
}

test('Every table has rows, so that a migration cannot miss one unseen', async () => {
  // Tables that were added later are empty here; name them with the version that added them.
  const addedLater: readonly string[] = [
    'list-kinds',
    'rules',
    'named-lists',
    'named-list-items',
    'named-list-versions',
    'named-list-replaced',
    'watches',
    'watch-seen',
    'watch-changes',
    'audit',
    'erasures',
    'filler',
    'feed',
    'decision-links',
    'decision-stats',
    'learning-rows',
    'erased',
    'hot-filler',
    'jobs-owners',
  ];
  const checked = await checkIntegrity(folder, ENVIRONMENT_NAMES, 60_000);
  const empty = TABLES.filter(({ environment, name }) => {
    const result = checked.kind === 'ok' ? checked.results.get(environment) : undefined;
    return result?.kind !== 'usable' || (result.tables[name] ?? 0) === 0;
  }).map(({ name }) => name);
  expect(empty).toEqual(addedLater);
});

describe('the durable tables of the fixture', () => {
  test('Customers, keys and revocations are read', () => {
    const customers = store.customers.all();
    expect(customers.map(({ name }) => name)).toEqual(['demo', 'Second']);
    for (const one of customers) {
      expect(store.customers.find(one.number)).toEqual(one);
      expect(store.customers.findById(one.id)).toEqual(one);
    }
    const keys = store.apiKeys.loadAll();
    expect(keys.map(({ kind, customer }) => `${customer} ${kind}`).sort()).toEqual([
      '1 public',
      '1 secret',
      '2 public',
      '2 secret',
    ]);
    const revoked = keys.filter(({ revokedAtSeconds }) => revokedAtSeconds !== null);
    expect(revoked.map(({ hash }) => hash)).toEqual([sha256(facts.revokedKey)]);
    expect(keys.map(({ hash }) => hash)).toContain(sha256(facts.secretKey));
    expect([...new RevocationFile(folder).read().keys()]).toEqual([sha256(facts.revokedKey)]);
    expect(store.counters.get('customers')).toBe(2);
    expect(store.counters.get('keyNumbers')).toBe(4);
  });

  test('The list, the registry and its evidence are read', async () => {
    const blocked = facts.blocked as FingerprintHash;
    expect(store.lists.find(demo(), blocked, nowSeconds())).toBe('block');
    expect(store.lists.get(demo(), blocked, nowSeconds())).toMatchObject({ action: 'block', note: 'of the fixture' });
    const query = { after: null, limit: 10, action: null };
    expect((await store.lists.page(demo(), query, nowSeconds(), freeSlices())).entries).toHaveLength(1);
    const registered = facts.registered as FingerprintHash;
    expect(store.registry.find(registered, nowSeconds())).toMatchObject({ risk: 90, customers: 3 });
    expect(store.registry.get(registered)).not.toBeNull();
    expect(store.sightings.customersOf(fingerprint('session-of-the-fixture-2'), nowSeconds())).toBe(1);
  });

  test('Labels, reviews and reported outcomes are read', async () => {
    expect(store.labels.find(demo(), facts.labelled)).toMatchObject({ label: 'fraud', note: 'of the fixture' });
    const query = {
      after: null,
      limit: 10,
      verdict: null,
      why: null,
      queue: 'all',
      state: null,
      order: 'newest',
    } as const;
    const { rows } = await store.shadowReviews.page(demo(), query, freeSlices());
    expect(rows.map(({ requestId }) => requestId).sort()).toEqual([...facts.decisions].sort());
    expect(store.shadowReviews.find(demo(), facts.reviewed)).toMatchObject({ verdict: 'unsure' });
    expect(store.outcomes?.find(facts.decisions[0] ?? '')).toBe('succeeded');
  });

  test('Webhooks are read with their secrets, which the master key of the fixture decrypts', () => {
    expect(proveMasterKey(folder, master, () => false)).toBeNull();
    const key = deriveKey(master, 'webhook-secrets');
    expect(store.webhooks.opensWith(key)).toBe(true);
    const webhooks = store.webhooks.loadAll();
    expect(webhooks.map(({ id }) => id).sort()).toEqual([facts.webhook, facts.failingWebhook].sort());
    for (const webhook of webhooks) expect(store.webhooks.secretsOf(key, webhook)).not.toBeNull();
  });

  test('Ended deliveries and pending ones are read, with their attempts', async () => {
    const read = await store.deliveries.page(demo(), {
      after: null,
      limit: 10,
      status: null,
      event: null,
      webhookId: null,
      requestId: null,
    });
    const rows = read.kind === 'page' ? read.rows : [];
    expect(rows.map(({ status }) => status).sort()).toEqual(['pending', 'pending', 'succeeded']);
    for (const row of rows) {
      expect(store.deliveries.find(demo(), row.id)).toEqual(row);
      expect(row.attempts.length).toBeGreaterThan(0);
    }
    expect(store.deliveries.pendingCount()).toBe(2);
    expect(store.deliveries.endpointsWithPending()).toContain(facts.failingWebhook);
    expect(store.deliveries.storedUpToSequence()).toBeGreaterThan(0);
  });
});

test('The decision log of the fixture is read, by a command and by the server', () => {
  const ids: string[] = [];
  const reading = readDecisions(store, { customer: null, sinceMs: 0 }, (_, { requestId }) => ids.push(requestId));
  let step = reading.next();
  while (step.done !== true) step = reading.next();
  expect(step.value).toBe(0);
  expect(ids.sort()).toEqual([...facts.decisions].sort());
  for (const id of facts.decisions) expect(decisions.find(demo(), id, facts.stoppedAtMs)).not.toBeNull();
});

describe('the extraction jobs of the fixture', () => {
  test('Jobs are read by page, by id and by what is open', async () => {
    const query = { after: null, limit: 10, status: null, connector: null, operation: null };
    const { rows } = await extract.extractions.page(demo(), query, freeSlices());
    expect(Object.fromEntries(rows.map(({ id, status }) => [id, status]))).toEqual({
      [facts.extraction]: 'succeeded',
      [facts.failed]: 'failed',
      [facts.undelivered]: 'succeeded',
      [facts.running]: 'running',
    });
    expect([...extract.extractions.open()].map(({ job }) => job.id)).toEqual([facts.running]);
    expect([...extract.extractions.deliveries.pending()].map(({ id }) => id)).toEqual([facts.undelivered]);
  });

  test('Records and the open step of a running job are read', () => {
    const recordsOf = (id: string): string => {
      const found = extract.extractions.find(demo(), id as never);
      if (found === null) throw new Error(`no job ${id}`);
      return [...extract.records.from(found.job.number, 0)].map(({ bytes }) => Buffer.from(bytes).toString()).join('');
    };
    expect(recordsOf(facts.extraction)).toMatch(/"Post 1"[^]*"Post 2"/);
    expect(recordsOf(facts.running)).toContain('A page with words.');
    const [open] = [...extract.extractions.open()];
    const steps = extract.steps.from(open?.job.number ?? 0, 0, 10);
    expect(steps.map(({ key }) => key)).toEqual([expect.stringContaining('/site/held')]);
    expect(() => JSON.parse(steps[0]?.stateJson ?? '') as unknown).not.toThrow();
  });

  test('The failure, the session and the response of an idempotency key are read', () => {
    const failed = extract.extractions.find(demo(), facts.failed as never);
    expect(extract.failures.find(failed?.job.requestId ?? '')).toMatchObject({ jobId: facts.failed, count: 1 });
    const key = deriveKey(master, 'extraction-secrets');
    expect(extract.sessions.find(demo(), facts.session, facts.stoppedAtMs)).toMatchObject({ host: 'shop.example' });
    const content = extract.sessions.contentOf(key, demo(), facts.session, facts.stoppedAtMs);
    expect(content?.toString()).toContain('secret');
    const request = {
      customer: demo(),
      key: facts.idempotent.key,
      bodySha256: createHash('sha256').update(facts.idempotent.body).digest(),
    };
    const found = extract.idempotency.find(key, request, facts.stoppedAtMs);
    expect(found.kind === 'replay' && Buffer.from(found.answer).toString()).toContain(facts.extraction);
  });
});

test('The fixture is small enough to be kept for every version', () => {
  const path = new URL('../../fixtures/data-directory-2.json.gz', import.meta.url);
  expect(readFileSync(path).length).toBeLessThan(65_536);
});
