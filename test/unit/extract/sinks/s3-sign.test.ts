import aws4 from 'aws4';
import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { objectUrl } from '../../../../src/extract/sinks/s3-location.ts';
import { s3Headers } from '../../../../src/extract/sinks/s3-sign.ts';
import { sigV4Signature } from '../../../support/s3-server.ts';

/**
 * The published vectors, checked against the signing package and against the test server's own verifier, so that neither confirms itself.
 */

const SUITE = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
const SUITE_STAMP = '20150830T123600Z';
const FORM = 'application/x-www-form-urlencoded';

/** From the AWS Signature Version 4 test suite: name, method, target, further headers, body, signature. */
const VECTORS: readonly (readonly [string, string, string, Readonly<Record<string, string>>, string, string])[] = [
  ['get-vanilla', 'GET', '/', {}, '', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
  [
    'get-vanilla-query-order-key-case',
    'GET',
    '/?Param2=value2&Param1=value1',
    {},
    '',
    'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  ],
  [
    'get-vanilla-utf8-query',
    'GET',
    '/?%E1%88%B4=bar',
    {},
    '',
    '2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04',
  ],
  ['get-utf8', 'GET', '/ሴ', {}, '', '8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85'],
  ['post-vanilla', 'POST', '/', {}, '', '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'],
  [
    'post-x-www-form-urlencoded',
    'POST',
    '/',
    { 'content-type': FORM },
    'Param1=value1',
    'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
  ],
];

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function signatureIn(headers: Readonly<Record<string, string>>): string | undefined {
  return headers['Authorization']?.split('Signature=')[1];
}

describe.each(VECTORS)('test suite vector %s', (_name, method, target, more, body, signature) => {
  const headers = { host: 'example.amazonaws.com', 'x-amz-date': SUITE_STAMP, ...more };

  test('the signing package computes the signature of the vector', () => {
    const request = {
      method,
      path: target,
      host: headers.host,
      headers,
      body,
      service: 'service',
      region: 'us-east-1',
    };
    // The vectors do not sign the length, and encode the path once, as S3 does.
    const rules = { extraHeadersToIgnore: { 'content-length': true }, doNotEncodePath: true };
    const signed = aws4.sign({ ...request, ...rules }, SUITE);
    expect(signatureIn(signed.headers)).toBe(signature);
  });

  test('the test server computes the signature of the vector', () => {
    const input = { method, target, headers: Object.entries(headers), payloadHash: sha256(body), stamp: SUITE_STAMP };
    const scope = { region: 'us-east-1', service: 'service', secret: SUITE.secretAccessKey };
    expect(sigV4Signature({ ...input, ...scope })).toBe(signature);
  });
});

const EXAMPLE = { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' };
const EXAMPLE_MS = Date.UTC(2013, 4, 24);

/** From the Amazon S3 API reference, "Signature calculations for the Authorization header". */
const S3_EXAMPLES: typeof VECTORS = [
  [
    'PUT object',
    'PUT',
    '/test%24file.text',
    { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
    'Welcome to Amazon S3.',
    '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
  ],
  [
    'GET bucket lifecycle',
    'GET',
    '/?lifecycle',
    {},
    '',
    'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  ],
  [
    'GET bucket, list objects',
    'GET',
    '/?max-keys=2&prefix=J',
    {},
    '',
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  ],
];

describe.each(S3_EXAMPLES)('S3 reference example %s', (_name, method, target, headers, body, signature) => {
  test('requests are signed with the signature of the example', () => {
    const url = new URL(`https://examplebucket.s3.amazonaws.com${target}`);
    const signed = s3Headers({
      method,
      url,
      headers,
      bodySha256: sha256(body),
      region: 'us-east-1',
      credentials: EXAMPLE,
      nowMs: EXAMPLE_MS,
    });
    expect(signatureIn(signed)).toBe(signature);
    expect(signed['x-amz-date']).toBe('20130524T000000Z');
  });
});

test('the test server verifies the S3 example "GET object"; the signing package does not sign ranges', () => {
  const payloadHash = sha256('');
  const stamp = '20130524T000000Z';
  const headers: [string, string][] = [
    ['host', 'examplebucket.s3.amazonaws.com'],
    ['range', 'bytes=0-9'],
    ['x-amz-content-sha256', payloadHash],
    ['x-amz-date', stamp],
  ];
  const scope = { region: 'us-east-1', service: 's3', secret: EXAMPLE.secretAccessKey };
  expect(sigV4Signature({ method: 'GET', target: '/test.txt', headers, payloadHash, stamp, ...scope })).toBe(
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  );
});

test('no token from the environment is sent', () => {
  process.env['AWS_SESSION_TOKEN'] = 'of-somebody-else';
  const url = new URL('https://s3.example/bucket/key');
  const input = { method: 'PUT', url, headers: {}, bodySha256: sha256(''), region: 'eu-1', nowMs: EXAMPLE_MS };
  const signed = s3Headers({ ...input, credentials: EXAMPLE });
  delete process.env['AWS_SESSION_TOKEN'];
  expect(Object.keys(signed).map((name) => name.toLowerCase())).toEqual([
    'host',
    'x-amz-content-sha256',
    'x-amz-date',
    'authorization',
  ]);
});

test('any key is signed as it is sent', () => {
  const segment = fc.string({ unit: 'grapheme', maxLength: 12 }).filter((text) => text !== '.' && text !== '..');
  const key = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => segments.join('/'));
  fc.assert(
    fc.property(key, fc.string({ unit: 'grapheme' }), (key, uploadId) => {
      const url = objectUrl({ endpoint: 'http://127.0.0.1:9000/base', bucket: 'my.Bucket' }, key);
      url.search = `partNumber=7&uploadId=${encodeURIComponent(uploadId).replaceAll("'", '%27')}`;
      expect(decodeURIComponent(url.pathname)).toBe(`/base/my.Bucket/${key}`);
      const input = { method: 'PUT', url, headers: {}, bodySha256: sha256(key), region: 'eu-1', nowMs: EXAMPLE_MS };
      const signed = s3Headers({ ...input, credentials: EXAMPLE });
      const headers = ['host', 'x-amz-content-sha256', 'x-amz-date'].map((name) => [name, signed[name] ?? ''] as const);
      const scope = { region: 'eu-1', service: 's3', secret: EXAMPLE.secretAccessKey, stamp: '20130524T000000Z' };
      const target = `${url.pathname}${url.search}`;
      expect(signatureIn(signed)).toBe(
        sigV4Signature({ method: 'PUT', target, headers, payloadHash: sha256(key), ...scope }),
      );
    }),
    { seed: 11, numRuns: 500 },
  );
});
