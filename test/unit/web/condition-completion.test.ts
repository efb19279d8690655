import { describe, expect, test } from 'vitest';
import type { FactRow } from '../../../src/contract/wire-types.ts';
import {
  complete,
  completionAt,
  corrected,
  offsetOf,
} from '../../../src/web/dashboard/pages/rules/condition-completion.ts';

const fact = (name: string): FactRow => ({ name, type: 'number', meaning: '', absent_when: '' });
const FACTS = [
  'event.type',
  'event.time',
  'account.known_for_hours',
  'attributes.amount',
  'entity.<name>.new',
  'entity.<name>.devices_24h',
  'session.known',
].map(fact);

/** `|` is where the caret is. */
function at(text: string): ReturnType<typeof completionAt> {
  return completionAt(text.replace('|', ''), text.indexOf('|'), FACTS);
}
const names = (text: string): readonly string[] => (at(text)?.facts ?? []).map(({ name }) => name);

function taken(text: string, name: string): string {
  const completion = at(text);
  const chosen = completion?.facts.find((one) => one.name === name);
  if (completion === null || chosen === undefined) throw new Error('there is no such fact');
  const done = complete(text.replace('|', ''), completion, chosen);
  return `${done.text.slice(0, done.caret)}|${done.text.slice(done.caret, done.caretEnd)}|${done.text.slice(done.caretEnd)}`;
}

describe('the completion of a condition', () => {
  test('Facts that begin with the written part come before those that contain it', () => {
    expect(names('score > 1 && ev|')).toEqual(['event.type', 'event.time']);
    expect(names('known|')).toEqual(['account.known_for_hours', 'session.known']);
    expect(names('event.ty|')).toEqual(['event.type']);
  });

  test('Nothing is proposed in a text, for one letter, for an unknown name and for a name that is complete', () => {
    for (const text of ['event.type == "ev|', "x == 'a\\' ev|", 'e|', 'nothing.like|', 'event.type|', '|', '5 > |'])
      expect(names(text)).toEqual([]);
    expect(names('event.type == "a" && ev|')).toEqual(['event.type', 'event.time']);
  });

  test('A fact replaces the whole name that the caret is in', () => {
    expect(taken('event.ty|pe_ == "x"', 'event.type')).toBe('event.type|| == "x"');
    expect(taken('1 < att|', 'attributes.amount')).toBe('1 < attributes.amount||');
  });

  test('The name of an entity is selected until it is written, and then kept', () => {
    expect(taken('enti|', 'entity.<name>.new')).toBe('entity.|<name>|.new');
    expect(names('entity.card.dev|')).toEqual(['entity.card.devices_24h']);
    expect(taken('entity.card.dev|', 'entity.card.devices_24h')).toBe('entity.card.devices_24h||');
  });
});

test('A line and a column are a place in the text, also beyond its end', () => {
  const text = 'ab\ncde\nf';
  expect([offsetOf(text, 1, 1), offsetOf(text, 2, 3), offsetOf(text, 3, 9), offsetOf(text, 9, 1)]).toEqual([
    0, 5, 8, 8,
  ]);
});

test.each([
  ['a &&\n device.nwe && b', 2, 2, 'device.new', 'a &&\n device.new| && b'],
  ['page.pth.startsWith("/")', 1, 1, 'page.path', 'page.path|.startsWith("/")'],
  ['page.path.startswith("/")', 1, 1, 'startsWith', 'page.path.startsWith|("/")'],
  ['startswith(page.path, "/")', 1, 1, 'startsWith', 'startsWith|(page.path, "/")'],
  ['resons.exists(r, r == "x")', 1, 1, 'reasons', 'reasons|.exists(r, r == "x")'],
  ['entity["card-id"].nwe', 1, 1, 'entity["card-id"].new', 'entity["card-id"].new|'],
])('A suggestion takes the place of the wrong name alone: %s', (text, line, column, meant, expected) => {
  const facts = [fact('reasons'), ...FACTS];
  const { text: done, caret } = corrected(text, { message: '', line, column, did_you_mean: meant }, facts);
  expect(`${done.slice(0, caret)}|${done.slice(caret)}`).toBe(expected);
});
