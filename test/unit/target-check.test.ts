import { describe, expect, test } from 'vitest';
import type { ListeningAddress } from '../../src/egress/address.ts';
import { createTargetCheck } from '../../src/target-check.ts';

const OWN: readonly ListeningAddress[] = [{ host: '127.0.0.1', port: 8080 }];

describe('where the service listens', () => {
  const check = createTargetCheck(['127.0.0.0/8', '10.0.0.0/8'], () => OWN);

  test.each([
    'http://127.0.0.1:8080/v1/decide',
    'http://2130706433:8080/',
    'http://[::ffff:127.0.0.1]:8080/',
    'http://localhost:8080/',
    'http://a.localhost.:8080/',
  ])('%s is blocked, whatever is allowed', (url) => {
    expect(check(url)).toMatchObject({ code: 'blocked_url' });
  });

  test.each([
    'http://127.0.0.1:8081/',
    'http://127.0.0.2:8080/',
    'http://localhost:8081/',
    'http://10.0.0.1:8080/',
    'https://a.example/',
  ])('%s is not', (url) => {
    expect(check(url)).toBeNull();
  });

  test('is asked at each check, because it is not known before the start is over', () => {
    let own: readonly ListeningAddress[] = [];
    const later = createTargetCheck(['127.0.0.0/8'], () => own);
    expect(later('http://127.0.0.1:8080/')).toBeNull();
    own = OWN;
    expect(later('http://127.0.0.1:8080/')).toMatchObject({ code: 'blocked_url' });
  });

  test('as all addresses covers those of this machine', () => {
    const all = createTargetCheck(['127.0.0.0/8', '::1'], () => [{ host: '0.0.0.0', port: 8080 }]);
    expect(all('http://127.0.0.1:8080/')).toMatchObject({ code: 'blocked_url' });
    expect(all('http://localhost:8080/')).toMatchObject({ code: 'blocked_url' });
  });

  test('leaves a local name that leads to another service of this machine', () => {
    const both = createTargetCheck(['127.0.0.0/8', '::1'], () => OWN);
    expect(both('http://localhost:8080/')).toBeNull();
  });
});

test('what may not be reached without it stays so', () => {
  const check = createTargetCheck([], () => []);
  expect(check('http://10.0.0.1/')).toMatchObject({ code: 'blocked_url' });
  expect(check('http://localhost/')).toMatchObject({ code: 'blocked_url' });
  expect(check('ftp://a.example/')).toMatchObject({ code: 'invalid' });
});
