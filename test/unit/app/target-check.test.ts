import { describe, expect, test } from 'vitest';
import type { ListeningAddress } from '../../../src/egress/public-address.ts';
import { createTargetCheck } from '../../../src/app/target-check.ts';

const OWN: readonly ListeningAddress[] = [{ host: '127.0.0.1', port: 8080 }];

describe('the service’s own addresses', () => {
  const check = createTargetCheck(['127.0.0.0/8', '10.0.0.0/8'], () => OWN);

  test.each([
    'http://127.0.0.1:8080/v1/decide',
    'http://2130706433:8080/',
    'http://[::ffff:127.0.0.1]:8080/',
    'http://localhost:8080/',
    'http://a.localhost.:8080/',
  ])('The target %s is blocked as the service’s own address, whatever is allowed', (url) => {
    expect(check(url)).toMatchObject({ code: 'blocked_url' });
  });

  test.each([
    'http://127.0.0.1:8081/',
    'http://127.0.0.2:8080/',
    'http://localhost:8081/',
    'http://10.0.0.1:8080/',
    'https://a.example/',
  ])('The target %s is allowed, because the service does not listen there', (url) => {
    expect(check(url)).toBeNull();
  });

  test('The service’s addresses are read at each check, because they are not known before the start has ended', () => {
    let own: readonly ListeningAddress[] = [];
    const later = createTargetCheck(['127.0.0.0/8'], () => own);
    expect(later('http://127.0.0.1:8080/')).toBeNull();
    own = OWN;
    expect(later('http://127.0.0.1:8080/')).toMatchObject({ code: 'blocked_url' });
  });

  test('A service that listens on all addresses blocks every address of this machine', () => {
    const all = createTargetCheck(['127.0.0.0/8', '::1'], () => [{ host: '0.0.0.0', port: 8080 }]);
    expect(all('http://127.0.0.1:8080/')).toMatchObject({ code: 'blocked_url' });
    expect(all('http://localhost:8080/')).toMatchObject({ code: 'blocked_url' });
  });

  test('A local name stays allowed when it leads to another service of this machine', () => {
    const both = createTargetCheck(['127.0.0.0/8', '::1'], () => OWN);
    expect(both('http://localhost:8080/')).toBeNull();
  });
});

test('A target that egress rules block stays blocked without any address of the service', () => {
  const check = createTargetCheck([], () => []);
  expect(check('http://10.0.0.1/')).toMatchObject({ code: 'blocked_url' });
  expect(check('http://localhost/')).toMatchObject({ code: 'blocked_url' });
  expect(check('ftp://a.example/')).toMatchObject({ code: 'invalid' });
});
