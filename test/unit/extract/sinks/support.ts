import type { CustomerNumber } from '../../../../src/kernel/brand.ts';
import type { Extraction, ExtractionDelivery, ExtractionId } from '../../../../src/work/extraction-job.ts';
import { createGuardedClient, type GuardedClient } from '../../../../src/egress/guarded-client.ts';
import type { JsonObject } from '../../../../src/extract/base/connector.ts';
import type { RecordReader } from '../../../../src/extract/sinks/batches.ts';
import type { ResultFile } from '../../../../src/extract/sinks/result-file.ts';
import type { S3Parts } from '../../../../src/extract/sinks/s3.ts';
import type { RecordChunk } from '../../../../src/extract/base/jobs-port.ts';
import { encodeRecords, sliceRecords } from '../../../../src/extract/shape/writers.ts';

export const JOB_ID = 'ext_01J0000000000000000000DEL0' as ExtractionId;
export const CUSTOMER = 7 as CustomerNumber;
export const ENDED_MS = 1_800_000_000_000;

export function deliveryOf(more: Partial<ExtractionDelivery>): ExtractionDelivery {
  return { kind: 'webhook', status: 'pending', waitSeconds: null, url: null, batchSize: null, s3: null, ...more };
}

export function jobOf(collected: number, more: Partial<Extraction> = {}): Extraction {
  return {
    id: JOB_ID,
    customer: CUSTOMER,
    requestId: 'req_01J0000000000000000000REQ0',
    connector: 'generic',
    operation: 'page.links',
    input: {},
    collect: { mode: 'limit', limit: 100_000 },
    output: {
      format: 'json',
      fields: null,
      rename: {},
      flatten: false,
      schema: null,
      onInvalid: 'drop',
      csv: { delimiter: ',', bom: false, header: true },
    },
    session: null,
    delivery: deliveryOf({ url: 'https://hooks.example/x', batchSize: 100 }),
    status: 'succeeded',
    counts: { collected, target: collected, pages: 3, errors: 0, duplicates: 2 },
    usage: { credits: 3, tier: 'basic' },
    failure: null,
    notes: [],
    waitingUntilMs: null,
    createdAtMs: ENDED_MS - 5_000,
    startedAtMs: ENDED_MS - 4_000,
    finishedAtMs: ENDED_MS,
    expiresAtMs: ENDED_MS + 86_400_000,
    ...more,
  };
}

/** A record as it is stored: without its number. */
export function recordOf(seq: number, text = 'ä "quoted", two\nlines'): JsonObject {
  const meta = { id: `r${seq}`, source_url: 'https://example.com/', fetched_at: '2027-01-15T08:00:00Z' };
  return { id: `r${seq}`, text, _meta: meta };
}

/** Chunks with the given numbers of records, as steps store them. */
export function chunksOf(sizes: readonly number[], text?: (seq: number) => string): RecordChunk[] {
  let firstSeq = 0;
  return sizes.map((records) => {
    const list = Array.from({ length: records }, (_, index) => recordOf(firstSeq + index, text?.(firstSeq + index)));
    const chunk = { firstSeq, records, bytes: encodeRecords(list) };
    firstSeq += records;
    return chunk;
  });
}

/** Follows the rules of the port: no gaps, limited numbers of records and bytes, but at least one record. */
export function readerOf(chunks: readonly RecordChunk[]): RecordReader & { reads: number } {
  const reader = {
    reads: 0,
    read({ fromSeq, recordsMax, bytesMax }: Parameters<RecordReader['read']>[0]) {
      reader.reads++;
      const page: RecordChunk[] = [];
      let [left, bytesLeft] = [recordsMax, bytesMax];
      let seq = fromSeq;
      for (const { firstSeq, records, bytes } of chunks) {
        const skipped = seq - firstSeq;
        if (skipped >= records || skipped < 0 || left === 0) continue;
        let count = Math.min(left, records - skipped);
        while (count > 0 && sliceRecords(bytes, skipped, count).length > bytesLeft) count--;
        if (count === 0 && page.length === 0) count = 1;
        if (count === 0) break;
        const slice = sliceRecords(bytes, skipped, count);
        page.push({ firstSeq: seq, records: count, bytes: slice });
        seq += count;
        left -= count;
        bytesLeft -= slice.length;
        if (skipped + count < records) break;
      }
      return { chunks: page, nextSeq: seq };
    },
  };
  return reader;
}

export const COLUMNS = [['id'], ['text']].map((path) => ({ path, name: path.join('.'), schema: { type: 'string' } }));

export function fileOf(records: number, more: Partial<ResultFile> = {}): ResultFile {
  const csv = { delimiter: ',', bom: false, header: true };
  return { id: JOB_ID, format: 'ndjson', csv, columns: [], records, ...more };
}

export interface TestParts extends S3Parts {
  readonly client: GuardedClient;
  /** Waits so far, ms. */
  readonly waits: number[];
  /** Saved upload ids, in order. */
  readonly saved: (string | null)[];
  stopping: boolean;
}

/** Waits end at once. */
export function partsOf(reader: RecordReader): TestParts {
  const waits: number[] = [];
  const saved: (string | null)[] = [];
  return {
    client: createGuardedClient({ allow: ['127.0.0.0/8'] }),
    reader,
    waits,
    saved,
    stopping: false,
    nowMs: () => Date.now(),
    wait(ms) {
      waits.push(ms);
      return Promise.resolve();
    },
    isStopping() {
      return this.stopping;
    },
    random: () => 0.999,
    saveUpload(uploadId) {
      saved.push(uploadId);
      return Promise.resolve();
    },
  };
}
