import { hkdfSync, randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fault, messageOf, type StoreFault } from './durable.ts';
import { isCode, syncPath } from './files.ts';

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
 * directory, made with mode 0600 when there is none. A file that holds no key is a fault and is never made anew, because
 * what the lost key sealed would be lost with it. Source: open points, section 1.
 */
export function openMasterKey(dataDir: string, fromEnvironment: string | undefined): MasterKeyResult {
  if (fromEnvironment !== undefined && fromEnvironment !== '') {
    const bytes = parseKey(fromEnvironment);
    if (bytes !== null) return { kind: 'ok', key: { bytes, source: 'environment' } };
    return fault('master_key_unusable', 'GATEHOUSE_MASTER_KEY must be 32 bytes, as 64 hex digits or as base64');
  }
  try {
    const made = readKeyFile(dataDir) === null && makeKeyFile(dataDir);
    const text = readKeyFile(dataDir);
    const bytes = text === null ? null : parseKey(text);
    if (bytes !== null) return { kind: 'ok', key: { bytes, source: made ? 'generated' : 'file' } };
    return fault('master_key_unusable', `${MASTER_KEY_NAME} in ${dataDir} holds no key; put the right one back`);
  } catch (error) {
    return fault('master_key_unusable', `${MASTER_KEY_NAME} in ${dataDir} cannot be used: ${messageOf(error)}`);
  }
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
