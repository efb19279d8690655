import { describe, expect, test } from 'vitest';
import { readCookie, sessionCookie } from '../../../src/auth/session-cookie.ts';

const ID = 'a'.repeat(43);

describe('the session cookie', () => {
  test('With HTTPS the cookie is __Host-gh with all protecting attributes', () => {
    const { set, clear } = sessionCookie(true);
    expect(set(ID)).toBe(`\r\nSet-Cookie: __Host-gh=${ID}; HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=43200`);
    expect(clear()).toBe('\r\nSet-Cookie: __Host-gh=; HttpOnly; Secure; SameSite=Strict; Path=/; Max-Age=0');
  });

  test('On plain HTTP the cookie is gh_dev, and only Secure is missing', () => {
    expect(sessionCookie(false).set(ID)).toBe(
      `\r\nSet-Cookie: gh_dev=${ID}; HttpOnly; SameSite=Strict; Path=/; Max-Age=43200`,
    );
  });

  test('With HTTPS a cookie that plain HTTP could have planted is not read', () => {
    expect(sessionCookie(true).read(`gh_dev=${ID}`)).toBe('');
    expect(sessionCookie(true).read(`gh_dev=x; __Host-gh=${ID}`)).toBe(ID);
    expect(sessionCookie(false).read(`__Host-gh=${ID}`)).toBe('');
  });

  test.each([
    ['', ''],
    ['a', ''],
    ['=b', ''],
    ['xa=b', ''],
    ['a=b', 'b'],
    ['x=1; a=b; y=2', 'b'],
    ['x=1;a=b=c;y=2', 'b=c'],
    ['a=first; a=second', 'first'],
    [' a = b ', 'b'],
    ['x="a=1"', ''],
  ])('In the cookies %j the cookie a is %j', (cookies, value) => {
    expect(readCookie(cookies, 'a')).toBe(value);
  });
});
