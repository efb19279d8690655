import { randomBytes } from 'node:crypto';
import type * as z from 'zod';
import type { FieldError } from '../../contract/problem.ts';
import { unreachable } from '../../kernel/brand.ts';
import {
  BATCH_RECORDS_DEFAULT,
  type EXTRACTION_DELIVERY,
  type GivenS3,
  REGION_DEFAULT,
  WAIT_SECONDS_DEFAULT,
} from '../../contract/requests/extraction-delivery-requests.ts';
import type { ExtractionDelivery } from '../../work/extraction-job.ts';
import { s3Fault } from '../sinks/s3-location.ts';
import { type CheckTarget, readRequestTarget } from './request-target.ts';

/** Where results go, and the secrets for that. Source: contract, 11.4, `delivery`. */
export interface Destination {
  /**
   * Contains no secret, so it may be shown and stored as it is. The URL of an `http_put` has no query here, because the query may be a
   * signature.
   */
  readonly delivery: ExtractionDelivery;
  /**
   * To be encrypted: `{secret}` for a webhook, `{accessKeyId, secretAccessKey}` for S3, `{url}` for `http_put`, which is the complete URL
   * to call. Null if there are no secrets.
   */
  readonly secrets: Readonly<Record<string, string>> | null;
  /** The webhook's secret if it was generated here; else null. */
  readonly newSecret: string | null;
}

export type ReadDelivery =
  | { readonly kind: 'ok'; readonly destination: Destination; readonly blocked: readonly FieldError[] }
  | { readonly kind: 'faults'; readonly errors: readonly FieldError[] };

type Given = z.infer<typeof EXTRACTION_DELIVERY>;

const NOWHERE: ExtractionDelivery = {
  kind: 'store',
  status: 'pending',
  waitSeconds: null,
  url: null,
  batchSize: null,
  s3: null,
};

/** Checks what the schema cannot express. Generates a secret for a webhook without one. */
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
  const { errors, blocked } = readRequestTarget(url, '/delivery/url', checkTarget);
  if (errors.length > 0) return { kind: 'faults', errors };
  const newSecret = secret === null || secret === undefined ? `whsec_${randomBytes(32).toString('base64')}` : null;
  const destination: Destination = {
    delivery: { ...NOWHERE, kind: 'webhook', url, batchSize: batchSize ?? BATCH_RECORDS_DEFAULT },
    secrets: { secret: newSecret ?? secret ?? '' },
    newSecret,
  };
  return { kind: 'ok', destination, blocked };
}

/** Choice: without an endpoint, Amazon's endpoint of the region is used. */
function readS3(given: GivenS3, checkTarget: CheckTarget): ReadDelivery {
  const region = given.region ?? REGION_DEFAULT;
  const endpoint = given.endpoint ?? `https://s3.${region}.amazonaws.com`;
  const s3 = { endpoint, bucket: given.bucket, region, prefix: given.prefix ?? '' };
  const credentials = { accessKeyId: given.access_key_id, secretAccessKey: given.secret_access_key };
  const fault = s3Fault(s3, credentials);
  if (fault !== null) {
    const pointer = `/delivery/destination/${fault.field}`;
    return { kind: 'faults', errors: [{ pointer, code: 'invalid_value', message: fault.message }] };
  }
  const { errors, blocked } = readRequestTarget(endpoint, '/delivery/destination/endpoint', checkTarget);
  if (errors.length > 0) return { kind: 'faults', errors };
  const delivery: ExtractionDelivery = { ...NOWHERE, kind: 's3', s3 };
  return { kind: 'ok', destination: { delivery, secrets: credentials, newSecret: null }, blocked };
}

function readHttpPut(url: string, checkTarget: CheckTarget): ReadDelivery {
  const { errors, blocked } = readRequestTarget(url, '/delivery/destination/url', checkTarget);
  if (errors.length > 0) return { kind: 'faults', errors };
  const delivery: ExtractionDelivery = { ...NOWHERE, kind: 'http_put', url: url.replace(/\?.*$/s, '') };
  return { kind: 'ok', destination: { delivery, secrets: { url }, newSecret: null }, blocked };
}

function sound(destination: Destination): ReadDelivery {
  return { kind: 'ok', destination, blocked: [] };
}
