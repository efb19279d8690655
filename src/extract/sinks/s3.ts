import { createHash } from 'node:crypto';
import type { RecordReader } from './batches.ts';
import { finalFault, type ResultFault } from './sink-outcome.ts';
import { FileReader, type ResultFile } from './result-file.ts';
import { completeBody } from './s3-answer.ts';
import { encodeStrictly, objectUrl, s3Fault, type S3Credentials, type S3Destination } from './s3-location.ts';
import { type S3Outcome, type S3Refusal, S3Requests } from './s3-requests.ts';
import type { SendParts } from './sending.ts';

export interface S3Parts extends SendParts {
  readonly reader: RecordReader;
  /** Stores the id of a started upload, or null once there is none, so that no crash leaves its parts there forever. */
  saveUpload(uploadId: string | null): Promise<void>;
}

export interface S3Task {
  readonly file: ResultFile;
  readonly destination: S3Destination;
  readonly credentials: S3Credentials;
  /** Id of an earlier attempt's upload that was neither completed nor aborted; null if there is none. */
  readonly uploadId: string | null;
}

export type SentPart = { readonly kind: 'sent'; readonly bytes: number } | ResultFault;

/**
 * Choice: parts of 8 MiB. Services accept no less than 5, except for the last part, and 10,000 of them are 80 GB. Two are in memory: one
 * being sent and one being filled.
 */
export const PART_BYTES = 8_388_608;
/** Source: Amazon S3 user guide, "Multipart upload limits". */
const PARTS_MAX = 10_000;
/** Choice: a service may take minutes to assemble the parts, and sends blanks meanwhile. */
const COMPLETE_MS = 300_000;
/** Choice: no service's ids are longer than about 200. */
const UPLOAD_ID_CHARACTERS_MAX = 2_048;

/**
 * Puts the result as one object whose key consists of prefix, job id and extension: in one request if it fits into one part, else part by
 * part. An object is stored completely or not at all, and a second one replaces the first.
 */
export async function putToS3(task: S3Task, parts: S3Parts): Promise<SentPart> {
  const { file, destination, credentials } = task;
  const fault = s3Fault(destination, credentials);
  if (fault !== null) return finalFault('bad_destination', `${fault.field}: ${fault.message}`);
  const object = objectUrl(destination, `${destination.prefix}${file.id}.${file.format}`);
  const requests = new S3Requests(parts, object, destination.region, credentials);
  const cleared = await clearOldUpload(task.uploadId, requests, parts);
  if (cleared !== null) return cleared;
  const source = new FileReader(file, parts.reader);
  const first = await filled(source);
  const second = first.length < PART_BYTES ? NOTHING : await filled(source);
  if (second.length > 0) return new MultipartUpload(requests, parts, source).run(first, second);
  const put = await requests.send({ method: 'PUT', query: '', body: first, contentType: source.contentType });
  return put.kind === 'ok' ? { kind: 'sent', bytes: first.length } : put;
}

const NOTHING = Buffer.alloc(0);

async function filled(source: FileReader): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(PART_BYTES);
  return buffer.subarray(0, await source.fill(buffer));
}

/** A permanent rejection does not end the delivery: the owner must then remove what is left there. */
async function clearOldUpload(id: string | null, requests: S3Requests, parts: S3Parts): Promise<S3Refusal | null> {
  if (id === null) return null;
  const aborted = await abort(id, requests);
  if (aborted.kind === 'failed' && !aborted.isFinal) return aborted;
  await parts.saveUpload(null);
  return null;
}

function abort(uploadId: string, requests: S3Requests): Promise<S3Outcome> {
  return requests.send({ method: 'DELETE', query: uploadQuery(uploadId), body: null });
}

function uploadQuery(uploadId: string): string {
  return `uploadId=${encodeStrictly(uploadId)}`;
}

/** One multipart upload from its first request to its last. */
class MultipartUpload {
  readonly #requests: S3Requests;
  readonly #parts: S3Parts;
  readonly #source: FileReader;
  readonly #etags: string[] = [];
  #bytes = 0;

  constructor(requests: S3Requests, parts: S3Parts, source: FileReader) {
    this.#requests = requests;
    this.#parts = parts;
    this.#source = source;
  }

  async run(first: Buffer, second: Buffer): Promise<SentPart> {
    const begun = await this.#begin();
    if (begun.kind === 'failed') return begun;
    const { uploadId } = begun;
    try {
      await this.#parts.saveUpload(uploadId);
      const fault = (await this.#upload(uploadId, first, second)) ?? (await this.#complete(uploadId));
      if (fault !== null) await this.#giveUp(uploadId, fault);
      else await this.#parts.saveUpload(null);
      return fault ?? { kind: 'sent', bytes: this.#bytes };
    } catch (error) {
      await this.#giveUp(uploadId, null);
      throw error;
    }
  }

  async #begin(): Promise<{ readonly kind: 'begun'; readonly uploadId: string } | ResultFault> {
    const begun = await this.#requests.send({
      method: 'POST',
      query: 'uploads=',
      body: null,
      contentType: this.#source.contentType,
      root: 'InitiateMultipartUploadResult',
    });
    if (begun.kind === 'failed') return begun;
    const uploadId = begun.answer?.values.get('UploadId') ?? '';
    if (uploadId === '' || uploadId.length > UPLOAD_ID_CHARACTERS_MAX)
      return finalFault('http_status', 'the started upload has no id');
    return { kind: 'begun', uploadId };
  }

  /** Sends each part while the next one is filled; two buffers alternate. */
  async #upload(uploadId: string, first: Buffer, second: Buffer): Promise<ResultFault | null> {
    let current = first;
    let next = second;
    let spare: Buffer | null = null;
    while (current.length > 0) {
      if (this.#etags.length >= PARTS_MAX) return finalFault('too_large', `more than ${PARTS_MAX} parts`);
      const [sent, following] = await Promise.allSettled([this.#send(uploadId, current), this.#refill(spare)]);
      if (sent.status === 'rejected') throw sent.reason;
      if (sent.value !== null) return sent.value;
      if (following.status === 'rejected') throw following.reason;
      spare = current.length === PART_BYTES ? current : null;
      current = next.length > 0 ? next : following.value;
      next = next.length > 0 ? following.value : NOTHING;
    }
    return null;
  }

  async #refill(buffer: Buffer | null): Promise<Buffer> {
    return buffer === null ? NOTHING : buffer.subarray(0, await this.#source.fill(buffer));
  }

  async #send(uploadId: string, body: Buffer): Promise<ResultFault | null> {
    const query = `partNumber=${this.#etags.length + 1}&${uploadQuery(uploadId)}`;
    const sent = await this.#requests.send({ method: 'PUT', query, body });
    if (sent.kind === 'failed') return sent;
    const etag = sent.headers['etag'];
    if (typeof etag !== 'string' || etag.length > 1_024)
      return { kind: 'failed', error: 'http_status', detail: 'the response to a part has no ETag', isFinal: false };
    this.#etags.push(etag);
    this.#bytes += body.length;
    return null;
  }

  async #complete(uploadId: string): Promise<ResultFault | null> {
    const completed = await this.#requests.send({
      method: 'POST',
      query: uploadQuery(uploadId),
      body: Buffer.from(completeBody(this.#etags)),
      contentType: 'application/xml',
      root: 'CompleteMultipartUploadResult',
      workMs: COMPLETE_MS,
    });
    if (completed.kind === 'ok') return null;
    if (completed.code !== 'NoSuchUpload') return completed;
    // An earlier attempt whose response was lost may have completed the upload. If not, a new upload may succeed.
    if (completed.mayBeDone && (await this.#isThere())) return null;
    return { ...completed, isFinal: false };
  }

  async #isThere(): Promise<boolean> {
    const head = await this.#requests.send({ method: 'HEAD', query: '', body: null });
    if (head.kind === 'failed' || Number(head.headers['content-length']) !== this.#bytes) return false;
    // An object of an earlier attempt may have the same length. Its ETag tells them apart if the service computes it as Amazon does.
    const etag = head.headers['etag'];
    return !isMultipartTag(etag) || etag === this.#wholeTag() || !this.#etags.every((tag) => MD5_TAG.test(tag));
  }

  /** Returns the ETag of an object whose parts have their MD5 sums as ETags. */
  #wholeTag(): string {
    const sums = this.#etags.map((tag) => Buffer.from(tag.replaceAll('"', ''), 'hex'));
    return `"${createHash('md5').update(Buffer.concat(sums)).digest('hex')}-${sums.length}"`;
  }

  /** Aborts the upload, because parts that remain cost their owner money. If that fails, the next attempt finds the id and tries again. */
  async #giveUp(uploadId: string, fault: ResultFault | null): Promise<void> {
    if (fault?.error === 'shutdown') return;
    const aborted = await abort(uploadId, this.#requests);
    if (aborted.kind === 'ok' || aborted.code === 'NoSuchUpload') await this.#parts.saveUpload(null);
  }
}

const MD5_TAG = /^"[0-9a-f]{32}"$/;

function isMultipartTag(etag: string | string[] | undefined): etag is string {
  return typeof etag === 'string' && /^"[0-9a-f]{32}-\d+"$/.test(etag);
}
