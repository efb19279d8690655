import { hash } from 'node:crypto';
import type { ExtractNext } from './extract-messages.ts';
import type { Step } from './connector.ts';
import { LIST_MARK } from '../../state/tables/extractions/step-table.ts';

/** Bytes of a hash, as the store expects them. */
const HASH_BYTES = 16;
/** Choice: maximum length of a key as shown to people. The hash covers the complete key. */
const KEY_CHARACTERS_MAX = 1_000;

/** Packs steps as `FoundSteps` describes. */
export function packSteps(steps: readonly Step[]): ExtractNext {
  const texts = steps.map(
    ({ key, state, isList }) => [key.slice(0, KEY_CHARACTERS_MAX), JSON.stringify(state), isList] as const,
  );
  const rowBytes = Uint32Array.from(texts, ([key, state]) => 2 + Buffer.byteLength(key) + Buffer.byteLength(state));
  // Separate memory: a slice of Node's shared pool would be transferred to the other thread with the whole pool.
  const rows = Buffer.allocUnsafeSlow(rowBytes.reduce((sum, bytes) => sum + bytes, 0));
  let at = 0;
  for (const [key, state, isList] of texts) {
    const keyBytes = rows.write(key, at + 2);
    rows.writeUInt16BE(keyBytes | (isList === true ? LIST_MARK : 0), at);
    at += 2 + keyBytes;
    at += rows.write(state, at);
  }
  return { rows, rowBytes, hashes: hashesOf(steps.map(({ key }) => key)) };
}

export interface UnpackedStep {
  readonly key: string;
  readonly stateJson: string;
  readonly isList: boolean;
}

/** Unpacks the output of `packSteps`. */
export function unpackSteps({ rows, rowBytes }: ExtractNext): UnpackedStep[] {
  const bytes = Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength);
  let at = 0;
  return Array.from(rowBytes, (own) => {
    const head = bytes.readUInt16BE(at);
    const stateAt = at + 2 + (head & ~LIST_MARK);
    const key = bytes.toString('utf8', at + 2, stateAt);
    const stateJson = bytes.toString('utf8', stateAt, at + own);
    at += own;
    return { key, stateJson, isList: (head & LIST_MARK) !== 0 };
  });
}

/** Returns the first 16 bytes of each text's SHA-256, concatenated. */
export function hashesOf(texts: readonly string[]): Uint8Array {
  const hashes = Buffer.allocUnsafeSlow(texts.length * HASH_BYTES);
  for (const [i, text] of texts.entries()) hash('sha256', text, 'buffer').copy(hashes, i * HASH_BYTES, 0, HASH_BYTES);
  return hashes;
}
