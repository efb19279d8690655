import aws4 from 'aws4';
import type { S3Credentials } from './s3-location.ts';

export interface S3SignInput {
  readonly method: string;
  /** Path and query percent-encoded as they are sent. */
  readonly url: URL;
  /** All of them are signed. */
  readonly headers: Readonly<Record<string, string>>;
  /** SHA-256 of the body, hex. */
  readonly bodySha256: string;
  readonly region: string;
  readonly credentials: S3Credentials;
  /** Real time, Unix ms. Services reject requests that are off by 15 minutes. */
  readonly nowMs: number;
}

/**
 * Returns the headers of one S3 request, signed for this moment (AWS Signature Version 4, in a header). The signature contains the hash of
 * the body, so the body is not copied, and the service rejects a body that was changed in transit. Host and path are signed as they are
 * sent: the guarded client sends those of the URL.
 */
export function s3Headers(input: S3SignInput): Record<string, string> {
  const { method, url, headers, bodySha256, region, credentials, nowMs } = input;
  const { headers: signed } = aws4.sign(
    {
      method,
      host: url.host,
      path: `${url.pathname}${url.search}`,
      service: 's3',
      region,
      headers: { ...headers, host: url.host, 'x-amz-content-sha256': bodySha256, 'x-amz-date': amzDate(nowMs) },
    },
    // Both are always given: if they were absent, the package would take others from the environment.
    { accessKeyId: credentials.accessKeyId, secretAccessKey: credentials.secretAccessKey },
  );
  return signed;
}

/** `20130524T000000Z` */
function amzDate(nowMs: number): string {
  return new Date(nowMs).toISOString().replaceAll(/[:-]|\.\d{3}/g, '');
}
