import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { pickMembers, type WantedMembers } from '../../src/contract/json-members.ts';
import { timesInFull } from '../support/long.ts';

const NAMES = ['ip', 'headers', ''];
const wanted = (textsMax: number): WantedMembers => new Map(NAMES.map((name) => [name, textsMax]));
const WANTED = wanted(Number.POSITIVE_INFINITY);
const SPACE = fc.constantFrom('', ' ', '\n', '\t\r ');
const NAME = fc.oneof(fc.constantFrom('ip', 'headers', '', '__proto__', 'a"b', 'back\\slash', '\u2028'), fc.string());
const MEMBERS = fc.array(fc.tuple(NAME, fc.jsonValue()), { maxLength: 6 });
const DEPTH_MAX = 5;
const CHARACTERS = Array.from('{}[]",:\\/ \n\t\u0000\u00a0abcdefnrtu01239+-.eE"\u2028ÿé');

/** The JSON of a name, on request with each letter as an escape. */
function quoted(name: string, isEscaped: boolean): string {
  const json = JSON.stringify(name);
  if (!isEscaped || json.includes('\\')) return json;
  return json.replaceAll(/[a-z]/g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`);
}

/** Names and texts of a JSON text. */
function textsOf(json: string): number {
  return json.match(/"(?:[^"\\]|\\.)*"/g)?.length ?? 0;
}

function parsed(text: string): { readonly value: unknown } | null {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return null;
  }
}

/** The same with JSON.parse, which keeps the last of equal names. */
function expected(text: string): unknown {
  const all = parsed(text);
  if (all === null) return 'malformed';
  const { value } = all;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'not_object';
  return Object.entries(value).filter(([name]) => WANTED.has(name));
}

function picked(text: string): unknown {
  const members = pickMembers(text, WANTED);
  return members.kind === 'members' ? Object.entries(JSON.parse(members.json) as object) : members.kind;
}

describe('Picking members of a JSON object', () => {
  test('gives the wanted members as JSON.parse does, however names and spaces are written', () => {
    fc.assert(
      fc.property(MEMBERS, SPACE, fc.boolean(), (members, space, isEscaped) => {
        const names = members.map(([name]) => name);
        const text = members
          .map(([name, value]) => {
            return `${space}${quoted(name, isEscaped)}${space}:${space}${JSON.stringify(value, null, space.length)}${space}`;
          })
          .join(',');
        const whole = `${space}{${text}${space}}${space}`;
        expect(picked(whole)).toEqual(expected(whole));
        const found = pickMembers(whole, WANTED);
        expect(found).toMatchObject({ kind: 'members', hasDuplicate: new Set(names).size < names.length });
      }),
    );
  });

  test('accepts what JSON.parse accepts, and nothing else', () => {
    const damage = fc.array(fc.tuple(fc.nat(), fc.constantFrom('', ...CHARACTERS), fc.boolean()), { maxLength: 3 });
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), damage, (value, changes) => {
        let text = JSON.stringify({ ip: value, other: value });
        for (const [place, by, isReplaced] of changes) {
          const at = place % (text.length + 1);
          text = text.slice(0, at) + by + text.slice(isReplaced ? at + 1 : at);
        }
        expect(picked(text)).toEqual(expected(text));
      }),
      { numRuns: 1_000 * timesInFull(10) },
    );
  });

  test('leaves out the ends of lists beyond the bound, and what remains is JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: DEPTH_MAX }), fc.integer({ min: 0, max: 20 }), (value, textsMax) => {
        const text = JSON.stringify({ ip: value, other: value, headers: value });
        const members = pickMembers(text, wanted(textsMax));
        if (members.kind !== 'members') throw new Error(members.kind);
        const left = JSON.parse(members.json) as Record<string, unknown>;
        expect(Object.keys(left)).toEqual(['ip', 'headers']);
        if (textsOf(JSON.stringify(value)) < textsMax)
          expect(left).toEqual(JSON.parse(JSON.stringify({ ip: value, headers: value })));
        // One element of each list is left, whatever it is.
        for (const one of Object.values(left))
          expect(textsOf(JSON.stringify(one))).toBeLessThanOrEqual(textsMax + 2 * DEPTH_MAX);
      }),
    );
  });

  test.each(
    [
      ['', ' ', '{', '}', '{}', ' { } ', '[]', '[1,]', '"a"', '1', '01', '-', '1.', '.5', '1e', '1e+5', 'nul', 'null'],
      ['{"a"}', '{"a":}', '{"a":1,}', '{,}', '{a:1}', "{'a':1}", '{"a":1}x', '{"a":1}{}', '\ufeff{}', '\u00a0{}'],
      ['{"a":"\\x"}', '{"a":"\\u12g4"}', '{"a":"\\u12"}', '{"a":"\\ud800"}', '{"a":"\u0001"}', '{"a":"\u007f\u2028"}'],
      ['{"a":-0}', '{"a":1e400}', '{"a":NaN}', '{"a":+1}', '{"a":0x1}', '{"a":tru}', '{"a":truex}', '{"a":1 2}'],
      ['{"a":[1 2]}', '{"a":[,1]}', '{"a":{"b":1,"b":2}}', '{"\\u0069p":1}', '{"ip":1,"i\\u0070":2}', '{"a":"'],
    ].flat(),
  )('reads %j as JSON.parse does', (text) => {
    expect(picked(text)).toEqual(expected(text));
  });
});
