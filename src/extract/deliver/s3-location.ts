import type { ExtractionDelivery } from '../../core/extraction.ts';

/** Where in S3 a result goes, and under whose name. */
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

/** Source: Amazon S3 user guide, "Bucket naming rules"; older buckets have capitals, underscores and other services too. */
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/;
/** Choice: what stands in the scope of a signature, so no slash and no blank. */
const REGION = /^[A-Za-z0-9_-]{1,64}$/;
/** Choice: they stand in a header or sign it; published ones are 16 to 128 characters. */
const CREDENTIAL = /^[\x21-\x7e]{1,256}$/;
/** Source: Amazon S3 user guide, "Naming objects": 1,024 bytes of a key; the rest is for the id and the extension. */
const PREFIX_BYTES_MAX = 960;

/** What is wrong with a destination, null for nothing. Whether its address may be reached is the guarded client's to say. */
export function s3Fault(destination: S3Destination, credentials: S3Credentials): S3Fault | null {
  const { endpoint, bucket, region, prefix } = destination;
  if (endpointOf(endpoint) === null)
    return {
      field: 'endpoint',
      message: 'Must be an absolute http or https URL without query, fragment and user info.',
    };
  if (!BUCKET.test(bucket) || bucket.includes('..')) return { field: 'bucket', message: 'Is no name of a bucket.' };
  if (!REGION.test(region)) return { field: 'region', message: 'Is no name of a region.' };
  if (prefixFault(prefix) !== null) return { field: 'prefix', message: prefixFault(prefix) ?? '' };
  if (!CREDENTIAL.test(credentials.accessKeyId)) return { field: 'access_key_id', message: 'Is no access key id.' };
  if (!CREDENTIAL.test(credentials.secretAccessKey))
    return { field: 'secret_access_key', message: 'Is no secret key.' };
  return null;
}

function prefixFault(prefix: string): string | null {
  if (Buffer.byteLength(prefix) > PREFIX_BYTES_MAX) return `Must be at most ${PREFIX_BYTES_MAX} bytes.`;
  if (/[\p{Cc}\p{Cs}]/u.test(prefix)) return 'Holds a character that it may not.';
  // A URL cannot name such a key: what reads URLs takes these for steps in a path, encoded or not.
  if (prefix.split('/').some((segment) => segment === '.' || segment === '..')) return 'Has a segment . or .. in it.';
  return null;
}

function endpointOf(text: string): URL | null {
  if (!URL.canParse(text) || !/^https?:\/\/[^\s\\?#@]+$/i.test(text)) return null;
  return new URL(text);
}

/**
 * The URL of an object, each byte of its key that is not unreserved percent-encoded. Choice: path style, `endpoint/bucket/key`, which
 * all services of the kind speak; Amazon's own endpoints get the bucket as a part of the host name, as newer buckets there want,
 * where the name may stand in one. Throws a TypeError for a destination that has a fault.
 */
export function objectUrl({ endpoint, bucket }: Pick<S3Destination, 'endpoint' | 'bucket'>, key: string): URL {
  const url = endpointOf(endpoint);
  if (url === null) throw new TypeError('the endpoint of an S3 destination is no URL');
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
