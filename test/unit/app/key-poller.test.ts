import { describe, expect, test } from 'vitest';
import { keyPoller } from '../../../src/app/maintenance.ts';
import type { StoredKey } from '../../../src/auth/key-cache.ts';
import { createKeyPair, newGrantedKeys } from '../../../src/state/feed/key-changes.ts';
import { customer, tempStore, value } from '../state/support.ts';

const NOW_MS = 1_780_000_000_000;
const ORIGIN = { by: 'service', nowMs: NOW_MS } as const;

describe('the keys that the server knows', () => {
  test('A key of the revocation file is never among them, also when it is created after its revocation', async () => {
    const store = tempStore();
    let loaded: readonly StoredKey[] = [];
    const poll = keyPoller(store, { load: (keys) => (loaded = keys) });
    const first = await value(createKeyPair(store.changes, customer(1), {}, ORIGIN));
    poll();
    expect(loaded.map(({ hash }) => hash).toSorted()).toEqual(
      [first.secret.key.hash, first.public.key.hash].toSorted(),
    );
    // As the restore of an older backup leaves the two.
    store.revocations.append([[first.secret.key.hash, NOW_MS / 1000]]);
    await value(createKeyPair(store.changes, customer(1), {}, ORIGIN));
    poll();
    expect(loaded.map(({ hash }) => hash)).not.toContain(first.secret.key.hash);
    expect(loaded).toHaveLength(3);
  });

  test('A key that is created again stays revoked', async () => {
    const store = tempStore();
    const { key } = (await value(createKeyPair(store.changes, customer(1), {}, ORIGIN))).secret;
    await value(store.changes.commit({ kind: 'key.revoked', hash: key.hash }, ORIGIN));
    const { kind, hash, prefix } = key;
    const keys = [{ kind, hash, prefix, origins: [] }];
    await value(store.changes.commit({ kind: 'key.created', customer: customer(2), rateLimit: null, keys }, ORIGIN));
    expect(store.apiKeys.find(hash)).toMatchObject({ customer: customer(1), revokedAtSeconds: NOW_MS / 1000 });
  });
});

test('A key is loaded until it expires, and the next one that expires ends a wait', async () => {
  const store = tempStore();
  let loaded: readonly StoredKey[] = [];
  let nowMs = NOW_MS;
  const poll = keyPoller(store, { load: (keys) => (loaded = keys) }, () => nowMs);
  const grant = { name: '', scopes: ['read'], expiresAtSeconds: NOW_MS / 1000 + 60, networks: [] } as const;
  await value(store.changes.commit(newGrantedKeys(customer(1), grant).change, ORIGIN));
  poll();
  expect(loaded).toMatchObject([{ kind: 'secret', scopes: ['read'] }]);
  nowMs += 59_999;
  poll();
  expect(loaded).toHaveLength(1);
  nowMs += 1;
  poll();
  expect(loaded).toEqual([]);
});
