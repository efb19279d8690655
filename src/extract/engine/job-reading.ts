import type { CustomerNumber } from '../../kernel/brand.ts';
import type {
  Extraction,
  ExtractionId,
  ExtractionPage,
  ExtractionQuery,
  FailureDetail,
  IdempotentOutcome,
  IdempotentRequest,
} from '../../work/extraction-job.ts';
import { decrypt } from '../../kernel/encryption.ts';
import type { ExtractStore } from '../../state/tables/extract-store.ts';
import { extractionOf } from '../../state/tables/extractions/job-row.ts';
import type { Slices } from '../../state/tables/turns.ts';
import type { JobReads, RecordChunk, RecordExtent, RecordPage, RecordQuery, SessionReads } from '../base/jobs-port.ts';
import { sliceRecords } from '../shape/writers.ts';

export interface ReadingParts {
  readonly store: ExtractStore;
  /** Key that decrypts what is stored encrypted: delivery secrets, first responses. */
  readonly encryptionKey: Uint8Array;
  nowMs(): number;
  /** Returns when an idle running job continues (Unix ms), as `Scheduler.waitingUntilMs`. */
  waitingUntilMs(id: ExtractionId): number | null;
  /** Makes the next reads see what the extraction thread has committed since. */
  refresh(): void;
}

/** Reads jobs, records and sessions from the store, in any thread. */
export class JobReading implements JobReads {
  readonly sessions: SessionReads;
  readonly #parts: ReadingParts;

  constructor(parts: ReadingParts) {
    this.#parts = parts;
    const { sessions } = parts.store;
    this.sessions = {
      find(customer, id) {
        parts.refresh();
        return sessions.find(customer, id, parts.nowMs());
      },
      page(customer, query, slices) {
        parts.refresh();
        return sessions.page(customer, query, parts.nowMs(), slices);
      },
    };
  }

  find(customer: CustomerNumber, id: ExtractionId): Extraction | null {
    this.#parts.refresh();
    const stored = this.#parts.store.extractions.find(customer, id);
    return stored === null ? null : this.#withWait(extractionOf(stored.job, stored.state));
  }

  #withWait(job: Extraction): Extraction {
    return job.status === 'running' ? { ...job, waitingUntilMs: this.#parts.waitingUntilMs(job.id) } : job;
  }

  async page(customer: CustomerNumber, query: ExtractionQuery, slices: Slices): Promise<ExtractionPage> {
    this.#parts.refresh();
    const { rows, next } = await this.#parts.store.extractions.page(customer, query, slices);
    return { rows: rows.map((job) => this.#withWait(job)), next };
  }

  records(customer: CustomerNumber, id: ExtractionId, query: RecordQuery): RecordPage {
    const reading = this.#readRecords(customer, id, query);
    const chunks: RecordChunk[] = [];
    for (;;) {
      const { done, value } = reading.next();
      if (done === true) return { chunks, nextSeq: value };
      chunks.push({ ...value, bytes: Buffer.from(value.bytes) });
    }
  }

  async measureRecords(
    customer: CustomerNumber,
    id: ExtractionId,
    query: RecordQuery,
    slices: Slices,
  ): Promise<RecordExtent> {
    const reading = this.#readRecords(customer, id, query);
    let records = 0;
    let chunkBytesMax = 0;
    for (;;) {
      const { done, value } = reading.next();
      if (done === true) return { records, chunkBytesMax, nextSeq: value };
      records += value.records;
      chunkBytesMax = Math.max(chunkBytesMax, value.bytes.length);
      if (slices.isOver) await slices.begin();
    }
  }

  async *streamRecords(
    customer: CustomerNumber,
    id: ExtractionId,
    query: RecordQuery,
    slices: Slices,
  ): AsyncGenerator<RecordChunk> {
    let held = Buffer.alloc(0);
    for (const chunk of this.#readRecords(customer, id, query)) {
      const { length } = chunk.bytes;
      // The same memory for all chunks of a page.
      if (held.length < length) held = Buffer.allocUnsafeSlow(length);
      held.set(chunk.bytes);
      yield { ...chunk, bytes: held.subarray(0, length) };
      if (slices.isOver) await slices.begin();
    }
  }

  /**
   * Yields chunk by chunk, and returns the position from which to continue. Opens the store's rows again for each chunk, so that no read
   * transaction stays open between them. Records never change. The bytes of a chunk are valid only until the store's next read.
   */
  *#readRecords(
    customer: CustomerNumber,
    id: ExtractionId,
    { fromSeq, recordsMax, bytesMax }: RecordQuery,
  ): Generator<RecordChunk, number | null, undefined> {
    this.#parts.refresh();
    const stored = this.#parts.store.extractions.find(customer, id);
    if (stored === null) return null;
    const end = stored.state.collected;
    let seq = fromSeq;
    let bytesLeft = bytesMax;
    while (seq < Math.min(end, fromSeq + recordsMax)) {
      const chunk = this.#parts.store.records.find(stored.job.number, seq);
      const skipped = seq - (chunk?.firstSeq ?? 0);
      if (chunk === null || skipped < 0 || skipped >= chunk.records) break;
      const wanted = Math.min(chunk.records - skipped, fromSeq + recordsMax - seq);
      const taken = cut(sliceRecords(chunk.bytes, skipped, wanted), seq === fromSeq ? 1 : 0, bytesLeft);
      const firstSeq = seq;
      seq += taken.records;
      bytesLeft -= taken.bytes.length;
      if (taken.records > 0) yield { firstSeq, ...taken };
      if (taken.records < wanted) break;
    }
    return seq < end ? seq : null;
  }

  findIdempotent(customer: CustomerNumber, request: IdempotentRequest): IdempotentOutcome {
    this.#parts.refresh();
    return this.#parts.store.idempotency.find(this.#parts.encryptionKey, { customer, ...request }, this.#parts.nowMs());
  }

  failureOf(requestId: string): FailureDetail | null {
    this.#parts.refresh();
    return this.#parts.store.failures.find(requestId);
  }

  /**
   * Returns the decrypted delivery credentials of a job, which must never be logged. Null if there are none, or if they were encrypted with
   * another key.
   */
  deliverySecretsOf(customer: CustomerNumber, id: ExtractionId): Readonly<Record<string, string>> | null {
    const sealed = this.#parts.store.extractions.find(customer, id)?.job.encryptedSecrets ?? null;
    const plain = sealed === null ? null : decrypt(this.#parts.encryptionKey, sealed, secretsContext(customer, id));
    return plain === null ? null : (JSON.parse(plain.toString('utf8')) as Record<string, string>);
  }
}

/** Identifies whose secrets are encrypted: part of the encryption, so that they cannot be moved to another job. */
export function secretsContext(customer: CustomerNumber, id: ExtractionId): string {
  return `extraction/${customer}/${id}`;
}

/** Returns as many whole lines as fit, and at least `recordsMin`. */
function cut(bytes: Uint8Array, recordsMin: number, bytesMax: number): { bytes: Uint8Array; records: number } {
  let end = 0;
  let records = 0;
  while (end < bytes.length) {
    const next = bytes.indexOf(0x0a, end) + 1;
    if (next === 0 || (next > bytesMax && records >= recordsMin)) break;
    end = next;
    records++;
  }
  return { bytes: bytes.subarray(0, end), records };
}
