import aws4 from 'aws4';
import type { S3Credentials } from './s3-location.ts';

export interface SignInput {
  readonly method: string;
  /** Path and query percent-encoded as they are sent. */
  readonly url: URL;
  /** All of them are signed. */
  readonly headers: Readonly<Record<string, string>>;
  /** Of the body, hex. */
  readonly bodySha256: string;
  readonly region: string;
  readonly credentials: S3Credentials;
  /** Real time, Unix ms; services refuse what is 15 minutes off. */
  readonly nowMs: number;
}

/**
 * The headers of one request to S3, signed for this moment (AWS Signature Version 4, in a header). The body counts by its hash, so it
 * is not copied and the service refuses one that was changed on the way. Host and path are signed as they are sent: the guarded client
 * sends the URL's own.
 */
export function s3Headers(input: SignInput): Record<string, string> {
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
    // Only these two: were they absent, the package would look for others in the environment.
    { accessKeyId: credentials.accessKeyId, secretAccessKey: credentials.secretAccessKey },
  );
  return signed;
}

/** `20130524T000000Z` */
function amzDate(nowMs: number): string {
  return new Date(nowMs).toISOString().replaceAll(/[:-]|\.\d{3}/g, '');
}
