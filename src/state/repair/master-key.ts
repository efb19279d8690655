import { hkdfSync, randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fault, messageOf, type StoreFault } from '../tables/durable.ts';
import { isCode, syncPath } from '../tables/write-files.ts';
import { type Marker, MARKER_NAME, putMarker, readMarker } from './marker.ts';
import { encrypt, decrypt } from '../../kernel/encryption.ts';

export const MASTER_KEY_NAME = 'master.key';
const KEY_BYTES = 32;
const HEX_FORM = /^[0-9a-fA-F]{64}$/;
const BASE64_FORM = /^[A-Za-z0-9+/_-]{43}=?$/;

export interface MasterKey {
  readonly bytes: Buffer;
  readonly source: 'environment' | 'file' | 'generated';
}

export type MasterKeyResult = { readonly kind: 'ok'; readonly key: MasterKey } | StoreFault;

/**
 * Returns the key from which all others derive: GATEHOUSE_MASTER_KEY (32 bytes as 64 hex digits or base64), else `master.key` in the data
 * directory, created with mode 0600 if it does not exist. If the file contains no key, or is missing although a key was in use, that is a
 * fault and no new key is generated, because everything encrypted under the lost key would be lost with it. Source: contract, 3.6.
 */
export function openMasterKey(dataDir: string, fromEnvironment: string | undefined): MasterKeyResult {
  if (fromEnvironment !== undefined && fromEnvironment !== '') {
    const bytes = parseKey(fromEnvironment);
    if (bytes !== null) return { kind: 'ok', key: { bytes, source: 'environment' } };
    return fault('master_key_unusable', 'GATEHOUSE_MASTER_KEY must be 32 bytes, as 64 hex digits or as base64');
  }
  try {
    const isMissing = readKeyFile(dataDir) === null;
    if (isMissing && checkOf(dataDir) !== null)
      return fault('master_key_unusable', `${MASTER_KEY_NAME} is missing in ${dataDir}; ${PUT_BACK}`);
    const made = isMissing && makeKeyFile(dataDir);
    const text = readKeyFile(dataDir);
    const bytes = text === null ? null : parseKey(text);
    if (bytes !== null) return { kind: 'ok', key: { bytes, source: made ? 'generated' : 'file' } };
    return fault('master_key_unusable', `${MASTER_KEY_NAME} in ${dataDir} contains no key; restore the right one`);
  } catch (error) {
    return fault('master_key_unusable', `${MASTER_KEY_NAME} in ${dataDir} cannot be used: ${messageOf(error)}`);
  }
}

const CHECK_PURPOSE = 'master-key-check';
const CHECK_PLAIN = Buffer.from('gatehouse');
const PUT_BACK = `restore the key that this data directory was used with, or, if it is lost, set master_key_check in ${MARKER_NAME} to ""`;

/**
 * Rejects a key other than the one that the data directory was used with: under another key no secret can be decrypted, and deliveries that
 * must be signed could never be sent. The first start with a key stores a value in the marker that only this key decrypts. If there is no
 * such value yet, as in a directory of an older version, `opensSecrets` is called: it returns whether the key decrypts the secrets in the
 * store, null if there are none. An empty value accepts any key.
 */
export function proveMasterKey(dataDir: string, key: MasterKey, opensSecrets: () => boolean | null): StoreFault | null {
  try {
    const read = readMarker(dataDir);
    if (read.kind !== 'found') return fault('data_dir_unusable', `${MARKER_NAME} in ${dataDir} cannot be read`);
    const { master_key_check: check } = read.marker;
    const checkKey = deriveKey(key, CHECK_PURPOSE);
    if (check !== undefined && check !== '') {
      const isRight = decrypt(checkKey, Buffer.from(check, 'base64'), CHECK_PURPOSE) !== null;
      return isRight ? null : wrongKey(dataDir, key);
    }
    if (check === undefined && opensSecrets() === false) return wrongKey(dataDir, key);
    const sealed = encrypt(checkKey, CHECK_PLAIN, CHECK_PURPOSE).toString('base64');
    putMarker(dataDir, { ...read.marker, master_key_check: sealed });
    return null;
  } catch (error) {
    return fault('data_dir_unusable', `${MARKER_NAME} in ${dataDir} cannot be used: ${messageOf(error)}`);
  }
}

export type KeyProof = { readonly kind: 'ok'; readonly isProved: boolean } | StoreFault;

/**
 * Proves the master key for a backup, before it is restored into `dataDir`: GATEHOUSE_MASTER_KEY, else `master.key` in that folder. Never
 * generates one. `isProved` is false if the backup has no value to prove a key with, because no server had used it or its key was given up.
 */
export function proveKeyOfBackup(
  { master_key_check: check }: Pick<Marker, 'master_key_check'>,
  dataDir: string,
  fromEnvironment: string | undefined,
): KeyProof {
  const isGiven = fromEnvironment !== undefined && fromEnvironment !== '';
  const source = isGiven ? 'environment' : 'file';
  const text = isGiven ? fromEnvironment : readKeyFile(dataDir);
  const bytes = text === null ? null : parseKey(text);
  const name = isGiven ? 'GATEHOUSE_MASTER_KEY' : join(dataDir, MASTER_KEY_NAME);
  if (text !== null && bytes === null) {
    return fault('master_key_unusable', `${name} contains no key: 32 bytes, as 64 hex digits or as base64`);
  }
  if (check === undefined || check === '') return { kind: 'ok', isProved: false };
  if (bytes === null) {
    return fault(
      'master_key_unusable',
      `the backup needs the master key that it was made with. Set GATEHOUSE_MASTER_KEY, or copy the key's file to ${name}. Nothing was written`,
    );
  }
  const checkKey = deriveKey({ bytes, source }, CHECK_PURPOSE);
  if (decrypt(checkKey, Buffer.from(check, 'base64'), CHECK_PURPOSE) !== null) return { kind: 'ok', isProved: true };
  return fault(
    'master_key_unusable',
    `${name} is not the master key that the backup was made with. Nothing was written`,
  );
}

function wrongKey(dataDir: string, { source }: MasterKey): StoreFault {
  const name = source === 'environment' ? 'GATEHOUSE_MASTER_KEY' : MASTER_KEY_NAME;
  return fault(
    'master_key_unusable',
    `${name} is not the key that ${dataDir} was used with, and decrypts nothing in it; ${PUT_BACK}`,
  );
}

/** Returns the value that a key must decrypt; null if any key is accepted. */
function checkOf(dataDir: string): string | null {
  const read = readMarker(dataDir);
  const check = read.kind === 'found' ? read.marker.master_key_check : undefined;
  return check === undefined || check === '' ? null : check;
}

/** Derives a key for one purpose, for example `replay-hash` or `webhook-secret`: 32 bytes by HKDF-SHA-256. */
export function deriveKey(master: MasterKey, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', master.bytes, '', `gatehouse/v1/${purpose}`, KEY_BYTES));
}

function parseKey(text: string): Buffer | null {
  const trimmed = text.trim();
  if (HEX_FORM.test(trimmed)) return Buffer.from(trimmed, 'hex');
  if (!BASE64_FORM.test(trimmed)) return null;
  const bytes = Buffer.from(trimmed, 'base64');
  return bytes.length === KEY_BYTES ? bytes : null;
}

function readKeyFile(dataDir: string): string | null {
  try {
    return readFileSync(join(dataDir, MASTER_KEY_NAME), 'utf8');
  } catch (error) {
    if (isCode(error, 'ENOENT')) return null;
    throw error;
  }
}

/**
 * Returns whether this call created the file: of two concurrent processes the first one's file stays, and it is never visible half written.
 */
function makeKeyFile(dataDir: string): boolean {
  mkdirSync(dataDir, { recursive: true });
  const path = join(dataDir, MASTER_KEY_NAME);
  const beside = `${path}.new-${process.pid}`;
  const file = openSync(beside, 'w', 0o600);
  try {
    writeSync(file, `${randomBytes(KEY_BYTES).toString('hex')}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  try {
    linkSync(beside, path);
    return true;
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false;
    throw error;
  } finally {
    unlinkSync(beside);
    syncPath(dataDir);
  }
}
