import { describe, expect, test } from 'vitest';
import { KeyCache } from '../../../src/auth/key-cache.ts';
import { PUBLIC_KEY, SECRET_KEY, storedKey } from '../decide/support.ts';

describe('the key cache', () => {
  test('The key cache finds loaded keys by their complete text', () => {
    const keyCache = new KeyCache();
    keyCache.load([storedKey(SECRET_KEY), storedKey(PUBLIC_KEY)]);
    expect(keyCache.size).toBe(2);
    expect(keyCache.find(SECRET_KEY)).toMatchObject({ known: true, key: { kind: 'secret', number: 1, customer: 7 } });
    expect(keyCache.find(PUBLIC_KEY)).toMatchObject({ known: true, key: { kind: 'public', number: 2 } });
    for (const text of ['', SECRET_KEY.slice(0, -1), `${SECRET_KEY}A`, SECRET_KEY.toLowerCase(), `${SECRET_KEY} `]) {
      expect(keyCache.find(text).known).toBe(false);
    }
  });

  test('An unknown key gets a stand-in of its kind with as many HMAC keys as a known key', () => {
    const keyCache = new KeyCache();
    keyCache.load([storedKey(SECRET_KEY), storedKey(PUBLIC_KEY)]);
    for (const [known, unknown] of [
      [SECRET_KEY, 'sk_live_unknown'],
      [PUBLIC_KEY, 'pk_live_unknown'],
    ] as const) {
      const found = keyCache.find(known);
      const standIn = keyCache.find(unknown);
      expect(standIn.known).toBe(false);
      expect(standIn.key.kind).toBe(found.key.kind);
      expect(standIn.key.hmacKeys(unknown)).toHaveLength(found.key.hmacKeys(known).length);
      expect(standIn.key.rateLimit).toBe(0);
    }
  });

  test('Revoked keys are unknown, and loading replaces all earlier keys', () => {
    const keyCache = new KeyCache();
    keyCache.load([storedKey(SECRET_KEY), storedKey(PUBLIC_KEY, { revokedAtSeconds: 5 })]);
    expect(keyCache.find(PUBLIC_KEY).known).toBe(false);
    keyCache.load([storedKey(PUBLIC_KEY)]);
    expect(keyCache.find(SECRET_KEY).known).toBe(false);
    expect(keyCache.find(PUBLIC_KEY).known).toBe(true);
    keyCache.load([]);
    expect(keyCache.size).toBe(0);
  });

  test('A public key allows its own origins only, a secret key allows none, and a key with * allows every origin', () => {
    const keyCache = new KeyCache();
    const [shop, other] = ['https://shop.example', 'https://other.example'];
    const openKey = `pk_live_${'C'.repeat(38)}`;
    keyCache.load([storedKey(SECRET_KEY, { origins: [other] }), storedKey(PUBLIC_KEY, { origins: [shop] })]);
    expect(keyCache.allowOrigin(PUBLIC_KEY, shop)).toBe(shop);
    for (const origin of [other, 'null', '*', '', shop.toUpperCase(), `${shop}/`, `${shop}.evil.example`]) {
      expect(keyCache.allowOrigin(PUBLIC_KEY, origin)).toBeNull();
      expect(keyCache.allowOriginOfAny(origin)).toBeNull();
    }
    expect(keyCache.allowOrigin(SECRET_KEY, other)).toBeNull();
    for (const text of ['pk_live_unknown', '', 'x'.repeat(9_000)]) expect(keyCache.allowOrigin(text, shop)).toBeNull();
    expect(keyCache.allowOriginOfAny(shop)).toBe(shop);

    keyCache.load([storedKey(PUBLIC_KEY, { origins: [shop] }), storedKey(openKey, { origins: ['*'], number: 3 })]);
    expect([keyCache.allowOrigin(openKey, other), keyCache.allowOrigin(PUBLIC_KEY, other)]).toEqual(['*', null]);
    expect(keyCache.allowOriginOfAny(other)).toBe('*');
  });

  test('Reloading follows changed origins and forgets those of revoked keys', () => {
    const keyCache = new KeyCache();
    const [shop, other] = ['https://shop.example', 'https://other.example'];
    keyCache.load([storedKey(PUBLIC_KEY, { origins: [shop] })]);
    keyCache.load([storedKey(PUBLIC_KEY, { origins: [other] })]);
    expect([keyCache.allowOrigin(PUBLIC_KEY, shop), keyCache.allowOrigin(PUBLIC_KEY, other)]).toEqual([null, other]);
    keyCache.load([storedKey(PUBLIC_KEY, { origins: [other], revokedAtSeconds: 5 })]);
    expect([keyCache.allowOrigin(PUBLIC_KEY, other), keyCache.allowOriginOfAny(other)]).toEqual([null, null]);
  });

  test('Reloading keeps the prepared HMAC keys of an unchanged key and replaces those of a key with a new rate limit', () => {
    const keyCache = new KeyCache();
    keyCache.load([storedKey(SECRET_KEY)]);
    const before = keyCache.find(SECRET_KEY).key;
    keyCache.load([storedKey(SECRET_KEY), storedKey(PUBLIC_KEY)]);
    expect(keyCache.find(SECRET_KEY).key).toBe(before);
    keyCache.load([storedKey(SECRET_KEY, { rateLimit: 5 })]);
    expect(keyCache.find(SECRET_KEY).key).not.toBe(before);
    expect(keyCache.find(SECRET_KEY).key.rateLimit).toBe(5);
  });
});
