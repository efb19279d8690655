import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { newId } from '../../../../src/kernel/ids.ts';
import { pack, unpack } from '../../../../src/kernel/pack.ts';
import type { Webhook, WebhookHealth, WebhookId } from '../../../../src/work/webhook.ts';
import { HEALTHY } from '../../../../src/work/webhook-health.ts';
import { table } from '../../../../src/state/tables/environment.ts';
import { rowKey } from '../../../../src/state/tables/request-rows.ts';
import { encrypt } from '../../../../src/kernel/encryption.ts';
import { withoutSum, withSum } from '../../../../src/state/tables/value.ts';
import type { Store } from '../../../../src/state/feed/open-store.ts';
import { writesOf } from '../../../support/writes.ts';
import { customer, open, tempFolder, tempStore, value } from '../support.ts';

const NOW = 1_790_000_000_123;
const KEY = randomBytes(32);
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const OTHER = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
/** Bytes before the packed fields of a stored webhook. */
const HEALTH_BYTES = 41;

function webhook(number: number, extra: Partial<Webhook> = {}, atMs = NOW): Webhook {
  return {
    id: newId('wh', atMs) as WebhookId,
    customer: customer(number),
    url: 'https://hooks.example.com/gatehouse?ü=1',
    eventTypes: ['BLOCK', 'REVIEW'],
    description: null,
    disabled: false,
    health: HEALTHY,
    createdAtMs: atMs,
    updatedAtMs: atMs,
    ...extra,
  };
}

async function created(store: Store, number: number, extra: Partial<Webhook> = {}, atMs = NOW): Promise<Webhook> {
  const made = webhook(number, extra, atMs);
  expect(await value(writesOf(store).webhooks.create(KEY, made, SECRET))).toBe('created');
  return made;
}

const SICK: WebhookHealth = {
  status: 'unhealthy',
  consecutiveFailures: 11,
  unhealthySinceMs: NOW - 5.5,
  cooldownMs: 30_000,
  nextProbeAtMs: null,
  lastSuccessAtMs: 0,
  lastFailureAtMs: NOW,
};

describe('webhooks', () => {
  test('Webhooks are read back as created, with their secret, also after a restart', async () => {
    const folder = tempFolder();
    const store = open(folder);
    const plain = await created(store, 1);
    const full = await created(store, 2, {
      description: 'für die Kasse',
      health: SICK,
      eventTypes: ['ALLOW'],
    });
    await store.close();
    const again = open(folder);
    const { webhooks } = again;
    expect(webhooks.find(plain.customer, plain.id)).toEqual(plain);
    expect(webhooks.find(full.customer, full.id)).toEqual(full);
    expect(webhooks.loadAll()).toEqual([plain, full]);
    expect(webhooks.secretsOf(KEY, plain)).toEqual({ current: SECRET, previous: [] });
    await again.close();
  });

  test('A webhook belongs to its customer only', async () => {
    const store = tempStore();
    const { webhooks } = store;
    const made = await created(store, 2);
    for (const number of [1, 3]) {
      expect(webhooks.find(customer(number), made.id)).toBeNull();
      expect(webhooks.page(customer(number), { after: null, limit: 10 })).toEqual({ rows: [], next: null });
      expect(await value(writesOf(store).webhooks.remove(customer(number), made.id))).toBe(false);
      const change = { secret: OTHER, previousUntilMs: null, nowMs: NOW };
      expect(await value(writesOf(store).webhooks.rotate(KEY, customer(number), made.id, change))).toBeNull();
      expect(webhooks.secretsOf(KEY, { customer: customer(number), id: made.id })).toBeNull();
    }
    expect(webhooks.find(customer(2), made.id)).toEqual(made);
  });

  test('Webhooks are listed newest first, a page at a time', async () => {
    const store = tempStore();
    const { webhooks } = store;
    const ids: string[] = [];
    for (let i = 0; i < 7; i++) ids.unshift((await created(store, 1, {}, NOW + i)).id);
    await created(store, 2);
    for (const limit of [1, 3, 7, 8]) {
      const seen: string[] = [];
      let after: WebhookId | null = null;
      do {
        const page = webhooks.page(customer(1), { after, limit });
        expect(page.rows.length).toBeLessThanOrEqual(limit);
        seen.push(...page.rows.map(({ id }) => id));
        after = page.next;
      } while (after !== null);
      expect(seen).toEqual(ids);
    }
  });

  test('A customer has at most 20 webhooks, even if more are created concurrently', async () => {
    const store = tempStore();
    const { webhooks } = store;
    const last = customer(0xffff_ffff);
    const made = await Promise.all(
      Array.from({ length: 25 }, () => value(writesOf(store).webhooks.create(KEY, webhook(last), SECRET))),
    );
    expect(made.filter((outcome) => outcome === 'created')).toHaveLength(20);
    expect(made.filter((outcome) => outcome === 'limit_reached')).toHaveLength(5);
    expect([webhooks.count(last), webhooks.count(customer(1))]).toEqual([20, 0]);
    const [row] = webhooks.page(last, { after: null, limit: 1 }).rows;
    expect(await value(writesOf(store).webhooks.remove(last, row?.id ?? ('' as WebhookId)))).toBe(true);
    await created(store, last);
    await created(store, 1);
  });

  test('A change of a webhook keeps its other fields and its secret, and rows of older versions are enabled', async () => {
    const store = tempStore();
    const { webhooks } = store;
    const made = await created(store, 1, { health: SICK });
    const change = { disabled: true, url: 'https://new.example/', description: 'moved', nowMs: NOW + 7 };
    const changed = await value(writesOf(store).webhooks.change(made.customer, made.id, change));
    const { nowMs, ...fields } = change;
    expect(changed).toEqual({ ...made, ...fields, updatedAtMs: nowMs });
    expect(webhooks.find(made.customer, made.id)).toEqual(changed);
    expect(webhooks.secretsOf(KEY, made)).toEqual({ current: SECRET, previous: [] });
    expect(await value(writesOf(store).webhooks.change(customer(2), made.id, change))).toBeNull();
    expect(
      await value(writesOf(store).webhooks.change(made.customer, made.id, { health: HEALTHY, nowMs: NOW })),
    ).toMatchObject({
      disabled: true,
      health: HEALTHY,
    });
  });

  test('A removed webhook cannot be found any more', async () => {
    const store = tempStore();
    const { webhooks } = store;
    const made = await created(store, 1);
    expect(await value(writesOf(store).webhooks.remove(made.customer, made.id))).toBe(true);
    expect(await value(writesOf(store).webhooks.remove(made.customer, made.id))).toBe(false);
    expect(await value(writesOf(store).webhooks.remove(made.customer, 'wh_x' as WebhookId))).toBe(false);
    expect(webhooks.find(made.customer, made.id)).toBeNull();
    expect(webhooks.secretsOf(KEY, made)).toBeNull();
    expect(webhooks.loadAll()).toEqual([]);
  });
});

describe('the secret of a webhook', () => {
  test('A secret is stored encrypted and can be decrypted only with its own key, for its own webhook', async () => {
    const store = tempStore();
    const { webhooks } = store;
    const made = await created(store, 1);
    const rows = table(store.state, 'webhooks');
    const key = rowKey('wh', made.customer, made.id) ?? Buffer.alloc(0);
    const stored = rows.getBinary(key) ?? Buffer.alloc(0);
    expect(stored.includes(SECRET) || stored.includes(Buffer.alloc(32, 7))).toBe(false);
    expect(webhooks.secretsOf(randomBytes(32), made)).toBeNull();
    expect(webhooks.find(made.customer, made.id)).toEqual(made);
    // Moved to another webhook, it cannot be decrypted.
    const other = await created(store, 1, {}, NOW + 1);
    const place = rowKey('wh', other.customer, other.id) ?? Buffer.alloc(0);
    await rows.put(place, withSum(place, withoutSum(stored)));
    expect(webhooks.secretsOf(KEY, other)).toBeNull();
  });

  test('A replaced secret stays valid beside the new one until its grace period ends, whatever follows', async () => {
    const store = tempStore();
    const { webhooks } = store;
    const made = await created(store, 1);
    const until = NOW + 1_000;
    const first = { secret: OTHER, previousUntilMs: until, nowMs: NOW + 5 };
    const rotated = await value(writesOf(store).webhooks.rotate(KEY, made.customer, made.id, first));
    expect(rotated).toEqual({ ...made, updatedAtMs: NOW + 5 });
    expect(webhooks.find(made.customer, made.id)).toEqual(rotated);
    const one = { secret: SECRET, untilMs: until };
    expect(webhooks.secretsOf(KEY, made)).toEqual({ current: OTHER, previous: [one] });
    const rotate = (secret: string, previousUntilMs: number | null, nowMs: number) =>
      value(writesOf(store).webhooks.rotate(KEY, made.customer, made.id, { secret, previousUntilMs, nowMs }));
    const two = { secret: OTHER, untilMs: until + 1 };
    await rotate('third', two.untilMs, until - 1);
    expect(webhooks.secretsOf(KEY, made)).toEqual({ current: 'third', previous: [two, one] });
    const three = { secret: 'third', untilMs: until + 2 };
    await rotate('fourth', three.untilMs, until);
    expect(webhooks.secretsOf(KEY, made)).toEqual({ current: 'fourth', previous: [three, two] });
    await rotate('fifth', null, until);
    expect(webhooks.secretsOf(KEY, made)).toEqual({ current: 'fifth', previous: [] });
  });

  test('At most the four newest replaced secrets are kept beside the current one', async () => {
    const store = tempStore();
    const { webhooks } = store;
    const made = await created(store, 1);
    for (let i = 1; i <= 6; i++) {
      const change = { secret: `${i}`, previousUntilMs: NOW + 100, nowMs: NOW + i };
      await value(writesOf(store).webhooks.rotate(KEY, made.customer, made.id, change));
    }
    const secrets = webhooks.secretsOf(KEY, made);
    expect([secrets?.current, secrets?.previous.map(({ secret }) => secret)]).toEqual(['6', ['5', '4', '3', '2']]);
  });

  test.each([
    ['one secret', [SECRET, null, null], []],
    ['a rotation', [OTHER, SECRET, NOW + 1], [{ secret: SECRET, untilMs: NOW + 1 }]],
  ])('A secret stored by an older version with %s is read', async (_name, stored, previous) => {
    const store = tempStore();
    const made = await created(store, 1);
    const rows = table(store.state, 'webhooks');
    const key = rowKey('wh', made.customer, made.id) ?? Buffer.alloc(0);
    const value = withoutSum(rows.getBinary(key) ?? Buffer.alloc(0));
    const fields = [...unpack(value.subarray(HEALTH_BYTES))];
    fields[5] = encrypt(KEY, pack(stored), `webhook/${made.customer}/${made.id}`);
    await rows.put(key, withSum(key, Buffer.concat([value.subarray(0, HEALTH_BYTES), pack(fields)])));
    expect(store.webhooks.secretsOf(KEY, made)).toEqual({ current: stored[0], previous });
  });

  test('The store reports whether a key decrypts its webhook secrets', async () => {
    const store = tempStore();
    const { webhooks } = store;
    expect(webhooks.opensWith(KEY)).toBeNull();
    await created(store, 1);
    expect([webhooks.opensWith(KEY), webhooks.opensWith(randomBytes(32))]).toEqual([true, false]);
  });

  test('A secret that can no longer be decrypted can still be replaced', async () => {
    const store = tempStore();
    const { webhooks } = store;
    const made = await created(store, 1);
    const other = randomBytes(32);
    await value(
      writesOf(store).webhooks.rotate(other, made.customer, made.id, {
        secret: OTHER,
        previousUntilMs: NOW,
        nowMs: NOW,
      }),
    );
    expect(webhooks.secretsOf(other, made)).toEqual({ current: OTHER, previous: [] });
  });
});

describe('a change of webhook health', () => {
  test('Health of many webhooks is written at once and leaves other fields unchanged', async () => {
    const store = tempStore();
    const { webhooks } = store;
    const made = [await created(store, 1, { description: 'a' }), await created(store, 2)];
    await value(
      writesOf(store).webhooks.rotate(KEY, customer(1), made[0]?.id ?? ('' as WebhookId), {
        secret: OTHER,
        previousUntilMs: NOW,
        nowMs: NOW,
      }),
    );
    await value(
      writesOf(store).webhooks.healthChanged(
        made.map((one) => ({ ...one, url: 'https://stale.example', health: SICK })),
      ),
    );
    expect(webhooks.loadAll()).toEqual(made.map((one) => ({ ...one, health: SICK })));
    expect(made.map((one) => webhooks.secretsOf(KEY, one)?.current)).toEqual([OTHER, SECRET]);
    await value(writesOf(store).webhooks.healthChanged(made.map((one) => ({ ...one, health: HEALTHY }))));
    expect(webhooks.loadAll()).toEqual(made);
  });

  test('A change of health does not restore a removed webhook', async () => {
    const store = tempStore();
    const { webhooks } = store;
    const made = await created(store, 1);
    const removed = writesOf(store).webhooks.remove(made.customer, made.id);
    await value(writesOf(store).webhooks.healthChanged([{ ...made, health: SICK }]));
    await removed;
    expect(webhooks.loadAll()).toEqual([]);
  });
});
