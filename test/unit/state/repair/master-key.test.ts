import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deriveKey, openMasterKey, proveMasterKey } from '../../../../src/state/repair/master-key.ts';
import { readMarker, writeMarker } from '../../../../src/state/repair/marker.ts';
import { encrypt, decrypt } from '../../../../src/kernel/encryption.ts';
import { tempFolder } from '../support.ts';

describe('the master key', () => {
  test('The master key is generated once, readable only by its owner, and found again', () => {
    const folder = tempFolder();
    const made = openMasterKey(folder, undefined);
    const found = openMasterKey(folder, '');
    if (made.kind === 'fault' || found.kind === 'fault') throw new Error('no key');
    expect([made.key.source, found.key.source]).toEqual(['generated', 'file']);
    expect(found.key.bytes).toEqual(made.key.bytes);
    expect(statSync(join(folder, 'master.key')).mode & 0o777).toBe(0o600);
  });

  test('The master key can be set in the environment as hex or base64', () => {
    const bytes = randomBytes(32);
    for (const text of [bytes.toString('hex'), bytes.toString('base64'), bytes.toString('base64url')]) {
      expect(openMasterKey(tempFolder(), text)).toEqual({ kind: 'ok', key: { bytes, source: 'environment' } });
    }
    for (const text of ['short', bytes.toString('hex').slice(1), 'z'.repeat(64)]) {
      expect(openMasterKey(tempFolder(), text)).toMatchObject({ kind: 'fault', code: 'master_key_unusable' });
    }
  });

  test('No master key is generated over a file that contains none', () => {
    const folder = tempFolder();
    writeFileSync(join(folder, 'master.key'), '');
    expect(openMasterKey(folder, undefined)).toMatchObject({ kind: 'fault', code: 'master_key_unusable' });
    expect(readFileSync(join(folder, 'master.key'), 'utf8')).toBe('');
  });

  test('The derived key of each purpose is different and always the same', () => {
    const key = { bytes: Buffer.alloc(32, 7), source: 'environment' } as const;
    expect(deriveKey(key, 'replay-hash')).toEqual(deriveKey(key, 'replay-hash'));
    expect(deriveKey(key, 'replay-hash')).not.toEqual(deriveKey(key, 'webhook-secret'));
    expect(deriveKey(key, 'replay-hash')).toHaveLength(32);
  });
});

describe('the check of a master key', () => {
  const RIGHT = { bytes: Buffer.alloc(32, 7), source: 'environment' } as const;
  const WRONG = { bytes: Buffer.alloc(32, 8), source: 'file' } as const;
  const nothing = (): null => null;
  const started = (): string => {
    const folder = tempFolder();
    writeMarker(folder, false, 1_790_000_000_000);
    return folder;
  };
  const checkOf = (folder: string): string | undefined => {
    const read = readMarker(folder);
    return read.kind === 'found' ? read.marker.master_key_check : undefined;
  };

  test('The first master key is stored as the right one, and no other is accepted afterwards', () => {
    const folder = started();
    expect(proveMasterKey(folder, RIGHT, nothing)).toBeNull();
    const marker = readFileSync(join(folder, 'gatehouse.json'), 'utf8');
    expect(proveMasterKey(folder, WRONG, nothing)).toMatchObject({ kind: 'fault', code: 'master_key_unusable' });
    expect(proveMasterKey(folder, WRONG, () => true)?.detail).toContain('master.key is not the key');
    expect(proveMasterKey(folder, RIGHT, () => false)).toBeNull();
    expect(readFileSync(join(folder, 'gatehouse.json'), 'utf8')).toBe(marker);
    expect(readMarker(folder)).toMatchObject({
      kind: 'found',
      marker: { created_at: 1_790_000_000, simulated: false },
    });
  });

  test('In a directory of an older version a master key that decrypts none of its secrets is rejected and not stored', () => {
    const folder = started();
    expect(proveMasterKey(folder, WRONG, () => false)).toMatchObject({ code: 'master_key_unusable' });
    expect(checkOf(folder)).toBeUndefined();
    expect(proveMasterKey(folder, RIGHT, () => true)).toBeNull();
    expect(proveMasterKey(folder, WRONG, () => true)).toMatchObject({ code: 'master_key_unusable' });
  });

  test('An operator who lost the master key may start with another one', () => {
    const folder = started();
    expect(proveMasterKey(folder, RIGHT, nothing)).toBeNull();
    const file = join(folder, 'gatehouse.json');
    const marker = JSON.parse(readFileSync(file, 'utf8')) as object;
    writeFileSync(file, JSON.stringify({ ...marker, master_key_check: '' }));
    expect(proveMasterKey(folder, WRONG, () => false)).toBeNull();
    expect(proveMasterKey(folder, RIGHT, nothing)).toMatchObject({ code: 'master_key_unusable' });
  });

  test('A missing key file is not regenerated if a key was in use', () => {
    const folder = started();
    const made = openMasterKey(folder, undefined);
    if (made.kind === 'fault') throw new Error(made.detail);
    expect(proveMasterKey(folder, made.key, nothing)).toBeNull();
    rmSync(join(folder, 'master.key'));
    expect(openMasterKey(folder, undefined)).toMatchObject({ kind: 'fault', code: 'master_key_unusable' });
    expect(() => statSync(join(folder, 'master.key'))).toThrow('ENOENT');
  });

  test('A corrupt check value rejects every master key', () => {
    const folder = started();
    const file = join(folder, 'gatehouse.json');
    const marker = JSON.parse(readFileSync(file, 'utf8')) as object;
    writeFileSync(file, JSON.stringify({ ...marker, master_key_check: 'x' }));
    expect(proveMasterKey(folder, RIGHT, nothing)).toMatchObject({ code: 'master_key_unusable' });
  });
});

describe('encrypted values', () => {
  const key = Buffer.alloc(32, 1);

  test('An encrypted value can be decrypted only with its key and context', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.string(), (plain, context) => {
        const sealed = encrypt(key, plain, context);
        expect(decrypt(key, sealed, context)).toEqual(Buffer.from(plain));
        expect(decrypt(Buffer.alloc(32, 2), sealed, context)).toBeNull();
        expect(decrypt(key, sealed, `${context}x`)).toBeNull();
        expect(decrypt(key, sealed.subarray(0, -1), context)).toBeNull();
      }),
    );
  });

  test('An encrypted value with any changed bit, or other data, cannot be decrypted', () => {
    const sealed = encrypt(key, Buffer.from('secret'), 'a');
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
      expect(decrypt(key, changed, 'a')).toBeNull();
    }
    expect(decrypt(key, Buffer.alloc(0), 'a')).toBeNull();
  });
});
