import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ListAction } from '../../src/risk/decision.ts';
import type { ListKind } from '../../src/risk/lists/list-kind.ts';
import { decideByLists, type ListMatch } from '../../src/risk/lists/list-precedence.ts';

const DEVICES: readonly ListKind[] = ['fingerprint', 'browser'];
const IDENTITIES: readonly ListKind[] = ['email', 'entity.card'];
const NETWORKS: readonly ListKind[] = ['network', 'email_domain', 'user_agent'];

const matches = fc.array(
  fc.record({
    kind: fc.constantFrom(...DEVICES, ...IDENTITIES, ...NETWORKS),
    action: fc.constantFrom<ListAction>('block', 'allow', 'watch'),
  }),
  { maxLength: 6 },
);
const requests = fc.record({
  eventType: fc.constantFrom('login', 'signup', 'payment', 'checkout', ''),
  isPublicKey: fc.boolean(),
});

/** The table of the contract, section 7.2, row by row. */
function byTheTable(
  given: readonly Pick<ListMatch, 'kind' | 'action'>[],
  { eventType, isPublicKey }: { eventType: string; isPublicKey: boolean },
): string {
  const has = (kinds: readonly ListKind[], action: ListAction): boolean =>
    given.some((one) => kinds.includes(one.kind) && one.action === action);
  const isClaimed = isPublicKey || eventType === 'login' || eventType === 'signup';
  if (has([...DEVICES, ...IDENTITIES], 'block')) return 'block';
  if (has(DEVICES, 'allow')) return 'allow';
  if (has(IDENTITIES, 'allow') && !isClaimed) return 'allow';
  if (has(IDENTITIES, 'allow'))
    return has(NETWORKS, 'allow') ? 'registry network ip_volume population' : 'registry network';
  if (has(NETWORKS, 'block')) return 'block';
  return has(NETWORKS, 'allow') ? 'network ip_volume population' : 'nothing';
}

function decided(
  given: readonly Pick<ListMatch, 'kind' | 'action'>[],
  request: Parameters<typeof byTheTable>[1],
): string {
  const found = decideByLists(
    given.map((one) => ({ ...one, shown: '' })),
    request,
  );
  if (found === null) return 'nothing';
  return found.decides ?? found.silenced.join(' ');
}

describe('precedence of lists', () => {
  test('Any entries decide as the table says', () => {
    fc.assert(
      fc.property(matches, requests, (given, request) => {
        expect(decided(given, request)).toBe(byTheTable(given, request));
      }),
    );
  });

  test('The order of the entries changes nothing', () => {
    fc.assert(
      fc.property(
        matches.chain((given) => fc.tuple(fc.constant(given), fc.shuffledSubarray(given, { minLength: given.length }))),
        requests,
        ([given, shuffled], request) => {
          expect(decided(shuffled, request)).toBe(decided(given, request));
        },
      ),
    );
  });

  test.each([
    [
      'An allowed office lets no blocked person in',
      [
        ['network', 'allow'],
        ['entity.card', 'block'],
      ],
      'payment',
      'block',
    ],
    [
      'An allowed device passes through a blocked country',
      [
        ['fingerprint', 'allow'],
        ['country', 'block'],
      ],
      'login',
      'allow',
    ],
    [
      'An allowed e-mail that is claimed lifts a block of a network and decides nothing',
      [
        ['email', 'allow'],
        ['country', 'block'],
      ],
      'login',
      'registry network',
    ],
    [
      'An allowed e-mail decides for a payment',
      [
        ['email', 'allow'],
        ['country', 'block'],
      ],
      'payment',
      'allow',
    ],
    [
      'A blocked domain beats an allowed network',
      [
        ['network', 'allow'],
        ['email_domain', 'block'],
      ],
      'payment',
      'block',
    ],
    [
      'Notes decide nothing',
      [
        ['ip', 'watch'],
        ['email', 'watch'],
      ],
      'payment',
      'nothing',
    ],
  ] as const)('%s', (_name, given, eventType, expected) => {
    const pairs = given.map(([kind, action]) => ({ kind, action }) as const);
    expect(decided(pairs, { eventType, isPublicKey: false })).toBe(expected);
  });
});
