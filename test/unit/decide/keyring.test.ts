import { describe, expect, test } from 'vitest';
import { Keyring } from '../../../src/decide/keyring.ts';
import { PUBLIC_KEY, SECRET_KEY, storedKey } from './support.ts';

describe('the keyring', () => {
  test('finds the keys that were loaded, by their whole text', () => {
    const keyring = new Keyring();
    keyring.load([storedKey(SECRET_KEY), storedKey(PUBLIC_KEY)]);
    expect(keyring.size).toBe(2);
    expect(keyring.find(SECRET_KEY)).toMatchObject({ known: true, key: { kind: 'secret', number: 1, customer: 7 } });
    expect(keyring.find(PUBLIC_KEY)).toMatchObject({ known: true, key: { kind: 'public', number: 2 } });
    for (const text of ['', SECRET_KEY.slice(0, -1), `${SECRET_KEY}A`, SECRET_KEY.toLowerCase(), `${SECRET_KEY} `]) {
      expect(keyring.find(text).known).toBe(false);
    }
  });

  test('an unknown key has a stand-in of its kind, with as many HMAC keys as a known one', () => {
    const keyring = new Keyring();
    keyring.load([storedKey(SECRET_KEY), storedKey(PUBLIC_KEY)]);
    for (const [known, unknown] of [
      [SECRET_KEY, 'sk_live_unknown'],
      [PUBLIC_KEY, 'pk_live_unknown'],
    ] as const) {
      const found = keyring.find(known);
      const standIn = keyring.find(unknown);
      expect(standIn.known).toBe(false);
      expect(standIn.key.kind).toBe(found.key.kind);
      expect(standIn.key.hmacKeys(unknown)).toHaveLength(found.key.hmacKeys(known).length);
      expect(standIn.key.rateLimit).toBe(0);
    }
  });

  test('revoked keys are not known, and a load takes the place of all before it', () => {
    const keyring = new Keyring();
    keyring.load([storedKey(SECRET_KEY), storedKey(PUBLIC_KEY, { revokedAtSeconds: 5 })]);
    expect(keyring.find(PUBLIC_KEY).known).toBe(false);
    keyring.load([storedKey(PUBLIC_KEY)]);
    expect(keyring.find(SECRET_KEY).known).toBe(false);
    expect(keyring.find(PUBLIC_KEY).known).toBe(true);
    keyring.load([]);
    expect(keyring.size).toBe(0);
  });

  test('a key that stays as it is keeps what was made ready for it, one with another limit is made anew', () => {
    const keyring = new Keyring();
    keyring.load([storedKey(SECRET_KEY)]);
    const before = keyring.find(SECRET_KEY).key;
    keyring.load([storedKey(SECRET_KEY), storedKey(PUBLIC_KEY)]);
    expect(keyring.find(SECRET_KEY).key).toBe(before);
    keyring.load([storedKey(SECRET_KEY, { rateLimit: 5 })]);
    expect(keyring.find(SECRET_KEY).key).not.toBe(before);
    expect(keyring.find(SECRET_KEY).key.rateLimit).toBe(5);
  });
});
