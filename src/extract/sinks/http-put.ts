import { attemptError } from '../../work/webhook-schedule.ts';
import type { RecordReader } from './batches.ts';
import { finalFault } from './sink-outcome.ts';
import { FileReader, type ResultFile } from './result-file.ts';
import type { SentPart } from './s3.ts';
import { ANSWER_BYTES_MAX, CONNECT_MS, type SendParts, timeoutMsOf, USER_AGENT } from './sending.ts';

export interface PutParts extends SendParts {
  readonly reader: RecordReader;
}

/**
 * Choice: maximum size of a result sent in one request, bytes. The request has a Content-Length, so the result is completely in memory. A
 * larger result is not delivered this way: its records remain available through the API, and S3 accepts any size.
 */
const PUT_BYTES_MAX = 67_108_864;

/** Sends the whole result with one PUT. Any 2xx is a success. Redirects are not followed, as for webhooks. */
export async function putResult(
  file: ResultFile,
  url: string,
  parts: PutParts,
  bytesMax = PUT_BYTES_MAX,
): Promise<SentPart> {
  const source = new FileReader(file, parts.reader);
  // The system allocates only memory that is written, so a small result costs only its own size.
  const buffer = Buffer.allocUnsafeSlow(bytesMax);
  const body = buffer.subarray(0, await source.fill(buffer));
  if (body.length === bytesMax && (await source.fill(Buffer.alloc(1))) > 0)
    return finalFault('too_large', `the result has more than ${bytesMax} bytes`);
  const outcome = await parts.client.request({
    url,
    method: 'PUT',
    headers: { 'content-type': source.contentType, 'user-agent': USER_AGENT },
    body,
    timeoutMs: timeoutMsOf(body.length),
    connectMs: CONNECT_MS,
    responseBytesMax: ANSWER_BYTES_MAX,
    discardBody: true,
    idempotent: true,
  });
  const error = attemptError(outcome);
  if (error === null) return { kind: 'sent', bytes: body.length };
  const detail = outcome.kind === 'failed' ? outcome.detail : `PUT answered ${outcome.status}`;
  return { kind: 'failed', error, detail, isFinal: error === 'gone' };
}
