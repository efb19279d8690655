import { describe, expect, test } from 'vitest';
import { newId } from '../../../../src/kernel/ids.ts';
import { AUDIT_FACTS_BYTES_MAX, AUDIT_KEEP_SECONDS } from '../../../../src/kernel/limits.ts';
import { boundedFacts } from '../../../../src/state/feed/apply/audit-record.ts';
import { type AuditQuery, NO_CUSTOMER } from '../../../../src/state/tables/audit-table.ts';
import { ensureUsable } from '../../../../src/state/repair/ensure-usable.ts';
import { newKeyPair } from '../../../../src/state/feed/key-changes.ts';
import type { Store } from '../../../../src/state/feed/open-store.ts';
import { pruneState } from '../../../../src/state/feed/prune.ts';
import type { AuditEntry } from '../../../../src/work/audit.ts';
import { HEALTHY } from '../../../../src/work/webhook-health.ts';
import type { WebhookId } from '../../../../src/work/webhook.ts';
import { freeSlices } from '../../../support/slices.ts';
import { boundedFeed, writesOf } from '../../../support/writes.ts';
import { customer, hashOf, open, tempFolder, tempStore, value } from '../support.ts';

const NOW = 1_790_000_000_000;
const SECONDS = NOW / 1000;
const ALL: AuditQuery = { after: null, limit: 1000, kind: null, sinceMs: null, untilMs: null };
const put = (seed: number) =>
  ({ fingerprintHash: hashOf(seed), action: 'block', note: 'my secret note', expiresAtSeconds: null }) as const;

async function entriesOf(
  store: Store,
  number = 1,
  query: Partial<AuditQuery> = {},
): Promise<readonly Omit<AuditEntry, 'atMs'>[]> {
  const { entries } = await store.audit.page(customer(number), { ...ALL, ...query }, freeSlices());
  return entries.map(({ atMs: _atMs, ...entry }) => entry);
}

const kindsOf = async (store: Store, number = 1): Promise<string[]> =>
  (await entriesOf(store, number)).map(({ kind }) => kind);

describe('the audit log', () => {
  test('Changes of accounts are recorded with actor, target, before and after, newest first', async () => {
    const store = tempStore();
    const { customers, apiKeys } = writesOf(store);
    const { id } = await value(customers.create('Acme', NOW));
    const pair = await value(apiKeys.createPair(customer(1), 7, SECONDS, ['https://shop.example']));
    await value(store.changes.commit({ kind: 'key.revoked', hash: pair.secret.key.hash }, { by: 'cli', nowMs: NOW }));
    const prefix = pair.secret.key.prefix;
    const by = 'key:sk_live_test';
    const secret = { kind: 'secret', rate_limit: 7, origins: [] };
    const open = { kind: 'public', rate_limit: 7, origins: ['https://shop.example'] };
    expect(await entriesOf(store)).toEqual([
      {
        by: 'cli',
        kind: 'key.revoked',
        target: prefix,
        before: { kind: 'secret' },
        after: { kind: 'secret', revoked_at: SECONDS },
      },
      { by, kind: 'key.created', target: pair.public.key.prefix, before: null, after: open },
      { by, kind: 'key.created', target: prefix, before: null, after: secret },
      { by, kind: 'customer.created', target: id, before: null, after: { name: 'Acme' } },
    ]);
    // Refused changes are not recorded.
    await value(store.changes.commit({ kind: 'key.revoked', hash: pair.secret.key.hash }, { by: 'cli', nowMs: NOW }));
    expect(await entriesOf(store)).toHaveLength(4);
  });

  test('Changes of lists are recorded without notes, and a batch is one entry, whichever way it is written', async () => {
    const store = tempStore();
    const { lists } = writesOf(store);
    await value(lists.put(customer(1), put(1), SECONDS));
    await value(lists.put(customer(1), { ...put(1), action: 'watch', expiresAtSeconds: SECONDS + 9 }, SECONDS));
    await value(lists.remove(customer(1), hashOf(1), SECONDS));
    await value(lists.remove(customer(1), hashOf(1), SECONDS));
    const seeds = (count: number) => Array.from({ length: count }, (_, seed) => put(seed));
    await value(lists.putMany(customer(1), seeds(50), SECONDS));
    await value(lists.putMany(customer(1), seeds(60), SECONDS));
    await value(lists.putMany(customer(1), [], SECONDS));
    const facts = (await entriesOf(store)).map(({ kind, before, after }) => [kind, before, after]);
    const watch = { action: 'watch', expires_at: SECONDS + 9 };
    expect(facts).toEqual([
      ['list.batch', null, { entries: 60, created: 10, block: 60, allow: 0, watch: 0 }],
      ['list.batch', null, { entries: 50, created: 50, block: 50, allow: 0, watch: 0 }],
      ['list.removed', watch, null],
      ['list.put', { action: 'block', expires_at: null }, watch],
      ['list.put', null, { action: 'block', expires_at: null }],
    ]);
    expect(JSON.stringify(facts)).not.toContain('secret');
  });

  test('Changes of webhooks are recorded without secrets and queries, and health only when its status changes', async () => {
    const store = tempStore();
    const { webhooks } = writesOf(store);
    const key = Buffer.alloc(32, 1);
    const id = newId('wh', NOW) as WebhookId;
    const fields = { description: 'private', disabled: false, health: HEALTHY, createdAtMs: NOW, updatedAtMs: NOW };
    const webhook = {
      id,
      customer: customer(1),
      url: 'https://hooks.example.com/in?token=abc',
      eventTypes: ['BLOCK'] as const,
      ...fields,
    };
    await value(webhooks.create(key, webhook, 'whsec_hidden'));
    await value(webhooks.change(customer(1), id, { disabled: true, nowMs: NOW }));
    await value(webhooks.rotate(key, customer(1), id, { secret: 'whsec_next', previousUntilMs: null, nowMs: NOW }));
    const sick = { ...HEALTHY, status: 'unhealthy', consecutiveFailures: 10 } as const;
    for (const failures of [10, 11]) {
      await value(webhooks.healthChanged([{ ...webhook, health: { ...sick, consecutiveFailures: failures } }]));
    }
    await value(webhooks.remove(customer(1), id));
    const entries = await entriesOf(store);
    const url = 'https://hooks.example.com/in?…';
    // The health was reported with an earlier time.
    expect(entries.map(({ kind, before, after }) => [kind, before, after])).toEqual([
      ['webhook.rotated', null, null],
      [
        'webhook.changed',
        { url, event_types: ['BLOCK'], disabled: false },
        { url, event_types: ['BLOCK'], disabled: true },
      ],
      ['webhook.created', null, { url, event_types: ['BLOCK'], disabled: false }],
      ['webhook.removed', { url, event_types: ['BLOCK'], disabled: true }, null],
      ['webhook.health', { status: 'healthy' }, { status: 'unhealthy' }],
    ]);
    expect(JSON.stringify(entries)).not.toMatch(/whsec|token|private/);
  });

  test('Changes of the registry belong to no customer, and machine writes are not recorded', async () => {
    const store = tempStore();
    const { registry, sightings } = writesOf(store);
    const seen = { risk: 5, customers: 1, firstSeenSeconds: 1, lastSeenSeconds: 2 };
    await value(registry.put({ fingerprintHash: hashOf(1), ...seen }));
    await value(store.sightingReports.noteBlocks(customer(1), [hashOf(1)], SECONDS));
    await value(sightings.forgetFingerprint(hashOf(1)));
    await value(sightings.forgetFingerprint(hashOf(2)));
    expect(await kindsOf(store, 1)).toEqual([]);
    expect((await entriesOf(store, NO_CUSTOMER)).map(({ kind, before, after }) => [kind, before, after])).toEqual([
      ['registry.removed', { entry: true, customers: 1 }, null],
      ['registry.imported', null, { entries: 1 }],
    ]);
  });

  test('A customer sees only its own entries, in pages, by kind and by time', async () => {
    const store = tempStore();
    const { lists } = writesOf(store);
    for (let i = 0; i < 7; i++) {
      await value(lists.put(customer(1), put(i), SECONDS + i));
      await value(lists.put(customer(2), put(i), SECONDS + i));
    }
    await value(store.changes.commit(newKeyPair(customer(1)).change, { by: 'cli', nowMs: NOW + 3_500 }));
    const targets: (string | null)[] = [];
    let after: string | null = null;
    do {
      const page = await store.audit.page(customer(1), { ...ALL, after, limit: 2 }, freeSlices());
      expect(page.entries.length).toBeLessThanOrEqual(2);
      targets.push(...page.entries.map(({ target }) => target));
      after = page.next;
    } while (after !== null);
    expect(targets).toEqual((await entriesOf(store)).map(({ target }) => target));
    expect(targets).toHaveLength(9);
    expect(await entriesOf(store, 1, { kind: 'key.created' })).toHaveLength(2);
    expect(await entriesOf(store, 1, { sinceMs: NOW + 5_000 })).toHaveLength(2);
    expect(await entriesOf(store, 1, { untilMs: NOW + 5_000 })).toHaveLength(7);
    expect(await entriesOf(store, 1, { sinceMs: NOW + 5_000, untilMs: NOW + 6_000 })).toHaveLength(1);
    expect(await entriesOf(store, 3)).toEqual([]);
    expect((await store.audit.page(customer(1), { ...ALL, after: 'x' }, freeSlices())).entries).toHaveLength(9);
  });

  test('Above its limit a customer loses its oldest entries about content before those about accounts', async () => {
    const store = tempStore();
    const feed = boundedFeed(store, { auditEntries: 4 });
    const { lists } = writesOf(store, feed);
    await value(feed.commit(newKeyPair(customer(1)).change, { by: 'cli', nowMs: NOW }));
    for (let i = 1; i <= 10; i++) await value(lists.put(customer(1), put(i), SECONDS + i));
    expect(await kindsOf(store)).toEqual(['list.put', 'list.put', 'key.created', 'key.created']);
    expect((await entriesOf(store)).map(({ target }) => target).slice(0, 2)).toEqual([hashOf(10), hashOf(9)]);
    await value(feed.commit(newKeyPair(customer(1)).change, { by: 'cli', nowMs: NOW + 60_000 }));
    await value(feed.commit(newKeyPair(customer(1)).change, { by: 'cli', nowMs: NOW + 61_000 }));
    expect(await kindsOf(store)).toEqual(Array(4).fill('key.created'));
    expect(store.audit.rowsOf(customer(1))).toBe(4);
  });

  test('Entries are pruned after 400 days, survive a restart, and pass the integrity check', async () => {
    const folder = tempFolder();
    expect((await ensureUsable({ dataDir: folder, simulated: false, repair: true, nowMs: NOW })).kind).toBe('ok');
    const before = open(folder);
    const { lists } = writesOf(before);
    await value(lists.put(customer(1), put(1), SECONDS));
    await value(lists.put(customer(1), put(2), SECONDS + AUDIT_KEEP_SECONDS));
    await before.close();
    expect(await ensureUsable({ dataDir: folder, simulated: false, repair: false, nowMs: NOW })).toMatchObject({
      kind: 'ok',
    });
    const store = open(folder);
    expect(await kindsOf(store)).toHaveLength(2);
    const at = NOW + AUDIT_KEEP_SECONDS * 1000 + 1_000;
    expect(await pruneState(store, at, 100, ['audit'])).toEqual({ removed: 1, faults: [] });
    expect((await entriesOf(store)).map(({ target }) => target)).toEqual([hashOf(2)]);
    expect(store.audit.rowsOf(customer(1))).toBe(1);
    await store.close();
  });

  test('A customer may keep entries for a shorter time', async () => {
    const store = open(tempFolder());
    const { lists } = writesOf(store);
    for (const of of [1, 2]) await value(lists.put(customer(of), put(1), SECONDS));
    const keptMs = (of: number): number => (of === 1 ? 30 : 400) * 86_400_000;
    const kept = { audit: keptMs, labels: keptMs, reviews: keptMs };
    const at = SECONDS * 1_000 + 31 * 86_400_000;
    expect(await pruneState({ ...store, kept }, at, 100, ['audit'])).toEqual({ removed: 1, faults: [] });
    expect([1, 2].map((of) => store.audit.rowsOf(customer(of)))).toEqual([0, 1]);
    await store.close();
  });

  test.each([
    [{ name: 'x'.repeat(10_000) }],
    [{ origins: Array.from({ length: 50 }, (_, i) => `https://${'ü'.repeat(100)}${i}.example`) }],
    [Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`field${i}`, i]))],
  ])('Facts have at most 900 bytes', (facts) => {
    const bounded = boundedFacts(facts);
    expect(Buffer.byteLength(JSON.stringify(bounded))).toBeLessThanOrEqual(AUDIT_FACTS_BYTES_MAX);
    expect(bounded).not.toEqual({});
  });
});
