import { describe, expect, test } from 'vitest';
import { parsePolicy } from '../../../../src/risk/policy/policy-check.ts';
import { type PolicyDocument, requestDaysOf } from '../../../../src/risk/policy/policy-document.ts';
import { RETENTION_MAX, retentionIn } from '../../../../src/risk/policy/row-retention.ts';
import { RULES } from '../../../../src/risk/rules/rule-table.ts';

const CUSTOMER = 'cus_01ARZ3NDEKTSV4RRFFQ69G5FAV';

function faults(file: unknown): Readonly<Record<string, string>> {
  const parsed = parsePolicy(typeof file === 'string' ? file : JSON.stringify(file));
  return parsed.kind === 'ok'
    ? {}
    : Object.fromEntries(parsed.faults.map(({ pointer, message }) => [pointer, message]));
}

function document(file: unknown): PolicyDocument {
  const parsed = parsePolicy(JSON.stringify(file));
  if (parsed.kind === 'faults') throw new Error(JSON.stringify(parsed.faults));
  return parsed.document;
}

describe('a policy file', () => {
  test('A policy file may be empty', () => {
    expect(document({})).toMatchObject({ customers: new Map(), challenger: null });
    expect(document({ $schema: './policy.schema.json' }).version).toMatch(/^[0-9a-f]{12}$/);
  });

  test('A policy file without a version is named after its content', () => {
    expect(document({ sample_rate: 0.1 }).version).toBe(document({ sample_rate: 0.1 }).version);
    expect(document({ sample_rate: 0.1 }).version).not.toBe(document({ sample_rate: 0.2 }).version);
    expect(document({ version: 'v7' }).version).toBe('v7');
  });

  test('A policy file may begin with a byte order mark', () => {
    expect(parsePolicy('\uFEFF{"version":"v1"}')).toMatchObject({ kind: 'ok', document: { version: 'v1' } });
  });

  test('A retention only shortens, and a customer may have another one', () => {
    const own = { customers: { [CUSTOMER]: { retention: { allow: '6h', audit: '90d' } } } };
    const { retention, customers } = document({ retention: { allow: '12h', flagged: '7d' }, ...own });
    const [HOUR_MS, DAY_MS] = [3_600_000, 86_400_000];
    const parts = [{ retention }, { retention: customers.get(CUSTOMER)?.retention }];
    expect(retentionIn(parts)).toEqual({
      ...RETENTION_MAX,
      allow: 6 * HOUR_MS,
      flagged: 7 * DAY_MS,
      audit: 90 * DAY_MS,
    });
    expect(faults({ retention: { allow: '25h', labels: '0d', audit: '29d', requests: '7', other: '1d' } })).toEqual({
      '/retention/allow': 'must be hours or days from 1h to 1d, such as "1d"',
      '/retention/labels': 'must be hours or days from 1d to 400d, such as "400d"',
      '/retention/audit': 'must be hours or days from 30d to 400d, such as "400d"',
      '/retention/requests': 'must be hours or days from 1d to 90d, such as "90d"',
      '/retention/other': expect.any(String) as string,
    });
    const requests = (file: object): number => requestDaysOf([document(file)]);
    expect(requests({ log_requests: '14d', retention: { requests: '7d' } })).toBe(7);
    expect(requests({ retention: { requests: '7d' } })).toBe(0);
  });

  test('A policy file may set everything', () => {
    const part = {
      mode: 'observe',
      bands: { allow_watch: 20, soft_challenge: 40, review: 60, block: 80 },
      weights: { device_headless: 0.5 },
      rules_off: ['ip_vpn'],
      ignored_entity_keys: ['branch'],
      watched_countries: ['KP'],
      watched_asns: ['AS64500', 64_501],
      hosting_asns: [1],
      relay_asns: [],
      grant: 'required',
      sample_rate: 0.5,
    };
    const scope = { ...part, shifts: { login: 2 }, event_types: { refund: part } };
    // A challenger decides nothing, so it has no mode.
    const { mode: _mode, ...otherPart } = part;
    const challenger = { ...otherPart, shifts: { login: 2 }, event_types: { refund: otherPart } };
    const read = document({ version: 'v1', ...scope, customers: { [CUSTOMER]: scope }, challenger });
    expect(read.customers.get(CUSTOMER)?.mode).toBe('observe');
    expect(read.watchedAsns).toEqual([64_500, 64_501]);
    expect(read.customers.get(CUSTOMER)?.eventTypes?.get('refund')?.bands).toEqual({
      allowWatch: 20,
      softChallenge: 40,
      review: 60,
      block: 80,
    });
    expect(read.challenger?.shifts).toEqual(new Map([['login', 2]]));
    expect(read.challenger?.version).toBe('v1-challenger');
  });

  test('The weight of the model is bounded: in its own member it is refused above, and in weights it is lowered', () => {
    expect(document({ model: { weight: 0.7, first_day: 'counts' } })).toMatchObject({
      weights: { model_score: 0.7 },
      modelFirstDay: 'counts',
    });
    expect(parsePolicy(JSON.stringify({ model: { weight: 0.71 } }))).toMatchObject({
      kind: 'faults',
      faults: [{ pointer: '/model/weight' }],
    });
    expect(document({ weights: { model_score: 0.85, ip_vpn: 0.3 } }).weights).toEqual({
      model_score: 0.7,
      ip_vpn: 0.3,
    });
  });

  test('A policy file may name every rule, each of its weights and each of its thresholds', () => {
    const tunable = RULES.filter(({ family }) => family !== 'list');
    const weights = tunable.flatMap(({ code, weights: own }) =>
      Object.entries(own).map(([level, weight]) => [level === 'default' ? code : `${code}.${level}`, weight]),
    );
    const thresholds = tunable.flatMap(({ code, thresholds: own }) =>
      Object.entries(own ?? {}).map(([name, value]) => [`${code}.${name}`, value]),
    );
    const file = {
      weights: Object.fromEntries(weights) as object,
      thresholds: Object.fromEntries(thresholds) as object,
      rules_off: tunable.map(({ code }) => code),
    };
    expect(faults(file)).toEqual({});
  });
});

describe('what is wrong with a policy file', () => {
  test.each([
    ['malformed JSON', '{"a":', '', /^the file is not JSON/],
    ['an empty text', '', '', /^the file is not JSON/],
    ['a list', [], '', /must be an object/],
    ['null', 'null', '', /must be an object/],
    ['an unknown part', { band: {} }, '/band', 'there is no part "band"; did you mean bands?'],
    ['an unknown part far from all', { abcdefgh: {} }, '/abcdefgh', 'there is no part "abcdefgh"'],
    ['an unknown band', { bands: { deny: 1 } }, '/bands/deny', /there is no band "deny"; the bands are allow_watch, /],
    ['a band that is no number', { bands: { block: '90' } }, '/bands/block', 'must be a number from 0 to 100'],
    ['a band out of range', { bands: { block: 101 } }, '/bands/block', 'must be a number from 0 to 100'],
    ['null for a part', { bands: null }, '/bands', 'must be an object'],
    ['a band without a number', { bands: { block: null } }, '/bands/block', 'must be a number from 0 to 100'],
    [
      'an unknown rule',
      { weights: { ip_vpm: 1 } },
      '/weights/ip_vpm',
      'there is no rule "ip_vpm"; did you mean ip_vpn?',
    ],
    ['a rule like no other', { weights: { abc: 1 } }, '/weights/abc', /there is no rule "abc"; the rules are .*ip_vpn/],
    [
      'an unknown level',
      { weights: { 'ip_vpn.x': 1 } },
      '/weights/ip_vpn.x',
      'there is no weight "ip_vpn.x"; ip_vpn has ip_vpn',
    ],
    [
      'a level by its inner name',
      { weights: { 'ip_vpn.default': 1 } },
      '/weights/ip_vpn.default',
      /there is no weight/,
    ],
    ['a weight over 1', { weights: { ip_vpn: 1.1 } }, '/weights/ip_vpn', 'must be a number from 0 to 1'],
    ['a weight under 0', { weights: { ip_vpn: -0.1 } }, '/weights/ip_vpn', 'must be a number from 0 to 1'],
    ['an infinite weight', '{"weights":{"ip_vpn":1e999}}', '/weights/ip_vpn', 'must be a number from 0 to 1'],
    [
      'an unknown threshold',
      { thresholds: { 'ip_vpn.x': 1 } },
      '/thresholds/ip_vpn.x',
      'there is no threshold "ip_vpn.x"; ip_vpn has none',
    ],
    ['a rule off that is none', { rules_off: ['ip_vpm'] }, '/rules_off/0', /did you mean ip_vpn/],
    ['a rule off that is no text', { rules_off: ['ip_vpn', 1] }, '/rules_off/1', 'must be the code of a rule'],
    ['a list switched off', { rules_off: ['list_block'] }, '/rules_off/0', /list_block is a customer's own list/],
    ['a list weighed', { weights: { list_allow: 1 } }, '/weights/list_allow', /list_allow is a customer's own list/],
    ['a country in small letters', { watched_countries: ['de'] }, '/watched_countries/0', /two capital letters/],
    ['a network by its addresses', { watched_asns: ['10.0.0.0/8'] }, '/watched_asns/0', /64500 or "AS64500"/],
    ['a network beyond 32 bits', { relay_asns: ['AS4294967296'] }, '/relay_asns/0', /64500 or "AS64500"/],
    ['half a network', { hosting_asns: [1.5] }, '/hosting_asns/0', /64500 or "AS64500"/],
    ['an unknown mode', { mode: 'watch' }, '/mode', 'must be enforce or observe'],
    ['a mode of the challenger', { challenger: { mode: 'observe' } }, '/challenger/mode', '"mode" is not allowed here'],
    ['an unknown word about grants', { grant: 'always' }, '/grant', 'must be optional or required'],
    ['a sample rate over 1', { sample_rate: 2 }, '/sample_rate', 'must be a number from 0 to 1'],
    ['an entity key without characters', { ignored_entity_keys: [''] }, '/ignored_entity_keys/0', /1 to 64 characters/],
    ['an event type in capitals', { event_types: { Login: {} } }, '/event_types/Login', /in lower case/],
    ['an event type with a space', { shifts: { ' a': 1 } }, '/shifts/ a', /without spaces around it/],
    [
      'shifts of an event type',
      { event_types: { login: { shifts: {} } } },
      '/event_types/login/shifts',
      '"shifts" is not allowed here',
    ],
    [
      'event types in event types',
      { event_types: { a: { event_types: {} } } },
      '/event_types/a/event_types',
      /is not allowed here/,
    ],
    [
      'no customer id',
      { customers: { cus_1: {} } },
      '/customers/cus_1',
      'must be a customer id, cus_ and 26 characters',
    ],
    [
      'customers of a customer',
      { customers: { [CUSTOMER]: { customers: {} } } },
      `/customers/${CUSTOMER}/customers`,
      /is not allowed here/,
    ],
    [
      'a challenger of the challenger',
      { challenger: { challenger: {} } },
      '/challenger/challenger',
      /is not allowed here/,
    ],
    ['customers of the challenger', { challenger: { customers: {} } }, '/challenger/customers', /is not allowed here/],
    ['a name twice', '{"sample_rate":0,"sample_rate":1}', '/sample_rate', 'this name appears twice in its object'],
    [
      'a name that is dropped',
      '{"event_types":{"__proto__":{}}}',
      '/event_types/__proto__',
      'this name cannot be used',
    ],
    ['a name with a slash', { 'a/b': 1 }, '/a~1b', /there is no part/],
  ] as const)('A policy file with this fault is rejected at its pointer: %s', (_name, file, pointer, message) => {
    const all = faults(file);
    expect(Object.keys(all)).toEqual([pointer]);
    if (typeof message === 'string') expect(all[pointer]).toBe(message);
    else expect(all[pointer]).toMatch(message);
  });

  test('All faults of a policy file are reported at once, including those of bands', () => {
    const file = {
      verson: 'x',
      bands: { block: 60 },
      weights: { ip_vpm: 0.1, ip_vpn: 2 },
      rules_off: ['nope', 'ip_vpn', 'nope'],
      event_types: { payment: { bands: { review: 200 } } },
      customers: { [CUSTOMER]: { sample_rate: 'much' } },
    };
    expect(Object.keys(faults({ ...file, event_types: {} })).toSorted()).toEqual([
      '/bands',
      `/customers/${CUSTOMER}/sample_rate`,
      '/rules_off/0',
      '/rules_off/2',
      '/verson',
      '/weights/ip_vpm',
      '/weights/ip_vpn',
    ]);
    expect(Object.keys(faults(file))).toContain('/event_types/payment/bands/review');
  });

  test('A policy file with too long a list is rejected', () => {
    const asns = Array.from({ length: 10_001 }, (_, asn) => asn);
    expect(faults({ hosting_asns: asns })).toEqual({ '/hosting_asns': 'must have at most 10000 items' });
    const types = Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`type ${at}`, {}]));
    expect(faults({ event_types: types })).toEqual({ '/event_types': 'must have at most 32 names' });
  });
});

describe('a file of nonsense', () => {
  test.each([
    ['unknown codes', `{"rules_off":[${'"a",'.repeat(200_000)}"a"]}`],
    [
      'unknown weights',
      JSON.stringify({ weights: Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`x${n}`, n])) }),
    ],
    ['depth', '['.repeat(500_000) + ']'.repeat(500_000)],
    ['deep objects', '{"customers":'.repeat(40_000) + '0' + '}'.repeat(40_000)],
    ['one name repeated', `{${'"version":"a",'.repeat(60_000)}"version":"b"}`],
  ])('A nonsensical file with %s gets at most 1,000 faults and the number of the others', (_name, text) => {
    const parsed = parsePolicy(text);
    const given = parsed.kind === 'faults' ? parsed.faults : [];
    expect(given.length).toBeGreaterThan(0);
    expect(given.length).toBeLessThanOrEqual(1_001);
    if (given.length > 1_000) expect(given.at(-1)?.message).toMatch(/^and \d+ more$/);
  });
});

describe('bands must rise', () => {
  test.each([
    ['at the top', { bands: { block: 60 } }, ['/bands']],
    ['with room between them', { bands: { review: 80 } }, ['/bands']],
    ['without a review', { bands: { review: null, soft_challenge: 80 } }, ['/bands']],
    ['under a shift', { shifts: { refund: -25 } }, ['/shifts/refund']],
    ['under 100 with a shift', { shifts: { refund: 21 } }, ['/shifts/refund']],
    ['over the defaults of payment', { bands: { soft_challenge: 60 } }, ['/bands']],
    ['for an event type', { event_types: { refund: { bands: { review: 40 } } } }, ['/event_types/refund/bands']],
    ['for a customer', { customers: { [CUSTOMER]: { bands: { block: 50 } } } }, [`/customers/${CUSTOMER}/bands`]],
    [
      'for an event type of a customer',
      {
        event_types: { refund: { bands: { review: 75 } } },
        customers: { [CUSTOMER]: { event_types: { refund: { bands: { block: 70 } } } } },
      },
      [`/customers/${CUSTOMER}/event_types/refund/bands`],
    ],
    ['for the challenger', { challenger: { bands: { review: 90 } } }, ['/challenger/bands']],
    [
      'for the challenger over a customer',
      { customers: { [CUSTOMER]: { bands: { review: 78 } } }, challenger: { bands: { block: 75 } } },
      ['/challenger/bands'],
    ],
    [
      'for each that can be changed',
      { bands: { block: 60 }, shifts: { a: -30, b: 60 } },
      ['/bands', '/shifts/a', '/shifts/b'],
    ],
  ])('Bands that do not rise are rejected: %s', (_name, file, pointers) => {
    const all = faults(file);
    expect(Object.keys(all)).toEqual(pointers);
    for (const message of Object.values(all)) expect(message).toContain('bands must rise');
  });

  test('The fault of bands that do not rise names the customer and the event type', () => {
    const file = { customers: { [CUSTOMER]: { event_types: { refund: { bands: { block: 50 } } } } } };
    expect(Object.values(faults(file))).toEqual([
      `bands must rise from 0 to 100, shifts included; for the event type "refund" of the customer ${CUSTOMER} they would be ` +
        'allow_watch 30, soft_challenge 50, review none, block 50',
    ]);
  });

  test('Bands may begin at 0 and end at 100', () => {
    const bands = { allow_watch: 0, block: 100 };
    expect(faults({ bands, shifts: { search: 0 } })).toEqual({});
    expect(faults({ bands: { review: null } })).toEqual({});
  });
});

describe('a warning', () => {
  test('A warning names an event type that resembles one of the contract', () => {
    const parsed = parsePolicy(JSON.stringify({ shifts: { paymnt: 1 }, event_types: { refund: {}, payment: {} } }));
    expect(parsed).toMatchObject({
      kind: 'ok',
      warnings: [
        { pointer: '/shifts/paymnt', message: '"paymnt" is an event type of your own; did you mean payment?' },
      ],
    });
  });
});
