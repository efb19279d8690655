import * as z from 'zod';

/** Source: contract, 11.4. */
export const WAIT_SECONDS_DEFAULT = 30;
export const WAIT_SECONDS_MAX = 120;
const BATCH_RECORDS_MAX = 1_000;
/** Choice: the size of a page of records. */
export const BATCH_RECORDS_DEFAULT = 100;
/** Choice: the region name that most S3-compatible services accept. */
export const REGION_DEFAULT = 'us-east-1';
const TEXT_CHARACTERS_MAX = 2_048;
/** Source: Standard Webhooks: 24 to 64 bytes. */
const SECRET_BYTES_MIN = 24;
const SECRET_BYTES_MAX = 64;

const words = z.string().max(TEXT_CHARACTERS_MAX);

const S3 = z.object({
  kind: z.literal('s3'),
  endpoint: words.nullish().meta({ description: "By default Amazon's endpoint of the region" }),
  bucket: words,
  region: words.nullish().meta({ default: REGION_DEFAULT }),
  prefix: words.nullish().meta({ default: '' }),
  access_key_id: words.meta({ writeOnly: true }),
  secret_access_key: words.meta({ writeOnly: true }),
});
export type GivenS3 = z.infer<typeof S3>;

const HTTP_PUT = z.object({ kind: z.literal('http_put'), url: words.meta({ writeOnly: true }) });

const SECRET_FORM = `This must be whsec_ and the base64 of ${SECRET_BYTES_MIN} to ${SECRET_BYTES_MAX} bytes.`;

/** The `delivery` of a request's body. */
export const EXTRACTION_DELIVERY = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('store') }),
    z.object({
      type: z.literal('sync'),
      wait_seconds: z.int().min(0).max(WAIT_SECONDS_MAX).nullish().meta({ default: WAIT_SECONDS_DEFAULT }),
    }),
    z.object({
      type: z.literal('webhook'),
      url: words,
      batch_size: z.int().min(1).max(BATCH_RECORDS_MAX).nullish().meta({ default: BATCH_RECORDS_DEFAULT }),
      secret: z.string().refine(isSecret, { message: SECRET_FORM }).nullish().meta({
        writeOnly: true,
        description: '`whsec_` and the base64 of 24 to 64 bytes; if absent, a secret is created and shown once',
      }),
    }),
    z.object({ type: z.literal('destination'), destination: z.discriminatedUnion('kind', [S3, HTTP_PUT]) }),
  ])
  .meta({ id: 'ExtractionDelivery' });

function isSecret(given: string): boolean {
  if (!/^whsec_[A-Za-z0-9+/]{1,88}={0,2}$/.test(given)) return false;
  const encoded = given.slice('whsec_'.length);
  const bytes = Buffer.from(encoded, 'base64');
  // The decoder accepts truncated text, so the result is encoded again and compared.
  return (
    bytes.toString('base64').replaceAll('=', '') === encoded.replaceAll('=', '') &&
    bytes.length >= SECRET_BYTES_MIN &&
    bytes.length <= SECRET_BYTES_MAX
  );
}
