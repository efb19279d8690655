import { describe, expect, test } from 'vitest';
import { objectUrl, s3Fault } from '../../../../src/extract/sinks/s3-location.ts';

const GOOD = { endpoint: 'https://minio.example:9000', bucket: 'results', region: 'eu-central-1', prefix: 'a/b/' };
const CREDENTIALS = { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'secret/+' };

test.each([
  ['path style for a self-hosted service', GOOD.endpoint, 'results', 'https://minio.example:9000/results/a/k.json'],
  ['an endpoint with a path', 'https://store.example/s3/', 'results', 'https://store.example/s3/results/a/k.json'],
  [
    'host style at Amazon',
    'https://s3.eu-west-1.amazonaws.com',
    'results',
    'https://results.s3.eu-west-1.amazonaws.com/a/k.json',
  ],
  [
    'host style at Amazon without a region',
    'https://s3.amazonaws.com/',
    'results',
    'https://results.s3.amazonaws.com/a/k.json',
  ],
  [
    'path style at Amazon for a name with dots',
    'https://s3.eu-west-1.amazonaws.com',
    'my.results',
    'https://s3.eu-west-1.amazonaws.com/my.results/a/k.json',
  ],
  [
    'path style for a name that only ends like Amazon',
    'https://s3.evilamazonaws.com',
    'results',
    'https://s3.evilamazonaws.com/results/a/k.json',
  ],
])('the URL of an object is correct for %s', (_name, endpoint, bucket, url) => {
  expect(objectUrl({ endpoint, bucket }, 'a/k.json').href).toBe(url);
});

test('a key is encoded byte by byte, except its slashes', () => {
  const { pathname } = objectUrl(GOOD, "ä b/+%'()*!~?#/k");
  expect(pathname).toBe('/results/%C3%A4%20b/%2B%25%27%28%29%2A%21~%3F%23/k');
});

test('a valid destination has no fault', () => {
  expect(s3Fault(GOOD, CREDENTIALS)).toBeNull();
  expect(s3Fault({ ...GOOD, endpoint: 'http://[::1]:9000/base', prefix: '' }, CREDENTIALS)).toBeNull();
  expect(s3Fault({ ...GOOD, prefix: 'ein präfix/..a/' }, CREDENTIALS)).toBeNull();
});

describe('s3Fault', () => {
  test.each([
    ['endpoint', { endpoint: 'minio.example' }],
    ['endpoint', { endpoint: 'ftp://minio.example' }],
    ['endpoint', { endpoint: 'https://user@minio.example' }],
    ['endpoint', { endpoint: 'https://minio.example?x=1' }],
    ['bucket', { bucket: 'a' }],
    ['bucket', { bucket: 'a/b' }],
    ['bucket', { bucket: 'a..b' }],
    ['region', { region: '' }],
    ['region', { region: 'eu/1' }],
    ['prefix', { prefix: '../' }],
    ['prefix', { prefix: 'a/./b/' }],
    ['prefix', { prefix: 'a\nb' }],
    ['prefix', { prefix: '\uD800' }],
    ['prefix', { prefix: 'ä'.repeat(481) }],
  ])('the invalid field %s is reported for %o', (field, change) => {
    expect(s3Fault({ ...GOOD, ...change }, CREDENTIALS)?.field).toBe(field);
  });

  test('invalid credentials are reported without repeating them', () => {
    const key = s3Fault(GOOD, { ...CREDENTIALS, accessKeyId: 'A\r\nB' });
    const secret = s3Fault(GOOD, { ...CREDENTIALS, secretAccessKey: '' });
    expect([key, secret]).toMatchObject([{ field: 'access_key_id' }, { field: 'secret_access_key' }]);
    expect(key?.message).not.toContain('A\r');
  });
});
