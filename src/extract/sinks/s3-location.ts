import { parseUrl } from '../../kernel/parse-url.ts';
import type { ExtractionDelivery } from '../../work/extraction-job.ts';

/** Location of a result in S3. */
export type S3Destination = NonNullable<ExtractionDelivery['s3']>;

/** Never logged. */
export interface S3Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

export interface S3Fault {
  readonly field: 'endpoint' | 'bucket' | 'region' | 'prefix' | 'access_key_id' | 'secret_access_key';
  /** Public text. */
  readonly message: string;
}

/** Source: Amazon S3 user guide, "Bucket naming rules"; older buckets also have capitals and underscores, as do those of other services. */
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/;
/** Choice: part of the scope of a signature, so it contains no slash and no blank. */
const REGION = /^[A-Za-z0-9_-]{1,64}$/;
/** Choice: they are sent in a header or used to sign it. Published ones have 16 to 128 characters. */
const CREDENTIAL = /^[\x21-\x7e]{1,256}$/;
/** Source: Amazon S3 user guide, "Naming objects": 1,024 bytes of a key; the rest is for the id and the extension. */
const PREFIX_BYTES_MAX = 960;

/** Returns the error of a destination; null if there is none. The guarded client decides whether its address may be reached. */
export function s3Fault(destination: S3Destination, credentials: S3Credentials): S3Fault | null {
  const { endpoint, bucket, region, prefix } = destination;
  if (endpointOf(endpoint) === null)
    return {
      field: 'endpoint',
      message: 'This must be an absolute http or https URL without query, fragment and user info.',
    };
  if (!BUCKET.test(bucket) || bucket.includes('..')) return { field: 'bucket', message: 'Is not a valid bucket name.' };
  if (!REGION.test(region)) return { field: 'region', message: 'Is not a valid region name.' };
  if (prefixFault(prefix) !== null) return { field: 'prefix', message: prefixFault(prefix) ?? '' };
  if (!CREDENTIAL.test(credentials.accessKeyId))
    return { field: 'access_key_id', message: 'This is not a valid access key id.' };
  if (!CREDENTIAL.test(credentials.secretAccessKey))
    return { field: 'secret_access_key', message: 'Is not a valid secret key.' };
  return null;
}

function prefixFault(prefix: string): string | null {
  if (Buffer.byteLength(prefix) > PREFIX_BYTES_MAX) return `Must be at most ${PREFIX_BYTES_MAX} bytes.`;
  if (/[\p{Cc}\p{Cs}]/u.test(prefix)) return 'Contains a character that is not allowed.';
  // A URL cannot contain such a key: URL parsers resolve these segments as path steps, even if they are encoded.
  if (prefix.split('/').some((segment) => segment === '.' || segment === '..')) return 'No segment may be . or .. .';
  return null;
}

function endpointOf(text: string): URL | null {
  return /^https?:\/\/[^\s\\?#@]+$/i.test(text) ? parseUrl(text) : null;
}

/**
 * Returns the URL of an object, with all reserved bytes of its key percent-encoded. Choice: path style, `endpoint/bucket/key`, which all
 * such services support. Amazon's own endpoints get the bucket as part of the host name, as newer buckets there require, if the name is
 * valid in a host name. Throws a TypeError for an invalid destination.
 */
export function objectUrl({ endpoint, bucket }: Pick<S3Destination, 'endpoint' | 'bucket'>, key: string): URL {
  const url = endpointOf(endpoint);
  if (url === null) throw new TypeError('the endpoint of an S3 destination is not a URL');
  const encodedKey = key.split('/').map(encodeStrictly).join('/');
  const base = url.pathname.replace(/\/+$/, '');
  if (isAmazon(url.hostname) && /^[a-z0-9-]+$/.test(bucket))
    return new URL(`${url.protocol}//${bucket}.${url.host}${base}/${encodedKey}`);
  return new URL(`${url.origin}${base}/${encodeStrictly(bucket)}/${encodedKey}`);
}

function isAmazon(host: string): boolean {
  return /^s3[.-](?:[a-z0-9.-]+\.)?amazonaws\.com(?:\.cn)?$/.test(host) || host === 's3.amazonaws.com';
}

/** Source: Amazon S3 API reference, "Signature calculations": all but letters, digits and `-._~`. */
export function encodeStrictly(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
