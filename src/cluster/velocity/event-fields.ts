import type { PackWriter } from '../../kernel/pack-writer.ts';

/** Texts and fields of the items that nodes exchange. */

export type Fields = readonly unknown[];

const HASH_BYTES = 32;
/** Quick, and false for almost all texts. */
const SURROGATE = /[\ud800-\udfff]/;
const LONE_SURROGATE = /\p{Surrogate}/u;

/** A text that is no valid UTF-16 goes as its code units: other nodes must hash the same. */
export function writeText(writer: PackWriter, text: string): void {
  if (!SURROGATE.test(text) || !LONE_SURROGATE.test(text)) return writer.hash(text);
  const units = Buffer.from(text, 'utf16le');
  writer.array(1);
  writer.binary(units, units.length);
}

export function numberAt(fields: Fields, at: number): number {
  const value = fields[at];
  if (typeof value !== 'number') throw new Error('a number is missing');
  return value;
}

export function readText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Uint8Array && value.length === HASH_BYTES) return Buffer.from(value).toString('hex');
  if (Array.isArray(value) && value[0] instanceof Uint8Array) return Buffer.from(value[0]).toString('utf16le');
  throw new Error('a text is missing');
}

export function itemOf<T>(items: readonly T[], at: number): T {
  const item = items[at];
  if (item === undefined) throw new Error('a number is not in its table');
  return item;
}
