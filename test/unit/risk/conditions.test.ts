import { describe, expect, test } from 'vitest';
import { compileCondition } from '../../../src/risk/conditions/compile-condition.ts';
import { DECISION_FACTS, decisionNames } from '../../../src/risk/conditions/decision-facts.ts';
import { ENTITY_FACTS } from '../../../src/risk/conditions/history-facts.ts';
import type { DecisionInput } from '../../../src/risk/conditions/decision-input.ts';
import type { NamedListKind } from '../../../src/risk/lists/named-list.ts';
import type { ConditionFault } from '../../../src/risk/conditions/condition.ts';
import { DEFAULT_ATTRIBUTES, typesOf } from '../../../src/risk/policy/attributes.ts';
import { CALM_GEO, facts, NOW_SECONDS } from '../../support/facts.ts';

const NAMES = decisionNames(
  { attributes: typesOf(DEFAULT_ATTRIBUTES), counters: new Map() },
  new Map<string, NamedListKind>([
    ['partners', 'email_domain'],
    ['vips', 'email'],
    ['cards', 'entity.card'],
    ['networks', 'network'],
    ['carriers', 'asn'],
    ['words', 'text'],
  ]),
);

function input(overrides: Partial<DecisionInput> = {}): DecisionInput {
  return {
    facts: facts({
      eventType: 'payment',
      url: 'https://Shop.example:8443/checkout/pay?card=1',
      nowSeconds: NOW_SECONDS,
    }),
    publicKey: false,
    attributes: new Map<string, number | string>([
      ['amount', 812.5],
      ['currency', 'EUR'],
    ]),
    score: 35,
    reasons: ['ip_hosting', 'journey_direct_hit'],
    probability: null,
    inList: (name, value) => (name === 'partners' ? value === 'gmx.de' : undefined),
    ...overrides,
  };
}

function result(when: string, given: DecisionInput = input()): boolean | undefined {
  const compiled = compileCondition(when, NAMES);
  if (compiled.kind === 'faults') throw new Error(compiled.faults.map(({ message }) => message).join(' '));
  return compiled.condition.evaluate(given);
}

function faultsOf(when: string): readonly ConditionFault[] {
  const compiled = compileCondition(when, NAMES);
  return compiled.kind === 'faults' ? compiled.faults : [];
}

describe('conditions over the facts of a decision', () => {
  test.each<readonly [string, boolean | undefined]>([
    ['event.type == "payment" && attributes.amount > 500 && attributes.currency == "EUR"', true],
    ['event.hour == 12 && event.weekday == 6', true],
    ['event.time >= timestamp("2026-11-21T00:00:00Z")', true],
    ['page.host == "shop.example" && page.path.startsWith("/checkout/")', true],
    ['page.path.matches("^/check(in|out)/[a-z]+$")', true],
    ['has(outcome)', false],
    ['email.domain in list.partners', true],
    ['email.address in list.vips', undefined],
    ['entity.card.value in list.cards', undefined],
    ['ip.address in list.networks', undefined],
    ['email.domain in list.partners || email.address in list.vips', true],
    ['has(email.address) && !(email.domain in list.partners)', false],
    ['ip.country in ["DE", "AT"]', true],
    ['"ip_hosting" in reasons && size(reasons) == 2 && score < 40', true],
    ['reasons.exists(r, r.startsWith("journey_"))', true],
    ['reasons.all(r, r.contains("_"))', true],
    ['attributes.item_count > 3', undefined],
    ['attributes.item_count > 3 || event.type == "payment"', true],
    ['attributes.item_count > 3 && event.type == "login"', false],
    ['!(attributes.item_count > 3)', undefined],
    ['attributes.item_count > 3 ? true : true', undefined],
    ['attributes.amount / (score - 35) > 1', undefined],
    ['attributes.amount % 100 == 12.5', true],
    ['-attributes.amount < 0 && attributes.amount * 2 + 1 == 1626', true],
    ['model.probability > 0.5', undefined],
    ['entity.email.known_for_hours < 24', undefined],
    ['entity["card-id"].new', undefined],
    ['!ip.tor', undefined],
    ['agent.text.lowerAscii().contains("chrome")', true],
  ])('%s is %s', (when, expected) => {
    expect(result(when)).toBe(expected);
  });

  test('An address is no anonymiser only where a database of them is in use', () => {
    const known = facts({ geo: { ...CALM_GEO, anonymisersKnown: true } });
    expect(result('!ip.tor', input({ facts: known }))).toBe(true);
    expect(result('ip.vpn', input({ facts: facts({ geo: { ...CALM_GEO, vpn: true } }) }))).toBe(true);
  });

  test.each<readonly [string, ConditionFault['code'], number, number, RegExp]>([
    ['event.typ == "payment"', 'unknown_fact', 1, 1, /Did you mean event\.type\?/],
    ['attributes.amunt > 1', 'unknown_fact', 1, 1, /attributes\.amount/],
    ['event.type == 5', 'type_error', 1, 1, /A text never equals a number/],
    ['event.type > "a"', 'type_error', 1, 1, /> is for numbers/],
    ['score > 5 && reasons', 'type_error', 1, 14, /&& joins parts/],
    ['score', 'type_error', 1, 1, /true or false/],
    ['score =\n 5', 'syntax_error', 1, 7, /==/],
    ['score > 5 and\nscore < 7', 'syntax_error', 1, 11, /&&/],
    ['score >', 'syntax_error', 1, 8, /ends too early/],
    ['outcome == null', 'type_error', 1, 12, /has\(x\)/],
    ['email.address == "a@b.example"', 'type_error', 1, 1, /in list\.<name>/],
    ['entity.user.value.startsWith("x")', 'type_error', 1, 1, /identifies a person/],
    ['email.domain in list.missing', 'unknown_fact', 1, 17, /no list "missing"/],
    ['email.domain in list.partner', 'unknown_fact', 1, 17, /Did you mean list\.partners\?/],
    ['email.address in list.partners', 'type_error', 1, 1, /kind email_domain, which email\.address never is/],
    ['email.domain in list.vips', 'type_error', 1, 1, /kind email,/],
    ['entity.user_id.value in list.cards', 'type_error', 1, 1, /kind entity\.card/],
    ['email.address in list.words', 'type_error', 1, 1, /kind text/],
    ['ip.address in list.carriers', 'type_error', 1, 1, /kind asn/],
    ['score in list.words', 'type_error', 1, 1, /kind text, which score never is/],
    ['email.domain.lowerAscii() in list.partners', 'type_error', 1, 1, /this never is/],
    ['reasons in list.words', 'type_error', 1, 1, /A named list has texts/],
    ['page.path.matches("(")', 'syntax_error', 1, 19, /RE2/],
    ['page.path.matches("(a|b){1,100}(c|d){1,100}")', 'too_costly', 1, 19, /too large/],
    ['page.path.matches("(?=a)")', 'syntax_error', 1, 19, /RE2/],
    ['page.path.matches("((a{1,99}){1,99}){1,99}")', 'too_costly', 1, 19, /repeat/],
    ['page.path.startswith("/")', 'unknown_fact', 1, 1, /Did you mean startsWith/],
    ['{"a": 1} == {"a": 1}', 'too_costly', 1, 1, /./],
    [`score > ${'1 + '.repeat(600)}1`, 'too_costly', 1, 1, /1000 characters/],
    ['reasons.all(a, reasons.all(b, a == b))', 'too_costly', 1, 1, /steps/],
  ])('%s is refused as %s at %i:%i', (when, code, line, column, message) => {
    const [fault] = faultsOf(when);
    expect(fault).toMatchObject({ code, line });
    expect(fault?.message).toMatch(message);
    if (code !== 'too_costly') expect(fault?.column).toBe(column);
  });

  test('Several faults are all named', () => {
    expect(faultsOf('event.typ == "a" && scor > 5 && page.pth == "x"')).toHaveLength(3);
  });

  test('Work of patterns is bounded: a text that is too long for one is unknown', () => {
    const long = input({ facts: facts({ url: `https://shop.example/${'a'.repeat(4_000)}` }) });
    expect(result('page.path.matches("(a|aa)+b")', long)).toBeUndefined();
  });

  test('Every fact has a name, a meaning and a type of its own, and reads a calm request without an error', () => {
    const names = DECISION_FACTS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const fact of [...DECISION_FACTS, ...ENTITY_FACTS]) {
      const { name, meaning, type } = fact;
      expect([name, meaning === '']).toEqual([name, false]);
      const value = fact.read(input());
      const actual = typeof value === 'string' ? 'text' : Array.isArray(value) ? 'list' : typeof value;
      if (value !== undefined) expect([name, actual]).toEqual([name, type]);
    }
  });
});
