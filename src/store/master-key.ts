import { hkdfSync, randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fault, messageOf, type StoreFault } from './durable.ts';
import { isCode, syncPath } from './files.ts';
import { MARKER_NAME, putMarker, readMarker } from './marker.ts';
import { seal, unseal } from './sealed.ts';

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
 * The key that all others derive from: GATEHOUSE_MASTER_KEY (32 bytes as 64 hex digits or base64), else `master.key` in the data
 * directory, made with mode 0600 when there is none. A file that holds no key, or is missing where a key was in use, is a fault and
 * is never made anew, because what the lost key sealed would be lost with it. Source: open points, section 1.
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
    return fault('master_key_unusable', `${MASTER_KEY_NAME} in ${dataDir} holds no key; put the right one back`);
  } catch (error) {
    return fault('master_key_unusable', `${MASTER_KEY_NAME} in ${dataDir} cannot be used: ${messageOf(error)}`);
  }
}

const CHECK_PURPOSE = 'master-key-check';
const CHECK_PLAIN = Buffer.from('gatehouse');
const PUT_BACK = `put the key back that this data directory was used with, or, where it is lost for good, make master_key_check in ${MARKER_NAME} an empty text`;

/**
 * Refuses a key that is not the one that the data directory was used with: under another one no secret opens, and what is to be
 * signed could never be sent. The first start with a key leaves a value in the marker that only this key opens.
 * `opensSecrets` is asked where no value is there yet, as in a directory of an older version: whether the key opens what is
 * sealed in the store, null where nothing is. An empty value takes any key.
 */
export function proveMasterKey(dataDir: string, key: MasterKey, opensSecrets: () => boolean | null): StoreFault | null {
  try {
    const read = readMarker(dataDir);
    if (read.kind !== 'found') return fault('data_dir_unusable', `${MARKER_NAME} in ${dataDir} cannot be read`);
    const { master_key_check: check } = read.marker;
    const checkKey = deriveKey(key, CHECK_PURPOSE);
    if (check !== undefined && check !== '') {
      const isRight = unseal(checkKey, Buffer.from(check, 'base64'), CHECK_PURPOSE) !== null;
      return isRight ? null : wrongKey(dataDir, key);
    }
    if (check === undefined && opensSecrets() === false) return wrongKey(dataDir, key);
    const sealed = seal(checkKey, CHECK_PLAIN, CHECK_PURPOSE).toString('base64');
    putMarker(dataDir, { ...read.marker, master_key_check: sealed });
    return null;
  } catch (error) {
    return fault('data_dir_unusable', `${MARKER_NAME} in ${dataDir} cannot be used: ${messageOf(error)}`);
  }
}

function wrongKey(dataDir: string, { source }: MasterKey): StoreFault {
  const name = source === 'environment' ? 'GATEHOUSE_MASTER_KEY' : MASTER_KEY_NAME;
  return fault(
    'master_key_unusable',
    `${name} is not the key that ${dataDir} was used with, and opens nothing in it; ${PUT_BACK}`,
  );
}

/** The value that a key must open; null where any may come. */
function checkOf(dataDir: string): string | null {
  const read = readMarker(dataDir);
  const check = read.kind === 'found' ? read.marker.master_key_check : undefined;
  return check === undefined || check === '' ? null : check;
}

/** A key for one purpose, for example `replay-hash` or `webhook-secret`: 32 bytes by HKDF-SHA-256. */
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

/** Whether this call made it: of two processes at once the first one's file stays, and is never seen half written. */
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
