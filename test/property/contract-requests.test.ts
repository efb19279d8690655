import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DECIDE_REQUEST } from '../../src/contract/requests/decide-request-schema.ts';
import { OUTCOME_BODY } from '../../src/contract/requests/judgement-requests.ts';
import { OUTCOMES } from '../../src/contract/vocabulary.ts';
import { parseDecideRequest } from '../../src/risk/decide-request.ts';
import { OUTCOME_REPORT } from '../../src/api/outcome-body.ts';

/** Checks that the hand-written readers, which exist for speed, accept exactly the bodies that the contract's schemas accept. */

const scalar = fc.oneof(
  fc.string(),
  fc.constantFrom<unknown>('', 'login', ...OUTCOMES),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  // Integers beyond 2^53, fractions, and values that are not numbers.
  fc.constantFrom<unknown>(2 ** 60, 1e300, -0, 0.5, null, true, false),
);
const anyValue = fc.oneof(
  { weight: 4, arbitrary: scalar },
  fc.array(scalar, { maxLength: 3 }),
  fc.array(fc.string(), { maxLength: 3 }),
  fc.dictionary(fc.string(), fc.oneof(scalar, fc.array(fc.oneof(scalar, fc.string()), { maxLength: 3 })), {
    maxKeys: 4,
  }),
);

/** Generates values mostly of the field's type, so that complete bodies are accepted often enough. */
function mostly(right: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 25, arbitrary: right },
    { weight: 5, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: anyValue },
  );
}

const text = mostly(fc.string());
const entity = mostly(fc.oneof(fc.string(), fc.integer()));
const header = mostly(fc.oneof(fc.string(), fc.integer(), fc.array(fc.string(), { maxLength: 3 })));

/** Zod does not look at a value of the name `__proto__`; the reader does. */
const anyName = fc.string().filter((name) => name !== '__proto__');

const anyDecideBody = fc.record(
  {
    // Every field of the schema, so that one that the reader does not know is found.
    ...Object.fromEntries(Object.keys(DECIDE_REQUEST.shape).map((name) => [name, text])),
    entity_keys: mostly(fc.dictionary(anyName, entity, { maxKeys: 4 })),
    headers: mostly(fc.dictionary(anyName, header, { maxKeys: 4 })),
    timestamp: mostly(fc.oneof(fc.integer(), fc.constantFrom(2 ** 60, 1e300, -0))),
    outcome: mostly(fc.constantFrom(...OUTCOMES)),
    something_unknown: anyValue,
  },
  { requiredKeys: [] },
);

/** Returns the body as the service receives it, without values that JSON cannot represent. */
function overTheWire(body: unknown): { readonly bytes: Buffer; readonly json: unknown } {
  const text = JSON.stringify(body);
  return { bytes: Buffer.from(text), json: JSON.parse(text) };
}

describe('the reader of decide bodies and their schema', () => {
  test('The decide reader and its schema accept the same bodies', () => {
    let accepted = 0;
    let refused = 0;
    fc.assert(
      fc.property(anyDecideBody, (body) => {
        const { bytes, json } = overTheWire(body);
        const read = parseDecideRequest(bytes).kind === 'request';
        if (read) accepted++;
        else refused++;
        expect(DECIDE_REQUEST.safeParse(json).success).toBe(read);
      }),
      { numRuns: 3_000 },
    );
    // Each outcome must occur often enough for the comparison to be meaningful.
    expect(Math.min(accepted, refused)).toBeGreaterThan(100);
  });

  test.each(['entity_keys', 'headers'])(
    'The decide reader checks a value of the name __proto__ in %s like any other',
    (field) => {
      const kindOf = (value: string): string =>
        parseDecideRequest(Buffer.from(`{"${field}":{"__proto__":${value}}}`)).kind;
      expect([kindOf('"text"'), kindOf('{}')]).toEqual(['request', 'fault']);
    },
  );

  test.each(Object.keys(DECIDE_REQUEST.shape))(
    'The decide reader reads %s in a body of hundreds of names too',
    (field) => {
      const others = Array.from({ length: 500 }, (_, n) => `"other-${n}":"${n}"`).join();
      const kindOf = (value: string): string => parseDecideRequest(Buffer.from(`{${others},"${field}":${value}}`)).kind;
      expect([kindOf('null'), kindOf('[7]')]).toEqual(['request', 'fault']);
    },
  );

  test.each([[], 'text', 7, null, true])(
    'The decide reader and its schema both refuse %j, which is not an object',
    (body) => {
      const { bytes, json } = overTheWire(body);
      expect(parseDecideRequest(bytes).kind).toBe('fault');
      expect(DECIDE_REQUEST.safeParse(json).success).toBe(false);
    },
  );
});

const anyReport = fc.oneof(
  fc.record({ request_id: fc.string(), outcome: fc.oneof(fc.string(), fc.constantFrom(...OUTCOMES)) }),
  fc.record({ request_id: anyValue, outcome: anyValue }, { requiredKeys: [] }),
  anyValue,
);
const anyOutcomeBody = fc.oneof(
  fc.record({ request_id: anyValue, outcome: anyValue }, { requiredKeys: [] }),
  fc.record({ outcomes: fc.oneof(fc.array(anyReport, { maxLength: 3 }), anyValue) }),
);

describe('the reader of outcome reports and their schema', () => {
  test('The outcome reader and its schema accept the same bodies', () => {
    let accepted = 0;
    let refused = 0;
    fc.assert(
      fc.property(anyOutcomeBody, (body) => {
        const { json } = overTheWire(body);
        const read = OUTCOME_REPORT.read(json as Record<string, unknown>, 0).kind === 'ok';
        if (read) accepted++;
        else refused++;
        expect(OUTCOME_BODY.safeParse(json).success).toBe(read);
      }),
      { numRuns: 3_000 },
    );
    expect(Math.min(accepted, refused)).toBeGreaterThan(100);
  });

  test.each([0, 1, 1_000, 1_001])('The outcome reader and its schema agree on a body with %d reports', (count) => {
    const body = { outcomes: Array.from({ length: count }, () => ({ request_id: 'req_1', outcome: 'failed' })) };
    expect(OUTCOME_BODY.safeParse(body).success).toBe(OUTCOME_REPORT.read(body, 0).kind === 'ok');
  });
});
