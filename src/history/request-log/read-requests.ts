import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { CustomerNumber } from '../../kernel/brand.ts';
import { dayOfRequests, listRequestFiles, removeRequestFile } from './request-files.ts';
import {
  entryBytes,
  type LoggedRequest,
  packSegment,
  readLoggedEntries,
  readSegments,
  requestLogPurpose,
  writeLoggedEntry,
} from './request-frames.ts';

export interface RequestQuery {
  readonly dataDir: string;
  readonly customer: CustomerNumber;
  readonly keyFor: (purpose: string) => Uint8Array;
}

/** A place of the log that cannot be read. */
export interface DamagedRequests {
  readonly file: string;
  readonly fromByte: number;
  readonly toByte: number;
}

export type RequestPiece =
  | { readonly kind: 'entry'; readonly entry: LoggedRequest }
  | ({ readonly kind: 'damaged' } & DamagedRequests)
  /** After each segment: this share of the bytes has been read, 0 to 1. */
  | { readonly kind: 'progress'; readonly share: number };

/** Reads the whole log of a customer up to a time, file by file, in the order in which it was written. */
export function* readRequests({ dataDir, customer, keyFor }: RequestQuery, untilMs: number): Generator<RequestPiece> {
  const files = listRequestFiles(dataDir, customer).filter(({ day }) => day <= dayOfRequests(untilMs));
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  let done = 0;
  for (const { path, day, bytes } of files) {
    const purpose = requestLogPurpose(customer, day);
    for (const read of readSegments(readFileSync(path), keyFor(purpose), purpose)) {
      if (read.kind === 'damaged') {
        yield { kind: 'damaged', file: basename(path), fromByte: read.from, toByte: read.to };
        continue;
      }
      for (const entry of readLoggedEntries(read.entries)) if (entry.atMs < untilMs) yield { kind: 'entry', entry };
      yield { kind: 'progress', share: Math.min(1, (done + read.to) / total) };
    }
    done += bytes;
  }
}

export interface ErasedRequests {
  readonly requests: number;
  /** Files that were rewritten or removed. */
  readonly files: number;
}

/**
 * Removes the requests about a person, and their outcomes. A server may run: a file that it wrote to meanwhile is read again. Damaged parts
 * of a file that is rewritten go too, since nobody can tell whom they are about. `rest`: awaited after each segment.
 */
export async function eraseRequests(
  { dataDir, customer, keyFor }: RequestQuery,
  isAbout: (body: Buffer, atMs: number) => boolean,
  rest: () => Promise<void> = () => Promise.resolve(),
): Promise<ErasedRequests> {
  let requests = 0;
  let files = 0;
  for (const file of listRequestFiles(dataDir, customer)) {
    const purpose = requestLogPurpose(customer, file.day);
    const key = keyFor(purpose);
    for (;;) {
      const bytes = readFileSync(file.path);
      const erased = new Set<string>();
      const kept: Buffer[] = [];
      for (const read of readSegments(bytes, key, purpose)) {
        if (read.kind === 'damaged') continue;
        const left = [...readLoggedEntries(read.entries)].filter((entry) => {
          if (entry.kind === 'request' && isAbout(entry.body, entry.atMs)) erased.add(entry.requestId);
          return !erased.has(entry.requestId);
        });
        await rest();
        if (left.length > 0) kept.push(await packSegment(packed(left), key, purpose));
      }
      if (erased.size === 0) break;
      writeFileSync(`${file.path}.new`, Buffer.concat(kept), { mode: 0o600 });
      if (statSync(file.path).size !== bytes.length) continue;
      renameSync(`${file.path}.new`, file.path);
      if (kept.length === 0) removeRequestFile(file);
      requests += erased.size;
      files++;
      break;
    }
  }
  return { requests, files };
}

function bytesOfEntry(entry: LoggedRequest): number {
  return entryBytes(entry.kind === 'request' ? entry.body.length : null);
}

function packed(entries: readonly LoggedRequest[]): Buffer {
  const bytes = Buffer.alloc(entries.reduce((sum, entry) => sum + bytesOfEntry(entry), 0));
  let at = 0;
  for (const entry of entries) {
    writeLoggedEntry(bytes, at, entry);
    at += bytesOfEntry(entry);
  }
  return bytes;
}
