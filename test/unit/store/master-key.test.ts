import { randomBytes } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deriveKey, openMasterKey } from '../../../src/store/master-key.ts';
import { seal, unseal } from '../../../src/store/sealed.ts';
import { tempFolder } from './support.ts';

describe('the master key', () => {
  test('is made once, readable by its owner alone, and found again', () => {
    const folder = tempFolder();
    const made = openMasterKey(folder, undefined);
    const found = openMasterKey(folder, '');
    if (made.kind === 'fault' || found.kind === 'fault') throw new Error('no key');
    expect([made.key.source, found.key.source]).toEqual(['generated', 'file']);
    expect(found.key.bytes).toEqual(made.key.bytes);
    expect(statSync(join(folder, 'master.key')).mode & 0o777).toBe(0o600);
  });

  test('comes from the environment as hex or base64', () => {
    const bytes = randomBytes(32);
    for (const text of [bytes.toString('hex'), bytes.toString('base64'), bytes.toString('base64url')]) {
      expect(openMasterKey(tempFolder(), text)).toEqual({ kind: 'ok', key: { bytes, source: 'environment' } });
    }
    for (const text of ['short', bytes.toString('hex').slice(1), 'z'.repeat(64)]) {
      expect(openMasterKey(tempFolder(), text)).toMatchObject({ kind: 'fault', code: 'master_key_unusable' });
    }
  });

  test('is never made anew over a file that holds none', () => {
    const folder = tempFolder();
    writeFileSync(join(folder, 'master.key'), '');
    expect(openMasterKey(folder, undefined)).toMatchObject({ kind: 'fault', code: 'master_key_unusable' });
    expect(readFileSync(join(folder, 'master.key'), 'utf8')).toBe('');
  });

  test('gives each purpose a key of its own, always the same', () => {
    const key = { bytes: Buffer.alloc(32, 7), source: 'environment' } as const;
    expect(deriveKey(key, 'replay-hash')).toEqual(deriveKey(key, 'replay-hash'));
    expect(deriveKey(key, 'replay-hash')).not.toEqual(deriveKey(key, 'webhook-secret'));
    expect(deriveKey(key, 'replay-hash')).toHaveLength(32);
  });
});

describe('sealed values', () => {
  const key = Buffer.alloc(32, 1);

  test('open with their key and context only', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.string(), (plain, context) => {
        const sealed = seal(key, plain, context);
        expect(unseal(key, sealed, context)).toEqual(Buffer.from(plain));
        expect(unseal(Buffer.alloc(32, 2), sealed, context)).toBeNull();
        expect(unseal(key, sealed, `${context}x`)).toBeNull();
        expect(unseal(key, sealed.subarray(0, -1), context)).toBeNull();
      }),
    );
  });

  test('do not open with any bit changed, nor when they are no such thing', () => {
    const sealed = seal(key, Buffer.from('secret'), 'a');
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
      expect(unseal(key, changed, 'a')).toBeNull();
    }
    expect(unseal(key, Buffer.alloc(0), 'a')).toBeNull();
  });
});
