import { describe, expect, test } from 'vitest';
import { createSiteGuard, type SiteAddress } from '../../../src/auth/site-guard.ts';
import { ColdHeaders } from '../../../src/kernel/cold-headers.ts';
import { HEAD } from '../decide/support.ts';

const LOCAL: SiteAddress = { publicOrigin: null, host: '127.0.0.1', port: 8_080, isTls: false };
const PUBLIC: SiteAddress = { ...LOCAL, publicOrigin: 'https://gh.example' };

interface Sent {
  readonly origin?: string;
  readonly site?: string;
  readonly mark?: string;
  readonly host?: string;
}

function isOwn(address: SiteAddress, { origin, site, mark = '1', host }: Sent): boolean {
  const cold = new ColdHeaders();
  if (origin !== undefined) cold.add('origin', origin);
  if (site !== undefined) cold.add('sec-fetch-site', site);
  if (host !== undefined) cold.add('host', host);
  if (mark !== '') cold.add('x-gatehouse', mark);
  return createSiteGuard(address).isOwn({ ...HEAD, cold });
}

describe('requests of the dashboard’s own pages', () => {
  const FOREIGN = 'https://evil.example';

  test.each<[string, SiteAddress, Sent, boolean]>([
    ['our Origin', LOCAL, { origin: 'http://127.0.0.1:8080' }, true],
    ['another name of this machine', LOCAL, { origin: 'http://localhost:8080' }, true],
    ['this machine by IPv6', LOCAL, { origin: 'http://[::1]:8080' }, true],
    ['Sec-Fetch-Site alone', LOCAL, { site: 'same-origin' }, true],
    ['both', LOCAL, { origin: 'http://127.0.0.1:8080', site: 'same-origin' }, true],
    ['neither', LOCAL, {}, false],
    ['no X-Gatehouse', LOCAL, { origin: 'http://127.0.0.1:8080', mark: '' }, false],
    ['another X-Gatehouse', LOCAL, { origin: 'http://127.0.0.1:8080', mark: '0' }, false],
    ['another site', LOCAL, { origin: FOREIGN }, false],
    ['a sandboxed frame', LOCAL, { origin: 'null' }, false],
    ['another port without Sec-Fetch-Site', LOCAL, { origin: 'http://127.0.0.1:9000' }, false],
    ['another scheme', LOCAL, { origin: 'https://127.0.0.1:8080' }, false],
    ['Sec-Fetch-Site: cross-site', LOCAL, { origin: 'http://127.0.0.1:8080', site: 'cross-site' }, false],
    ['Sec-Fetch-Site: same-site', LOCAL, { origin: 'http://127.0.0.1:8080', site: 'same-site' }, false],
    ['Sec-Fetch-Site: none', LOCAL, { site: 'none' }, false],
    ['Sec-Fetch-Site given twice', LOCAL, { site: 'same-origin,same-origin' }, false],
    ['a forwarded port of this machine', LOCAL, { origin: 'http://localhost:9000', site: 'same-origin' }, true],
    ['a rebound name, without Sec-Fetch-Site', LOCAL, { origin: 'http://evil.example:8080' }, false],
    ['a plain name of the network', LOCAL, { origin: 'http://gh.internal', site: 'same-origin' }, false],
    ['a proxy without a public URL', LOCAL, { origin: 'https://gh.example', site: 'same-origin' }, false],
    ['the public URL', PUBLIC, { origin: 'https://gh.example' }, true],
    ['the listening address beside a public URL', PUBLIC, { origin: 'http://127.0.0.1:8080' }, false],
    ['the same with Sec-Fetch-Site', PUBLIC, { origin: 'http://127.0.0.1:8080', site: 'same-origin' }, false],
    ['Sec-Fetch-Site alone with a public URL', PUBLIC, { site: 'same-origin' }, true],
    [
      'TLS by its address',
      { ...LOCAL, isTls: true, host: '10.1.2.3', port: 443 },
      { origin: 'https://10.1.2.3' },
      true,
    ],
    ['TLS by any name', { ...LOCAL, isTls: true }, { origin: 'https://gh.internal', site: 'same-origin' }, true],
    ['TLS by any name without Sec-Fetch-Site', { ...LOCAL, isTls: true }, { origin: 'https://gh.internal' }, false],
    ['every address, by loopback', { ...LOCAL, host: '0.0.0.0' }, { origin: 'http://127.0.0.1:8080' }, true],
    ['every address, by another', { ...LOCAL, host: '0.0.0.0' }, { origin: 'http://10.0.0.1:8080' }, false],
    ['every address as a name', { ...LOCAL, host: '0.0.0.0' }, { origin: 'http://0.0.0.0:8080' }, false],
    ['a network address without TLS', { ...LOCAL, host: '10.0.0.1' }, { origin: 'http://10.0.0.1:8080' }, false],
    ['a network address with TLS', { ...LOCAL, host: '::2', isTls: true }, { origin: 'https://[::2]:8080' }, true],
    ['another loopback address', { ...LOCAL, host: '127.0.0.9' }, { origin: 'http://127.0.0.9:8080' }, true],
  ])('With %s the answer is the expected one', (_case, address, sent, expected) => {
    expect(isOwn(address, sent)).toBe(expected);
  });

  test('Host changes nothing', () => {
    expect(isOwn(LOCAL, { origin: FOREIGN, host: 'evil.example' })).toBe(false);
    expect(isOwn(LOCAL, { origin: 'http://127.0.0.1:8080', host: 'evil.example' })).toBe(true);
  });

  test.each<[string, SiteAddress, boolean]>([
    ['this machine', LOCAL, true],
    ['every address', { ...LOCAL, host: '0.0.0.0' }, true],
    ['a network address', { ...LOCAL, host: '10.0.0.1' }, false],
    ['a network address with TLS', { ...LOCAL, host: '10.0.0.1', isTls: true }, true],
    ['a network address with a public URL', { ...PUBLIC, host: '10.0.0.1' }, true],
  ])('On %s it is known whether anybody can sign in', (_case, address, isUsable) => {
    expect(createSiteGuard(address).isUsable).toBe(isUsable);
  });

  test.each<[SiteAddress, string, boolean]>([
    [LOCAL, 'http://127.0.0.1:8080', false],
    [PUBLIC, 'https://gh.example', true],
    [{ ...LOCAL, isTls: true, host: '::', port: 443 }, 'https://127.0.0.1', true],
    [{ ...LOCAL, isTls: true, publicOrigin: 'http://localhost:9000' }, 'http://localhost:9000', false],
    [{ ...LOCAL, host: '10.0.0.1' }, 'http://10.0.0.1:8080', false],
    [{ ...LOCAL, host: '::1', port: 80 }, 'http://[::1]', false],
  ])('%j has the origin %s for links', (address, origin, isSecure) => {
    expect(createSiteGuard(address)).toMatchObject({ origin, isSecure });
  });
});
