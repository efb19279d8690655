import { describe, expect, test } from 'vitest';
import type { CustomerNumber } from '../../../src/kernel/brand.ts';
import type { Entity } from '../../../src/risk/facts.ts';
import { readLinkTail } from '../../../src/risk/link-tail.ts';
import {
  LinkHasher,
  networkText,
  normalAddress,
  normalIdentity,
  normalNetwork,
} from '../../../src/risk/decision-links.ts';
import type { LogIdentities } from '../../../src/risk/policy/policy.ts';
import { readIp } from '../../../src/risk/signals/ip.ts';
import { Linker, type SessionLinks } from '../../../src/score/linker.ts';
import { facts } from '../../support/facts.ts';

const SECRET = Buffer.alloc(32, 3);
const ONE = 1 as CustomerNumber;
const TWO = 2 as CustomerNumber;
const ENTITIES: readonly Entity[] = [
  { name: 'email', value: 'ann@mail.example' },
  { name: 'größe', value: ' 4711000 ' },
];

function session(): { links: SessionLinks | null } {
  return { links: null };
}

interface Given {
  readonly customer?: CustomerNumber;
  readonly ip?: string;
  readonly entities?: readonly Entity[];
  readonly mode?: LogIdentities;
}

const linker = new Linker(SECRET);

function tailOf(given: Given = {}, memo = session()): ReturnType<Linker['tailOf']> {
  const { customer = ONE, ip = '203.0.113.7', entities = ENTITIES, mode = 'hashed' } = given;
  return linker.tailOf(memo, facts({ ip: readIp(ip) }), { customer, sessionId: 's1', entities }, mode);
}

function linksOf(given?: Given): Record<string, string> {
  const { bytes } = tailOf(given);
  const links = bytes === null ? [] : readLinkTail(Buffer.from(bytes));
  return Object.fromEntries(links.map(({ kind, hash }) => [kind, hash]));
}

describe('the links of a decision', () => {
  test('The links are the session, the address, its network, the fingerprint and the identities', () => {
    const links = linksOf();
    expect(Object.keys(links)).toEqual(['session', 'ip', 'network', 'fingerprint', 'entity.email', 'entity.größe']);
    expect(new Set(Object.values(links)).size).toBe(6);
    for (const hash of Object.values(links)) expect(hash).toMatch(/^[0-9a-f]{16}$/);
  });

  test('The server computes the same hash from the value', () => {
    const hasher = new LinkHasher(SECRET);
    const out = Buffer.alloc(8);
    const hexOf = (): string => (hasher.write(out, 0), out.toString('hex'));
    const links = linksOf();
    hasher.update(ONE, 'session', 's1');
    expect(hexOf()).toBe(links['session']);
    hasher.update(ONE, 'ip', normalAddress(' 203.0.113.7 ') ?? '');
    expect(hexOf()).toBe(links['ip']);
    hasher.update(ONE, 'network', normalNetwork('203.0.113.0/24') ?? '');
    expect(hexOf()).toBe(links['network']);
    hasher.updateEntity(ONE, 'email', normalIdentity('Ann+shop@mail.example'));
    expect(hexOf()).toBe(
      linksOf({ entities: [{ name: 'email', value: normalIdentity('ann@mail.example') }] })['entity.email'],
    );
    hasher.updateEntity(ONE, 'größe', normalIdentity('4711000'));
    expect(hexOf()).toBe(links['entity.größe']);
  });

  test('Equal values of two customers, of two kinds and of two names have different hashes', () => {
    const own = linksOf();
    const other = linksOf({ customer: TWO });
    for (const [kind, hash] of Object.entries(own)) expect(other[kind]).not.toBe(hash);
    const same = linksOf({
      entities: [
        { name: 'a', value: '203.0.113.7' },
        { name: 'b', value: '203.0.113.7' },
      ],
    });
    expect(new Set([same['ip'], same['entity.a'], same['entity.b']]).size).toBe(3);
  });

  test('The links of a session change with its address, its identities, its customer and the policy', () => {
    const memo = session();
    const first = tailOf({}, memo);
    expect(tailOf({ entities: [...ENTITIES] }, memo)).toBe(first);
    const changes: readonly Given[] = [
      { ip: '203.0.113.8' },
      { entities: [{ name: 'mail', value: 'ann@mail.example' }, ...ENTITIES.slice(1)] },
      { customer: TWO },
      { mode: 'plain' },
    ];
    for (const change of changes) {
      expect(tailOf(change, memo)).not.toBe(first);
      expect(tailOf(change, memo)).toEqual(tailOf(change));
    }
  });

  test('Identities are kept as the policy says', () => {
    expect(Object.keys(linksOf({ mode: 'none' }))).toEqual(['session', 'ip', 'network', 'fingerprint']);
    expect(tailOf({ mode: 'none' }).identities).toBeNull();
    expect(tailOf({ mode: 'hashed' }).identities).toBeNull();
    expect(tailOf({ mode: 'masked' }).identities).toEqual(['a***@mail.example', '***']);
    expect(tailOf({ mode: 'masked', entities: [{ name: 'card', value: '4111111111111111' }] }).identities).toEqual([
      '***1111',
    ]);
    expect(tailOf({ mode: 'plain' }).identities).toEqual(['ann@mail.example', '4711000']);
  });

  test('At most eight identities are linked', () => {
    const many = Array.from({ length: 12 }, (_none, n) => ({ name: `key${n}`, value: `${n}` }));
    expect(Object.keys(linksOf({ entities: many })).filter((kind) => kind.startsWith('entity.'))).toHaveLength(8);
  });

  test.each([
    ['203.0.113.9', '203.0.113', '203.0.113.0/24'],
    ['203.0.113.9/24', '203.0.113', null],
    ['2001:DB8:1:2::3', '2001:db8:1::', '2001:db8:1::/48'],
    ['2001:db8:1::/48', '2001:db8:1::', null],
    ['203.0.113.9:443', '203.0.113', null],
    ['203.0.113.9/16', null, null],
    ['2001:db8:1::/24', null, null],
    ['nowhere', null, null],
  ])('The network %s is %s', (text, network, cidr) => {
    expect(normalNetwork(text)).toBe(network);
    expect(networkText(text)).toBe(cidr);
  });

  test('A tail that is cut or of a newer build is read without a fault', () => {
    const whole = Buffer.from(tailOf().bytes ?? []);
    for (let from = 0; from < whole.length; from++) expect(() => readLinkTail(whole.subarray(from))).not.toThrow();
    expect(readLinkTail(Buffer.from([31, ...Buffer.alloc(8, 1), 1]))).toEqual([
      { kind: 'unknown', hash: '01'.repeat(8) },
    ]);
    expect(readLinkTail(Buffer.alloc(0))).toEqual([]);
  });
});
