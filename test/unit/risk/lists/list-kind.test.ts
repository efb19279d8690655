import { describe, expect, test } from 'vitest';
import { type ListKind, listKindOf, readListTarget } from '../../../../src/risk/lists/list-kind.ts';

function read(kind: string, text: string): string {
  const found = readListTarget(kind as ListKind, text);
  return found.kind === 'target' ? found.target.value : `refused: ${found.message}`;
}

describe('values of lists', () => {
  test.each([
    ['ip', ' 203.0.113.7 ', '203.0.113.7'],
    ['ip', '[2001:DB8:0:1::7]:443', '2001:db8:0:1::/64'],
    ['ip', '2001:db8:0:1::/64', '2001:db8:0:1::/64'],
    ['ip', '::ffff:203.0.113.7', '203.0.113.7'],
    ['network', '203.0.113.0/24', '203.0.113.0/24'],
    ['network', '2001:DB8::/32', '2001:db8::/32'],
    ['asn', 'as64500', '64500'],
    ['asn', '64500', '64500'],
    ['country', 'fr', 'FR'],
    ['email', 'Anna.Schmidt+shop@GMAIL.com', 'annaschmidt@gmail.com'],
    ['email_domain', '@Bücher.example.', 'xn--bcher-kva.example'],
    ['entity.card', ' 4711 ', '4711'],
    ['entity.login', 'Anna.Schmidt@gmail.com', 'annaschmidt@gmail.com'],
    ['user_agent', 'AcmeBot/1.*', 'AcmeBot/1.*'],
    ['fingerprint', 'AB'.repeat(32), 'ab'.repeat(32)],
    ['email', `hash:${'0a'.repeat(16)}`, `hash:${'0a'.repeat(16)}`],
  ])('%s %s is kept in one form', (kind, text, value) => {
    expect(read(kind, text)).toBe(value);
    expect(read(kind, value)).toBe(value);
  });

  test.each([
    ['ip', '203.0.113.256', 'an IP address'],
    ['ip', '203.0.113.0/24', 'an IP address'],
    ['network', '203.0.113.7/24', 'write 203.0.113.0/24'],
    ['network', '2001:db8::1/32', 'write 2001:db8::/32'],
    ['network', '10.0.0.0/7', 'wider than /8'],
    ['network', '2000::/15', 'wider than /16'],
    ['network', '203.0.113.7', 'CIDR'],
    ['asn', '0', 'autonomous system'],
    ['asn', '4294967296', 'autonomous system'],
    ['country', 'FRA', 'two letters'],
    ['email', 'anna', 'e-mail'],
    ['email_domain', 'a b', 'domain'],
    ['entity.card', ' ', '1 to 256'],
    ['user_agent', 'Mozilla*', 'before *'],
    ['fingerprint', 'abc', '64'],
  ])('%s %s is refused with what is wrong', (kind, text, message) => {
    expect(read(kind, text)).toContain(message);
  });

  test('Kinds are those of the contract, and entity.<name>', () => {
    expect(['ip', 'browser', 'entity.card', `entity.${'x'.repeat(64)}`].map(listKindOf)).not.toContain(null);
    expect(['', 'ips', 'entity.', 'entity', `entity.${'x'.repeat(65)}`, 'toString'].map(listKindOf)).toEqual([
      null,
      null,
      null,
      null,
      null,
      null,
    ]);
  });
});
