import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { CustomerNumber } from '../../kernel/brand.ts';
import type { Erasure } from '../tables/erasure-table.ts';
import { isCode } from '../tables/write-files.ts';

export const ERASURES_NAME = 'erasures.log';

/** An erasure as the file has it. `customerId` proves that `customer` still is the same customer after a restore. */
export type FiledErasure = Omit<Erasure, 'encrypted'> & {
  readonly customer: CustomerNumber;
  readonly customerId: string;
};

/**
 * The erasures of a data directory, in a file outside the LMDB environments: a restored backup does not contain those that were asked for
 * after it, and would bring erased people back. Each start compares it with the store, and repeats what the store has not done.
 *
 *   line   JSON of a `FiledErasure`, a space, CRC-32 of the JSON (8 hex digits)
 *
 * It holds marks and no value of a person. Lines are only appended, each with one write and a sync. A truncated or corrupt line is skipped.
 */
export class ErasureFile {
  readonly #path: string;

  constructor(dataDir: string) {
    this.#path = join(dataDir, ERASURES_NAME);
  }

  /** Appends and syncs. Throws file system errors. */
  append({ customer, customerId, id, subject, keepBlocks, marks, requestedAtMs }: FiledErasure): void {
    const text = JSON.stringify({ customer, customerId, id, subject, keepBlocks, marks, requestedAtMs });
    const file = openSync(this.#path, 'a', 0o600);
    try {
      // A line break first: the last line may be truncated.
      writeSync(file, `\n${text} ${sumOf(text)}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  }

  /** Returns the erasures of the valid lines, in their order; empty without a file. */
  read(): readonly FiledErasure[] {
    let text = '';
    try {
      text = readFileSync(this.#path, 'utf8');
    } catch (error) {
      if (!isCode(error, 'ENOENT')) throw error;
    }
    return text.split('\n').flatMap((line) => {
      const json = line.slice(0, -9);
      return line.length > 9 && line.slice(-8) === sumOf(json) ? [JSON.parse(json) as FiledErasure] : [];
    });
  }
}

function sumOf(text: string): string {
  return crc32(text).toString(16).padStart(8, '0');
}
