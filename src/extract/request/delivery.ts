import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import type { FieldError } from '../../base/problem.ts';
import { unreachable } from '../../base/brand.ts';
import type { ExtractionDelivery } from '../../core/extraction.ts';
import { s3Fault } from '../deliver/s3-location.ts';
import { type CheckTarget, readTarget } from './target.ts';

/** Where results go, and under what secrets. Source: open points, section 5, `delivery`. */
export interface Destination {
  /** Without any secret: it may be shown and stored as it is. Of an `http_put` the URL has no query, as that may be a signature. */
  readonly delivery: ExtractionDelivery;
  /**
   * To be sealed: `{secret}` of a webhook, `{accessKeyId, secretAccessKey}` of S3, `{url}` of `http_put`, which is the URL to call;
   * null where there is none.
   */
  readonly secrets: Readonly<Record<string, string>> | null;
  /** The webhook's secret where it was made here; null else. */
  readonly newSecret: string | null;
}

export type ReadDelivery =
  | { readonly kind: 'ok'; readonly destination: Destination; readonly blocked: readonly FieldError[] }
  | { readonly kind: 'faults'; readonly errors: readonly FieldError[] };

/** Source: open points, section 5. */
const WAIT_SECONDS_DEFAULT = 30;
export const WAIT_SECONDS_MAX = 120;
const BATCH_RECORDS_MAX = 1_000;
/** Choice: as many as a page of records has. */
const BATCH_RECORDS_DEFAULT = 100;
/** Choice: the name that most services of the kind go by. */
const REGION_DEFAULT = 'us-east-1';
const TEXT_CHARACTERS_MAX = 2_048;
/** Source: Standard Webhooks: 24 to 64 bytes. */
const SECRET_BYTES_MIN = 24;
const SECRET_BYTES_MAX = 64;

const words = z.string().max(TEXT_CHARACTERS_MAX);

const S3 = z.object({
  kind: z.literal('s3'),
  endpoint: words.nullish(),
  bucket: words,
  region: words.nullish(),
  prefix: words.nullish(),
  access_key_id: words,
  secret_access_key: words,
});
const HTTP_PUT = z.object({ kind: z.literal('http_put'), url: words });

const SECRET_FORM = `This must be whsec_ and the base64 of ${SECRET_BYTES_MIN} to ${SECRET_BYTES_MAX} bytes.`;

/** The `delivery` of a request's body. */
export const DELIVERY = z.discriminatedUnion('type', [
  z.object({ type: z.literal('store') }),
  z.object({ type: z.literal('sync'), wait_seconds: z.int().min(0).max(WAIT_SECONDS_MAX).nullish() }),
  z.object({
    type: z.literal('webhook'),
    url: words,
    batch_size: z.int().min(1).max(BATCH_RECORDS_MAX).nullish(),
    secret: z.string().refine(isSecret, { message: SECRET_FORM }).nullish(),
  }),
  z.object({ type: z.literal('destination'), destination: z.discriminatedUnion('kind', [S3, HTTP_PUT]) }),
]);

type Given = z.infer<typeof DELIVERY>;

const NOWHERE: ExtractionDelivery = {
  kind: 'store',
  status: 'pending',
  waitSeconds: null,
  url: null,
  batchSize: null,
  s3: null,
};

/** What the schema cannot say. A secret is made where a webhook came without one. */
export function readDelivery(given: Given, checkTarget: CheckTarget): ReadDelivery {
  switch (given.type) {
    case 'store':
      return sound({ delivery: NOWHERE, secrets: null, newSecret: null });
    case 'sync': {
      const waitSeconds = given.wait_seconds ?? WAIT_SECONDS_DEFAULT;
      return sound({ delivery: { ...NOWHERE, kind: 'sync', waitSeconds }, secrets: null, newSecret: null });
    }
    case 'webhook':
      return readWebhook(given, checkTarget);
    case 'destination':
      return given.destination.kind === 's3'
        ? readS3(given.destination, checkTarget)
        : readHttpPut(given.destination.url, checkTarget);
    default:
      return unreachable(given);
  }
}

function readWebhook(given: Extract<Given, { type: 'webhook' }>, checkTarget: CheckTarget): ReadDelivery {
  const { url, batch_size: batchSize, secret } = given;
  const { errors, blocked } = readTarget(url, '/delivery/url', checkTarget);
  if (errors.length > 0) return { kind: 'faults', errors };
  const newSecret = secret === null || secret === undefined ? `whsec_${randomBytes(32).toString('base64')}` : null;
  const destination: Destination = {
    delivery: { ...NOWHERE, kind: 'webhook', url, batchSize: batchSize ?? BATCH_RECORDS_DEFAULT },
    secrets: { secret: newSecret ?? secret ?? '' },
    newSecret,
  };
  return { kind: 'ok', destination, blocked };
}

/** Choice: without an endpoint it is Amazon's own of the region. */
function readS3(given: z.infer<typeof S3>, checkTarget: CheckTarget): ReadDelivery {
  const region = given.region ?? REGION_DEFAULT;
  const endpoint = given.endpoint ?? `https://s3.${region}.amazonaws.com`;
  const s3 = { endpoint, bucket: given.bucket, region, prefix: given.prefix ?? '' };
  const credentials = { accessKeyId: given.access_key_id, secretAccessKey: given.secret_access_key };
  const fault = s3Fault(s3, credentials);
  if (fault !== null) {
    const pointer = `/delivery/destination/${fault.field}`;
    return { kind: 'faults', errors: [{ pointer, code: 'invalid_value', message: fault.message }] };
  }
  const { errors, blocked } = readTarget(endpoint, '/delivery/destination/endpoint', checkTarget);
  if (errors.length > 0) return { kind: 'faults', errors };
  const delivery: ExtractionDelivery = { ...NOWHERE, kind: 's3', s3 };
  return { kind: 'ok', destination: { delivery, secrets: credentials, newSecret: null }, blocked };
}

function readHttpPut(url: string, checkTarget: CheckTarget): ReadDelivery {
  const { errors, blocked } = readTarget(url, '/delivery/destination/url', checkTarget);
  if (errors.length > 0) return { kind: 'faults', errors };
  const delivery: ExtractionDelivery = { ...NOWHERE, kind: 'http_put', url: url.replace(/\?.*$/s, '') };
  return { kind: 'ok', destination: { delivery, secrets: { url }, newSecret: null }, blocked };
}

function sound(destination: Destination): ReadDelivery {
  return { kind: 'ok', destination, blocked: [] };
}

function isSecret(text: string): boolean {
  if (!/^whsec_[A-Za-z0-9+/]{1,88}={0,2}$/.test(text)) return false;
  const given = text.slice('whsec_'.length);
  const bytes = Buffer.from(given, 'base64');
  // The decoder takes a text that lost a part of its end.
  return (
    bytes.toString('base64').replaceAll('=', '') === given.replaceAll('=', '') &&
    bytes.length >= SECRET_BYTES_MIN &&
    bytes.length <= SECRET_BYTES_MAX
  );
}
