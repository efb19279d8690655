import { describe, expect, test } from 'vitest';
import { generic } from '../../../../src/extract/connectors/generic.ts';
import { CONNECTORS } from '../../../../src/extract/connectors/connector-table.ts';
import type { JsonObject } from '../../../../src/extract/base/connector.ts';
import { SessionJar } from '../../../../src/extract/fetch/fetch-session.ts';
import { sessionHostFault } from '../../../../src/extract/request/session-host.ts';

const isRefused = (sessionHost: string, input: JsonObject, connector: { id: string; hosts?: readonly string[] }) =>
  sessionHostFault(sessionHost, { connector, input }, {}) !== null;

describe('sessionHostFault', () => {
  test.each([
    ['a.example', 'https://a.example/x'],
    ['a.example', 'HTTP://A.example:8080'],
    ['a.example', 'deep.www.a.example'],
    ['127.0.0.1', '127.0.0.1:81'],
    ['::1', 'http://[::1]/'],
  ])('a session of %s may be used for %s', (host, url) => {
    expect(isRefused(host, { url }, generic)).toBe(false);
    const absolute = url.includes('://') ? url : `https://${url}`;
    expect(new SessionJar({ host, cookies: [], headers: {}, origins: [] }).covers(absolute)).toBe(true);
  });

  test.each([
    ['a.example', 'b.example'],
    ['www.a.example', 'shop.a.example'],
    ['deep.a.example', 'a.example'],
    ['a.example', 'nota.example'],
    ['0.0.1', '127.0.0.1'],
  ])('a session of %s is rejected for %s', (host, url) => {
    expect(isRefused(host, { url }, generic)).toBe(true);
    expect(new SessionJar({ host, cookies: [], headers: {}, origins: [] }).covers(`https://${url}/`)).toBe(false);
  });

  test('a session of the host with www. may be used for the host without it', () => {
    expect(isRefused('www.a.example', { url: 'a.example' }, generic)).toBe(false);
  });

  test('a session of another host of the domain may be used in a crawl over all of its hosts', () => {
    const input = { url: 'https://www.shop.co.uk/' };
    expect(isRefused('account.shop.co.uk', input, generic)).toBe(true);
    expect(isRefused('account.shop.co.uk', { ...input, subdomains: true }, generic)).toBe(false);
    expect(isRefused('other.co.uk', { ...input, subdomains: true }, generic)).toBe(true);
  });

  test('a session is compared with the hosts of a fixed source, whatever words the input contains', () => {
    const github = CONNECTORS.find(({ id }) => id === 'github');
    const boards = CONNECTORS.find(({ id }) => id === 'jobboards');
    if (github === undefined || boards === undefined) throw new Error('two connectors');
    expect(isRefused('api.github.com', { query: 'tea' }, github)).toBe(false);
    expect(isRefused('github.com', { query: 'tea' }, github)).toBe(false);
    expect(isRefused('gitlab.com', { query: 'tea' }, github)).toBe(true);
    expect(isRefused('api.lever.co', { board: 'lever', company: 'acme' }, boards)).toBe(false);
    expect(isRefused('acme', { board: 'lever', company: 'acme' }, boards)).toBe(true);
    const bases = { github: 'https://proxy.internal:81/api' };
    expect(sessionHostFault('proxy.internal', { connector: github, input: {} }, bases)).toBeNull();
    expect(sessionHostFault('api.github.com', { connector: github, input: {} }, bases)).not.toBeNull();
  });

  test('a session is accepted if the input names no address', () => {
    expect(isRefused('a.example', { query: 'b.example' }, { id: 'x' })).toBe(false);
  });

  test('every connector either names its hosts or takes an address as input', () => {
    for (const { id, hosts, operations } of CONNECTORS) {
      for (const { name, input } of operations) {
        const properties = Object.keys(input['properties'] ?? {});
        const takesAddress = ['url', 'site', 'company'].some((one) => properties.includes(one));
        expect([id, name, hosts !== undefined || takesAddress]).toEqual([id, name, true]);
      }
    }
  });
});
