import { open } from 'node:fs/promises';
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
 * It holds marks and no value of a person. Lines are only appended, with one write and a sync off the main thread. A truncated or corrupt
 * line is skipped.
 */
export class ErasureFile {
  readonly #path: string;

  constructor(dataDir: string) {
    this.#path = join(dataDir, ERASURES_NAME);
  }

  /** Appends and syncs. Throws file system errors. */
  async append(erasures: readonly FiledErasure[]): Promise<void> {
    // A line break first: the last line may be truncated.
    const bytes = Buffer.from(`\n${erasures.map(lineOf).join('')}`);
    const file = await open(this.#path, 'a', 0o600);
    try {
      const { bytesWritten } = await file.write(bytes);
      if (bytesWritten !== bytes.length) throw new Error(`${ERASURES_NAME} was only written in part`);
      await file.sync();
    } finally {
      await file.close();
    }
  }

  /** Yields the erasures of the valid lines, in their order; nothing without a file. */
  async *read(): AsyncGenerator<FiledErasure, void> {
    try {
      const file = await open(this.#path, 'r');
      for await (const line of file.readLines()) {
        const json = line.slice(0, -9);
        if (line.length > 9 && line.slice(-8) === sumOf(json)) yield JSON.parse(json) as FiledErasure;
      }
    } catch (error) {
      if (!isCode(error, 'ENOENT')) throw error;
    }
  }
}

function lineOf({ customer, customerId, id, subject, keepBlocks, marks, requestedAtMs }: FiledErasure): string {
  const text = JSON.stringify({ customer, customerId, id, subject, keepBlocks, marks, requestedAtMs });
  return `${text} ${sumOf(text)}\n`;
}

function sumOf(text: string): string {
  return crc32(text).toString(16).padStart(8, '0');
}
