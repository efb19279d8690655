import { describe, expect, test } from 'vitest';
import { readIp } from '../../../../src/risk/signals/ip.ts';
import { parsePolicy } from '../../../../src/risk/policy/policy-check.ts';
import { isAgentPattern, readNetwork, TrustedSources } from '../../../../src/risk/policy/trusted-sources.ts';

const SOURCES = new TrustedSources(
  {
    partner: ['203.0.113.0/24', '2001:db8:7::/48', '198.51.100.7'],
    wide: ['2c0e::/20'],
    'partner office': ['203.0.113.16/28', '2001:db8:7:9::/64'],
  },
  { monitor: ['UptimeBot/2.0', 'Pingdom.com_bot*'] },
);

describe('a trusted network', () => {
  test.each([
    ['203.0.113.1', 'partner'],
    ['203.0.113.15', 'partner'],
    ['203.0.113.16', 'partner office'],
    ['203.0.113.31', 'partner office'],
    ['203.0.113.32', 'partner'],
    ['203.0.112.255', null],
    ['203.0.114.0', null],
    ['198.51.100.7', 'partner'],
    ['198.51.100.8', null],
    ['::ffff:203.0.113.1', 'partner'],
    ['2001:db8:7::1', 'partner'],
    ['2001:db8:7:9::1', 'partner office'],
    ['2001:db8:8::1', null],
    ['2c0e:1::1', 'wide'],
    ['2c0e:fff::1', 'wide'],
    ['2c0e:1000::1', null],
    ['no address', null],
  ])('The trusted source of the address %s is %s', (ip, name) => {
    expect(SOURCES.find(readIp(ip), null)).toBe(name);
  });

  test.each(['203.0.113.0/24', '10.0.0.0/8', '2001:db8::/32', '203.0.113.9', '2001:db8::1/128'])(
    'A trusted network may be %s',
    (text) => {
      expect(readNetwork(text)).not.toBeNull();
    },
  );
  test.each([
    '203.0.113.1/24',
    '0.0.0.0/0',
    '8.0.0.0/7',
    '::/0',
    '2001:db8::1/64',
    '10.0.0.0/33',
    '10/8',
    '',
    'a/b',
    '1.2.3.4/',
  ])('A trusted network must not be %j', (text) => {
    expect(readNetwork(text)).toBeNull();
  });
});

describe('a trusted user agent', () => {
  test('A trusted user agent matches the whole text, or with a trailing star all that begin with it', () => {
    const named = (agent: string | null) => SOURCES.find(null, agent);
    expect(named('UptimeBot/2.0')).toBe('monitor');
    expect(named('UptimeBot/2.0 ')).toBeNull();
    expect(named('Pingdom.com_bot_version_1.4_(http://www.pingdom.com/)')).toBe('monitor');
    expect([named('Pingdom.com'), named(''), named(null), named('constructor')]).toEqual([null, null, null, null]);
  });

  test('A trusted user agent must not match every browser', () => {
    expect(['*', 'Mo*', 'Mozilla/5.0 (*', 'ab'].map(isAgentPattern)).toEqual([false, false, false, false]);
    expect(['Mozilla/5.0 (compatible; Monitor/1.0*', 'Bot*', 'curl/8.5.0'].map(isAgentPattern)).toEqual([
      true,
      true,
      true,
    ]);
  });
});

test.each([
  [{ trusted_networks: { partner: ['203.0.113.1/24'] } }, '/trusted_networks/partner/0'],
  [{ trusted_networks: { 'a/b': [] } }, '/trusted_networks/a~1b'],
  [{ trusted_networks: ['203.0.113.0/24'] }, '/trusted_networks'],
  [
    { customers: { cus_01ARZ3NDEKTSV4RRFFQ69G5FAV: { trusted_agents: { all: ['Mozilla/5.0*'] } } } },
    '/customers/cus_01ARZ3NDEKTSV4RRFFQ69G5FAV/trusted_agents/all/0',
  ],
])('A policy file with %j is rejected at %s', (file, pointer) => {
  expect(parsePolicy(JSON.stringify(file))).toMatchObject({ kind: 'faults', faults: [{ pointer }] });
});
