import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { findTlsClient } from '../../../../src/risk/signals/tls-fingerprints.ts';

function clientOf(ja4?: string, ja3?: string): unknown {
  const headers = new Map<string, string>();
  if (ja4 !== undefined) headers.set('x-svc-ja4', ja4);
  if (ja3 !== undefined) headers.set('x-svc-ja3', ja3);
  return findTlsClient(headers);
}

const sha12 = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12);
const md5 = (text: string): string => createHash('md5').update(text).digest('hex');

/** The published raw texts of the fingerprints. That they hash to the table's values proves that these were not invented. */
describe('published raw fingerprints hash to what the table holds', () => {
  it.each([
    [
      'Chrome 133 to 149',
      '0005,000a,000b,000d,0012,0017,001b,0023,002b,002d,0033,44cd,fe0d,ff01_0403,0804,0401,0503,0805,0501,0806,0601',
      'chromium',
    ],
    [
      'Firefox 105',
      '0005,000a,000b,000d,0015,0017,001c,0022,0023,002b,002d,0033,ff01_0403,0503,0603,0804,0805,0806,0401,0501,0601,0203,0201',
      'firefox',
    ],
    [
      'Firefox 120',
      '0005,000a,000b,000d,0017,001c,0022,0023,002b,002d,0033,fe0d,ff01_0403,0503,0603,0804,0805,0806,0401,0501,0601,0203,0201',
      'firefox',
    ],
    [
      'Safari 26',
      '0005,000a,000b,000d,0012,0017,001b,002b,002d,0033,ff01_0403,0804,0401,0503,0805,0805,0501,0806,0601,0201',
      'safari',
    ],
  ])('The published raw JA4 of %s hashes to the value in the table', (_, raw, family) => {
    expect(clientOf(`t13d1516h2_000000000000_${sha12(raw)}`)).toEqual({ kind: 'browser', family });
  });
  it.each([
    [
      'Chrome up to 106',
      '771,4865-4866-4867-49195-49199-49196-49200-52393-52392-49171-49172-156-157-47-53,0-23-65281-10-11-35-16-5-13-18-51-45-43-27-17513-21,29-23-24,0',
      'chromium',
    ],
    [
      'Firefox 106',
      '771,4865-4867-4866-49195-49199-52393-52392-49196-49200-49162-49161-49171-49172-156-157-47-53,0-23-65281-10-11-35-16-5-34-51-43-13-45-28-21,29-23-24-25-256-257,0',
      'firefox',
    ],
    [
      'Safari 16',
      '771,4865-4866-4867-49196-49195-52393-49200-49199-52392-49162-49161-49172-49171-157-156-53-47-49160-49170-10,0-23-65281-10-11-16-5-13-18-51-45-43-27-21,29-23-24-25,0',
      'safari',
    ],
  ])('The published raw JA3 of %s hashes to the value in the table', (_, raw, family) => {
    expect(clientOf(undefined, md5(raw))).toEqual({ kind: 'browser', family });
  });
});

describe('look-up', () => {
  it('findTlsClient prefers JA4 to JA3', () => {
    const ja3 = '8d9f7747675e24454cd9b7ed35c58707';
    expect(clientOf('t13d1516h2_8daaf6152771_806a8c22fdea', ja3)).toEqual({ kind: 'browser', family: 'chromium' });
    expect(clientOf('t13d1516h2_8daaf6152771_000000000000', ja3)).toEqual({ kind: 'tool', name: 'Python requests' });
  });
  it('findTlsClient distinguishes Safari from Go, although they can share their ciphers', () => {
    expect(clientOf('t13d1313h2_f57a46bbacb6_7f0f34a4126d')).toEqual({ kind: 'browser', family: 'safari' });
    expect(clientOf('t13d1312h2_f57a46bbacb6_ab7e3b40a677')).toEqual({ kind: 'tool', name: 'Go' });
  });
  it.each([
    '',
    'x',
    't13d1516h2',
    't13d1516h2_8daaf6152771_806a8c22fdea_x',
    'x13d1516h2_8daaf6152771_806a8c22fdea',
    '_'.repeat(9_999),
  ])('findTlsClient returns null for %s', (text) => {
    expect(clientOf(text, text)).toBeNull();
    expect(clientOf()).toBeNull();
  });
});
