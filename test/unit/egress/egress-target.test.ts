import { describe, expect, test } from 'vitest';
import { egressPolicy } from '../../../src/egress/public-address.ts';
import { checkTarget } from '../../../src/egress/egress-target.ts';

const CLOSED = egressPolicy([]);
const LOOPBACK = egressPolicy(['127.0.0.0/8'], [{ host: '127.0.0.1', port: 8080 }]);

const code = (url: string, policy = CLOSED): string | null => checkTarget(url, policy)?.code ?? null;

describe('checkTarget', () => {
  test.each([
    'https://hooks.example.com/a?b=c',
    'http://example.com',
    'HTTPS://Example.COM:8443/x',
    'https://8.8.8.8/hook',
    'https://[2606:4700:4700::1111]:444/',
    'https://bücher.example/',
    'http://169.254.169.254.example.com/',
    'https://example.com/a@b',
    `https://example.com/${'a'.repeat(2028)}`,
  ])('%s is accepted', (url) => {
    expect(checkTarget(url, CLOSED)).toBeNull();
  });

  test.each([
    '',
    'example.com/hook',
    '/hook',
    '//example.com/hook',
    'ftp://example.com/',
    'file:///etc/passwd',
    'gopher://example.com/',
    'javascript:alert(1)',
    'http:example.com',
    'http:///example.com',
    'http://',
    'https://?a',
    'https://user@example.com/',
    'https://user:password@example.com/',
    'https://@example.com/',
    'https://example.com/#part',
    'https://example.com/#',
    'https://exa mple.com/',
    'https://example.com/a b',
    ' https://example.com/',
    'https://example.com/\n',
    'https://exa\tmple.com/',
    'https://example.com\\@127.0.0.1/',
    'https:\\\\example.com',
    'https://example.com:99999/',
    'https://example.com:0/',
    'https://[::1/',
    'https://[fe80::1%25eth0]/',
    'https://1.2.3.4.5.6.256/',
    `https://example.com/${'a'.repeat(2029)}`,
  ])('%j is rejected as invalid', (url) => {
    expect(code(url)).toBe('invalid');
  });

  test.each([
    'http://127.0.0.1/',
    'http://127.1/',
    'http://0x7f.1/',
    'http://2130706433/',
    'http://017700000001/',
    'http://0/',
    'http://127.0.0.1./',
    'http://１２７.０.０.１/',
    'http://127%2e0%2e0%2e1/',
    'http://①②⑦.⓪.⓪.①/',
    'http://[::1]/',
    'http://[::]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://[2002:7f00:1::]/',
    'http://[fe80::1]/',
    'http://[fd00:ec2::254]/latest/meta-data/',
    'http://169.254.169.254/latest/meta-data/',
    'http://10.0.0.1:8080/',
    'http://localhost/',
    'http://LOCALHOST:3000/',
    'http://localhost./',
    'http://a.localhost/',
    'http://a.b.localhost./',
  ])('%s is rejected as blocked', (url) => {
    expect(code(url)).toBe('blocked_url');
  });

  test('a URL on this machine is accepted if loopback is allowed, except the address of this service', () => {
    expect(code('http://localhost:9000/', LOOPBACK)).toBeNull();
    expect(code('http://127.0.0.1:9000/', LOOPBACK)).toBeNull();
    expect(code('http://127.0.0.1:8080/', LOOPBACK)).toBe('blocked_url');
    expect(code('http://0x7f.1:8080/', LOOPBACK)).toBe('blocked_url');
    expect(code('http://10.0.0.1/', LOOPBACK)).toBe('blocked_url');
  });
});
