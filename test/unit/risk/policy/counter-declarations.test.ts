import { describe, expect, test } from 'vitest';
import type { CustomerNumber } from '../../../../src/kernel/brand.ts';
import { parsePolicy } from '../../../../src/risk/policy/policy-check.ts';
import { compilePolicies } from '../../../../src/risk/policy/policy-set.ts';

const CUSTOMER = 'cus_01ARZ3NDEKTSV4RRFFQ69G5FAV';
const SPENT = { kind: 'sum', of: 'attributes.amount', by: 'account', window: '24h' };

function faults(file: object): Readonly<Record<string, string>> {
  const parsed = parsePolicy(JSON.stringify(file));
  const notes = parsed.kind === 'ok' ? [] : parsed.faults;
  return Object.fromEntries(notes.map(({ pointer, message }) => [pointer, message]));
}

/** Returns what is wrong with one counter. */
const wrong = (counter: object): Readonly<Record<string, string>> =>
  faults({ counters: { n: { ...SPENT, ...counter } } });

describe('counters of a policy file', () => {
  test.each([
    { kind: 'count', of: undefined, by: 'entity.card', window: '10m' },
    {
      kind: 'distinct',
      of: 'entity.card',
      by: 'device',
      when: 'event.type == "payment" && email.domain in list.partners',
    },
    { kind: 'distinct', of: 'ip.country', by: 'attributes.card_bin', window: '30d' },
    { kind: 'distinct', of: 'email.address', by: 'page.path' },
    { kind: 'count', of: undefined, by: 'customer', when: 'outcome == "payment_declined"' },
  ])('%j can be used', (counter) => {
    expect(wrong(counter)).toEqual({});
  });

  test.each([
    [{ by: 'acount' }, '/counters/n/by', 'there is no "acount"; did you mean account?'],
    [{ by: 'attributes.colour' }, '/counters/n/by', expect.stringContaining('it must be account, device')],
    [{ of: 'attributes.amunt' }, '/counters/n/of', 'there is no "attributes.amunt"; did you mean attributes.amount?'],
    [{ of: 'attributes.currency' }, '/counters/n/of', 'attributes.currency is a text, and this must be a number'],
    [{ of: 'account' }, '/counters/n/of', expect.stringContaining('it must be a fact')],
    [{ kind: 'distinct', of: 'customer' }, '/counters/n/of', expect.stringContaining('there is no "customer"')],
    [
      { when: 'event.type == "a" &&\n event.tpye == "b"' },
      '/counters/n/when',
      expect.stringContaining('line 2, column 2: There is no fact event.tpye. Did you mean event.type?'),
    ],
    [
      { when: 'account.sessions > 1' },
      '/counters/n/when',
      expect.stringContaining('account.sessions is known only after the event was counted.'),
    ],
    [{ when: 'counters.n > 1' }, '/counters/n/when', expect.stringContaining('is known only after')],
    [{ by: 'device.fingerprint' }, '/counters/n/by', 'device.fingerprint is known only after the event was counted.'],
    [{ kind: 'count' }, '/counters/n', expect.stringContaining('must have "of"')],
    [{ of: undefined }, '/counters/n', expect.stringContaining('must have "of"')],
    [{ window: '2h' }, '/counters/n/window', 'must be one of 10m, 1h, 24h, 7d, 30d'],
  ])('%j is refused with its position, the reason and the nearest right name', (counter, pointer, message) => {
    expect(wrong(counter)).toEqual({ [pointer]: message });
  });

  test('A customer has at most 16, those of the top level included, and may replace one of them', () => {
    const many = (count: number, prefix = 'a'): object =>
      Object.fromEntries(Array.from({ length: count }, (_none, n) => [`${prefix}${n}`, SPENT]));
    expect(faults({ counters: many(16), customers: { [CUSTOMER]: { counters: many(16) } } })).toEqual({});
    expect(Object.keys(faults({ counters: many(17) }))).toEqual(['/counters']);
    expect(faults({ counters: many(16), customers: { [CUSTOMER]: { counters: many(1, 'b') } } })).toEqual({
      [`/customers/${CUSTOMER}/counters`]: expect.stringContaining('17 counters apply here'),
    });
  });

  test('Conditions of rules know the counters of their customer, and suggest them', () => {
    const rules = (when: string): object => ({ rules: [{ code: 'own_a', when, decision: 'REVIEW' }] });
    expect(faults({ counters: { spent: SPENT }, ...rules('counters.spent > 5') })).toEqual({});
    expect(faults({ counters: { spent: SPENT }, customers: { [CUSTOMER]: rules('counters.spent > 5') } })).toEqual({});
    expect(
      faults({ customers: { [CUSTOMER]: { counters: { spent: SPENT } } }, ...rules('counters.spent > 5') }),
    ).toEqual({
      '/rules/0/when': expect.stringContaining('There is no fact counters.spent.'),
    });
    expect(faults({ counters: { spent: SPENT }, ...rules('counters.spnt > 5') })).toEqual({
      '/rules/0/when': expect.stringContaining('Did you mean counters.spent?'),
    });
  });

  test('A counter keeps its id until its declaration changes', () => {
    const idOf = (counter: object): number | undefined => {
      const parsed = parsePolicy(JSON.stringify({ counters: { n: counter } }));
      if (parsed.kind === 'faults') throw new Error(JSON.stringify(parsed.faults));
      return compilePolicies(parsed.document, () => null).of(1 as CustomerNumber, 'payment').counters?.[0]?.id;
    };
    expect(idOf({ ...SPENT })).toBe(idOf(SPENT));
    const changes = [{ window: '7d' }, { by: 'device' }, { of: 'attributes.item_count' }, { when: 'outcome == "a"' }];
    expect(new Set([SPENT, ...changes.map((change) => ({ ...SPENT, ...change }))].map(idOf)).size).toBe(5);
  });
});
