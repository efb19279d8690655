import { describe, expect, test } from 'vitest';
import { DELIVERY_ERRORS } from '../../../src/work/webhook.ts';
import { faultOf, type Phase } from '../../../src/egress/faults.ts';

const failure = (code: string): Error => Object.assign(new Error('text that says timeout, TLS and refused'), { code });

const CASES: readonly (readonly [phase: Phase, code: string, error: string])[] = [
  ['connect', 'ECONNREFUSED', 'connection_refused'],
  ['connect', 'EHOSTUNREACH', 'connection_refused'],
  ['connect', 'ENETUNREACH', 'connection_refused'],
  ['connect', 'EACCES', 'connection_refused'],
  ['connect', 'EMFILE', 'connection_refused'],
  ['connect', 'ETIMEDOUT', 'connect_timeout'],
  ['connect', 'ECONNRESET', 'connection_reset'],
  ['connect', 'ENEVERSEEN', 'connection_refused'],
  ['tls', 'ECONNRESET', 'connection_reset'],
  ['tls', 'EPROTO', 'tls_error'],
  ['tls', 'ERR_TLS_CERT_ALTNAME_INVALID', 'tls_error'],
  ['tls', 'ERR_SSL_WRONG_VERSION_NUMBER', 'tls_error'],
  ['tls', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'tls_error'],
  ['tls', 'CERT_HAS_EXPIRED', 'tls_error'],
  ['tls', 'A_NEW_CODE', 'tls_error'],
  ['tls', '', 'tls_error'],
  ['exchange', 'ECONNRESET', 'connection_reset'],
  ['exchange', 'EPIPE', 'connection_reset'],
  ['exchange', 'ETIMEDOUT', 'timeout'],
  ['exchange', 'UND_ERR_SOCKET', 'connection_reset'],
  ['exchange', 'UND_ERR_HEADERS_OVERFLOW', 'response_too_large'],
  ['exchange', 'UND_ERR_HEADERS_TIMEOUT', 'timeout'],
  ['exchange', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'connection_reset'],
  ['exchange', 'ERR_SSL_SSLV3_ALERT_BAD_RECORD_MAC', 'tls_error'],
  ['exchange', '', 'connection_reset'],
];

describe('faultOf', () => {
  test.each(CASES)('a failure in phase %s with code %j is reported as %s', (phase, code, error) => {
    expect(faultOf(failure(code), phase).error).toBe(error);
    expect(DELIVERY_ERRORS).toContain(error);
  });

  test.each([
    ['zz', undefined, 'bad_response'],
    ['zz', 'HPE_INVALID_CHUNK_SIZE', 'bad_response'],
    ['', undefined, 'connection_reset'],
    ['', 'HPE_INVALID_EOF_STATE', 'connection_reset'],
    ['zz', 'HPE_HEADER_OVERFLOW', 'response_too_large'],
  ] as const)("undici's parser refusing the bytes %j with code %s is reported as %s", (data, code, error) => {
    const refused = Object.assign(new Error('refused'), { name: 'HTTPParserError', code, data });
    expect(faultOf(refused, 'exchange').error).toBe(error);
    expect(DELIVERY_ERRORS).toContain(error);
  });

  test.each(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'])(
    'a connect failure with code %s is reported as a lack of this machine',
    (code) => {
      expect(faultOf(failure(code), 'connect')).toMatchObject({ error: 'connection_refused', lack: code });
      // In this phase something may have been sent already.
      expect(faultOf(failure(code), 'exchange')).not.toHaveProperty('lack');
    },
  );

  test('EADDRNOTAVAIL is a lack of ports for IPv4 only; for IPv6 it may mean that this machine has no IPv6', () => {
    const of = (address: string): unknown =>
      faultOf(Object.assign(failure('EADDRNOTAVAIL'), { address, port: 443 }), 'connect');
    expect(of('8.8.8.8')).toMatchObject({ error: 'connection_refused', lack: 'EADDRNOTAVAIL' });
    expect(of('2606:4700::1')).not.toHaveProperty('lack');
    expect(faultOf(failure('ECONNREFUSED'), 'connect')).not.toHaveProperty('lack');
  });

  test('a failure of several attempts is reported with the code of the first one', () => {
    const all = new AggregateError([failure('ECONNREFUSED'), failure('ENETUNREACH')]);
    expect(faultOf(all, 'connect')).toMatchObject({ error: 'connection_refused' });
  });

  test('a thrown value that is not an Error is reported too, and text from the peer is truncated', () => {
    expect(faultOf('why', 'exchange')).toEqual({ error: 'connection_reset', detail: 'why' });
    expect(faultOf(new Error('x'.repeat(10_000)), 'exchange').detail.length).toBeLessThanOrEqual(300);
  });
});
