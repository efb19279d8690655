import { hash } from 'node:crypto';
import type { ExtractNext } from '../pools/extract-messages.ts';
import type { Step } from './connector.ts';

/** Bytes of a hash, as the store wants them. */
const HASH_BYTES = 16;
/** Choice: what people are shown of a key; the hash is that of all of it. */
const KEY_CHARACTERS_MAX = 1_000;

/** Steps as the store keeps them: for each the length of its key, u16, its key, its state as JSON. */
export function packSteps(steps: readonly Step[]): ExtractNext {
  const texts = steps.map(({ key, state }) => [key.slice(0, KEY_CHARACTERS_MAX), JSON.stringify(state)] as const);
  const rowBytes = Uint32Array.from(texts, ([key, state]) => 2 + Buffer.byteLength(key) + Buffer.byteLength(state));
  // Memory of its own: a slice of Node's shared pool would cross to the other thread with the whole pool.
  const rows = Buffer.allocUnsafeSlow(rowBytes.reduce((sum, bytes) => sum + bytes, 0));
  let at = 0;
  for (const [key, state] of texts) {
    const keyBytes = rows.write(key, at + 2);
    rows.writeUInt16BE(keyBytes, at);
    at += 2 + keyBytes;
    at += rows.write(state, at);
  }
  return { rows, rowBytes, hashes: hashesOf(steps.map(({ key }) => key)) };
}

/** What `packSteps` packed. */
export function unpackSteps({ rows, rowBytes }: ExtractNext): { readonly key: string; readonly stateJson: string }[] {
  const bytes = Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength);
  let at = 0;
  return Array.from(rowBytes, (own) => {
    const stateAt = at + 2 + bytes.readUInt16BE(at);
    const step = { key: bytes.toString('utf8', at + 2, stateAt), stateJson: bytes.toString('utf8', stateAt, at + own) };
    at += own;
    return step;
  });
}

/** The first 16 bytes of the SHA-256 of each, one behind the other. */
export function hashesOf(texts: readonly string[]): Uint8Array {
  const hashes = Buffer.allocUnsafeSlow(texts.length * HASH_BYTES);
  for (const [i, text] of texts.entries()) hash('sha256', text, 'buffer').copy(hashes, i * HASH_BYTES, 0, HASH_BYTES);
  return hashes;
}
