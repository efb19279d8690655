import { describe, expect, test } from 'vitest';
import { hashOfKey } from '../../../src/state/tables/key-table.ts';
import { checkKeyText } from '../../../src/kernel/key-text.ts';
import { customer, open, tempFolder, tempStore, value } from './support.ts';
import { writesOf } from '../../support/writes.ts';

describe('customers in the store', () => {
  test('Customers are numbered from 1, found by number and by id, and survive a restart', async () => {
    const folder = tempFolder();
    const store = open(folder);
    const first = await value(writesOf(store).customers.create('Acme', 1_700_000_000_500));
    const second = await value(writesOf(store).customers.create('Bolt', 1_700_000_001_000));
    expect([first.number, second.number]).toEqual([1, 2]);
    await store.close();

    const again = open(folder);
    expect(again.customers.findById(first.id)).toEqual({ ...first, name: 'Acme', createdAtSeconds: 1_700_000_000 });
    expect(again.customers.find(customer(2))).toEqual(second);
    expect(again.customers.all()).toEqual([first, second]);
    expect(again.customers.find(customer(3))).toBeNull();
    for (const id of ['', 'cus_', 'cus_00000000000000000000000000', `${first.id}0`, `x${first.id.slice(1)}`]) {
      expect(again.customers.findById(id)).toBeNull();
    }
    await again.close();
  });

  test('Customers created concurrently get different numbers', async () => {
    const store = tempStore();
    const made = await Promise.all(
      Array.from({ length: 50 }, (_, i) => value(writesOf(store).customers.create(`c${i}`, 1))),
    );
    expect(new Set(made.map((one) => one.number)).size).toBe(50);
  });
});

describe('API keys in the store', () => {
  test('API keys are created in pairs, stored as hashes, and increase the version with every change', async () => {
    const store = tempStore();
    expect(store.apiKeys.version()).toBe(0);
    const pair = await value(writesOf(store).apiKeys.createPair(customer(1), null, 100));
    expect(store.apiKeys.version()).toBe(1);
    const other = await value(writesOf(store).apiKeys.createPair(customer(2), 7, 101));
    expect(checkKeyText(pair.secret.text)).toBe('secret');
    expect(checkKeyText(pair.public.text)).toBe('public');
    expect(pair.secret.key).toEqual({
      hash: hashOfKey(pair.secret.text),
      customer: 1,
      kind: 'secret',
      prefix: pair.secret.text.slice(0, 12),
      rateLimit: 600_000,
      createdAtSeconds: 100,
      revokedAtSeconds: null,
      number: 1,
      origins: [],
      name: '',
      scopes: ['decide', 'read', 'write', 'admin'],
      expiresAtSeconds: null,
      networks: [],
      replacedBy: '',
    });
    expect(pair.public.key.rateLimit).toBe(60_000);
    expect(other.public.key).toMatchObject({ rateLimit: 7, number: 4 });
    expect(store.apiKeys.loadAll()).toEqual([pair.secret.key, pair.public.key, other.secret.key, other.public.key]);
  });

  test('Origins are stored with the public key only, survive its revocation, and are absent from rows without origins', async () => {
    const store = tempStore();
    const origins = ['https://shop.example', 'http://localhost:3000'];
    const pair = await value(writesOf(store).apiKeys.createPair(customer(1), null, 100, origins));
    expect([pair.secret.key.origins, pair.public.key.origins]).toEqual([[], origins]);
    await value(writesOf(store).apiKeys.revoke(pair.public.key.hash, 200));
    const [, revoked] = store.apiKeys.loadAll();
    expect(revoked).toMatchObject({ kind: 'public', revokedAtSeconds: 200, origins });
  });

  test('An API key is revoked only once', async () => {
    const store = tempStore();
    const { secret } = await value(writesOf(store).apiKeys.createPair(customer(1), null, 100));
    expect(await value(writesOf(store).apiKeys.revoke(secret.key.hash, 200))).toBe('revoked');
    expect(store.apiKeys.version()).toBe(2);
    expect(await value(writesOf(store).apiKeys.revoke(secret.key.hash, 300))).toBe('already_revoked');
    expect(await value(writesOf(store).apiKeys.revoke('00'.repeat(32), 300))).toBe('unknown');
    expect(await value(writesOf(store).apiKeys.revoke('zz', 300))).toBe('unknown');
    expect(store.apiKeys.version()).toBe(2);
    expect(store.apiKeys.loadAll()[0]?.revokedAtSeconds).toBe(200);
  });
});
